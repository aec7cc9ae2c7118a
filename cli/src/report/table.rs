//! Lays out a table of counts so that no line is wider than the page.
//!
//! A device is a group of columns below one label. Groups that do not fit beside each other are put below each other,
//! in blocks that each repeat the rows' labels. If the groups do not all fit beside each other, their labels are
//! broken. Long labels of rows are replaced by numbers, with a key below the table.

use anstream::adapter::strip_str;
use clap::builder::styling::{AnsiColor, Reset};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest page that a table fits on: one column beside the rows' labels.
pub(super) const MIN_WIDTH: usize = 40;

/// The widest label of a row on a narrow page, in columns.
const ROW_LABEL_WIDTH: usize = 16;

/// The width at which labels of groups are broken if their columns are narrower.
const GROUP_LABEL_WIDTH: usize = 12;

/// The gap between groups.
const GAP: &str = "  ";

/// The label of the line below the rows.
const FOOT: &str = "time";

/// The text of a count of zero.
const NONE: &str = "-";

/// The columns of one device.
pub(super) struct Group {
    /// The line above the columns.
    pub(super) label: String,
    /// The columns; at least one.
    pub(super) columns: Vec<Column>,
    /// The text below the columns.
    pub(super) foot: String,
}

/// One column of counts.
#[derive(Clone)]
pub(super) struct Column {
    /// The heading, then a count for each row.
    cells: Vec<String>,
    /// The colour of the counts that are not zero.
    color: Option<AnsiColor>,
}

/// The parts that all blocks share.
struct Table {
    /// The labels of the heading, which is empty, and of the rows.
    rows: Vec<String>,
    row_width: usize,
    label_width: usize,
}

/// Returns `text` in a colour that means the same on all terminals.
pub(super) fn painted(color: AnsiColor, text: &str) -> String {
    format!("{}{text}{Reset}", color.render_fg())
}

/// Returns the table as lines of at most `width` columns, which are [`MIN_WIDTH`] at least, each with its newline.
/// There is at least one group.
pub(super) fn layout(rows: Vec<String>, groups: Vec<Group>, width: usize) -> String {
    let mut rows = [vec![String::new()], rows].concat();
    let mut key = Vec::new();
    let limit = (width / 3).max(ROW_LABEL_WIDTH);
    for (number, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.width() > limit) {
        let label = std::mem::replace(row, format!("S{number}"));
        key.push(format!("{row} = {label}"));
    }
    let row_width = rows.iter().map(|row| row.width()).fold(FOOT.width(), usize::max);
    let room = width - row_width;
    let mut table = Table { rows, row_width, label_width: usize::MAX };
    if table.width(&groups) > room {
        table.label_width = GROUP_LABEL_WIDTH;
    }
    let parts = groups.into_iter().flat_map(|group| group.parts(room - GAP.len()));
    let groups: Vec<Group> = parts.collect();
    let blocks = runs(&groups, |groups| table.width(groups) <= room);
    let texts = blocks.iter().map(|groups| table.block(groups, blocks.len() == 1));
    texts.collect::<Vec<_>>().join("\n") + &wrap(key.iter(), GAP, width)
}

/// Divides items into runs that fit. An item that does not fit is alone.
fn runs<T>(mut items: &[T], fits: impl Fn(&[T]) -> bool) -> Vec<&[T]> {
    let mut runs = Vec::new();
    while !items.is_empty() {
        let counts = (2..=items.len()).take_while(|count| fits(&items[..*count]));
        let (run, rest) = items.split_at(counts.last().unwrap_or(1));
        runs.push(run);
        items = rest;
    }
    runs
}

impl Group {
    /// Returns the width with a label that is broken at `label_width`.
    fn width(&self, label_width: usize) -> usize {
        let label = self.label_lines(label_width);
        let texts = label.iter().chain([&self.foot]);
        texts.map(|text| text.width()).fold(columns_width(&self.columns), usize::max)
    }

    /// Returns the label, broken behind hyphens where it is wider than `width` and the columns.
    fn label_lines(&self, width: usize) -> Vec<String> {
        let width = width.max(columns_width(&self.columns));
        let lines = wrap(self.label.split_inclusive('-'), "", width);
        lines.lines().map(str::to_owned).collect()
    }

    /// Returns groups of at most `room` columns, or of a single one, with the same label.
    fn parts(mut self, room: usize) -> Vec<Self> {
        let runs = runs(&self.columns, |columns| columns_width(columns) <= room);
        let part = |columns: &[Column]| Self {
            label: self.label.clone(),
            columns: columns.to_vec(),
            foot: std::mem::take(&mut self.foot),
        };
        runs.into_iter().map(part).collect()
    }

    /// Returns the cells of a row beside each other.
    fn cells(&self, row: usize) -> String {
        self.columns.iter().map(|column| column.cell(row)).collect::<Vec<_>>().join(" ")
    }
}

impl Column {
    /// Creates a column with a count for each row.
    pub(super) fn new(head: &str, counts: &[usize], color: Option<AnsiColor>) -> Self {
        let text = |count: &usize| if *count == 0 { NONE.to_owned() } else { count.to_string() };
        Self {
            cells: [head.to_owned()].into_iter().chain(counts.iter().map(text)).collect(),
            color,
        }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(String::len).max().unwrap_or(0)
    }

    /// Returns the cell of a row, aligned to the right.
    fn cell(&self, row: usize) -> String {
        let text = &self.cells[row];
        let blanks = " ".repeat(self.width() - text.len());
        match self.color.filter(|_| row > 0 && text != NONE) {
            Some(color) => blanks + &painted(color, text),
            None => blanks + text,
        }
    }
}

fn columns_width(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + 1).sum::<usize>() - 1
}

impl Table {
    /// Returns the width of groups beside each other.
    fn width(&self, groups: &[Group]) -> usize {
        groups.iter().map(|group| GAP.len() + group.width(self.label_width)).sum()
    }

    /// Returns the lines of groups beside each other. Rows that have counts in other blocks only are left out.
    fn block(&self, groups: &[Group], is_only: bool) -> String {
        let label = |group: &Group| group.label_lines(self.label_width);
        let height = groups.iter().map(|group| label(group).len()).max().unwrap_or(0);
        let mut text = String::new();
        for below in (0..height).rev() {
            let line = |group: &Group| label(group).into_iter().nth_back(below).unwrap_or_default();
            text += &self.line("", groups, line);
        }
        for (row, label) in self.rows.iter().enumerate() {
            let mut columns = groups.iter().flat_map(|group| &group.columns);
            if is_only || columns.any(|column| column.cells[row] != NONE) {
                text += &self.line(label, groups, |group| group.cells(row));
            }
        }
        if groups.iter().any(|group| !group.foot.is_empty()) {
            text += &self.line(FOOT, groups, |group| group.foot.clone());
        }
        text
    }

    /// Returns a line with a text for each group.
    fn line(&self, label: &str, groups: &[Group], text: impl Fn(&Group) -> String) -> String {
        let mut line = padded(label, self.row_width);
        for group in groups {
            line = line + GAP + &padded(&text(group), group.width(self.label_width));
        }
        line.trim_end().to_owned() + "\n"
    }
}

/// Returns a text, which may have colours, with blanks up to a width.
fn padded(text: &str, width: usize) -> String {
    let used = strip_str(text).to_string().width();
    format!("{text}{}", " ".repeat(width.saturating_sub(used)))
}

/// Returns `words` with `gap` between them on lines of at most `width` columns, each with its newline.
/// A word that is wider is broken.
pub(super) fn wrap(words: impl Iterator<Item: AsRef<str>>, gap: &str, width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in words {
        let word = word.as_ref();
        if used > 0 && used + gap.width() + word.width() <= width {
            text += gap;
            used += gap.width();
        } else if used > 0 {
            text.push('\n');
            used = 0;
        }
        for c in word.chars() {
            let c_width = c.width().unwrap_or(0);
            if used + c_width > width {
                text.push('\n');
                used = 0;
            }
            text.push(c);
            used += c_width;
        }
    }
    if used > 0 {
        text.push('\n');
    }
    text
}

/// Returns `text`, without its end if it is wider than `width` columns.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let width = |c: &char| c.width().unwrap_or(0);
    let fits = |c: &char| room.checked_sub(width(c)).inspect(|left| room = *left).is_some();
    text.chars().take_while(fits).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn group(label: &str, columns: &[(&'static str, &[usize])]) -> Group {
        let column = |(head, counts): &(&'static str, &[usize])| Column::new(head, counts, None);
        let columns = columns.iter().map(column).collect();
        Group { label: label.to_owned(), columns, foot: "9.9 s".to_owned() }
    }

    fn text(rows: &[&str], groups: Vec<Group>, width: usize) -> String {
        let rows = rows.iter().map(|&name| name.to_owned()).collect();
        layout(rows, groups, width)
    }

    #[test]
    fn a_narrow_table_is_one_block() {
        let groups = vec![
            group("pocl-cpu", &[("ok", &[14, 0]), ("skip", &[1, 166])]),
            group("x", &[("ok", &[1234, 3]), ("FAIL", &[0, 2])]),
        ];
        assert_snapshot!(text(&["pool", "memory"], groups, 80));
    }

    #[test]
    fn rows_without_counts_in_a_block_are_not_in_it() {
        let columns = |count: &'static [usize]| [("ok", count), ("ignored", &[1000, 1000])];
        let groups = vec![
            group("oclgrind-simulator", &columns(&[1, 0])),
            group("intel-cpu", &columns(&[1, 0])),
            group("host", &[("ok", &[0, 17]), ("TIMEOUT", &[0, 3])]),
        ];
        assert_snapshot!(text(&["pool", "rules"], groups, 40));
    }

    #[test]
    fn a_group_that_is_wider_than_the_page_is_split() {
        let columns: [(&'static str, &[usize]); 5] = [
            ("ok", &[1]),
            ("CRASH", &[2]),
            ("TIMEOUT", &[3]),
            ("NOT-RUN", &[4]),
            ("ignored", &[5]),
        ];
        let rows = ["a_long_suite"];
        assert_snapshot!(text(&rows, vec![group("pocl-cpu", &columns)], 40));
    }

    #[test]
    fn long_labels_are_broken_or_become_numbers() {
        let columns: [(&'static str, &[usize]); 1] = [("ok", &[1])];
        let groups = ["pocl-cpu", "nvidia-geforce-rtx-4090-0", "averyveryverylongname"];
        let groups = groups.iter().map(|label| group(label, &columns)).collect();
        assert_snapshot!(text(&["a_suite_with_a_long_name"], groups, 40));
    }

    #[test]
    fn words_are_wrapped_at_the_width() {
        let cases = [
            (vec!["a", "bc", "def"], 4, "a bc\ndef\n"),
            (vec!["abcdefgh", "i"], 4, "abcd\nefgh\ni\n"),
            (vec!["日本", "語"], 5, "日本\n語\n"),
            (vec![], 4, ""),
        ];
        for (words, width, expected) in cases {
            assert_eq!(wrap(words.iter().copied(), " ", width), expected, "{words:?}");
        }
    }

    #[test]
    fn long_labels_are_cut() {
        let cases =
            [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…")];
        for (text, width, expected) in cases {
            assert_eq!(cut(text, width), expected);
        }
    }
}
