//! Lays out a table of counts so that no line is wider than the page.
//!
//! A device is a group of columns below one label. Groups that do not fit beside each other are put below each other,
//! in blocks that each repeat the rows' labels. If the groups do not all fit beside each other, their labels are
//! broken. Long labels of rows are replaced by numbers, with a key below the table.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest page that a table fits on: one column beside the rows' labels.
pub(super) const MIN_WIDTH: usize = 40;

/// The widest label of a row on a narrow page, in columns.
const ROW_LABEL_WIDTH: usize = 16;

/// The width at which labels of groups are broken if their columns are narrower.
const GROUP_LABEL_WIDTH: usize = 12;

/// The gap between groups.
const GAP: &str = "  ";

/// The columns of one device.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The line above the columns.
    pub(super) label: String,
    /// The columns; at least one.
    pub(super) columns: Vec<Column>,
    /// The text below the columns.
    pub(super) foot: String,
}

/// One column of counts.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The heading.
    pub(super) head: &'static str,
    /// A count for each row; zero is shown as `-`.
    pub(super) counts: Vec<usize>,
    /// The colour of the counts that are not zero.
    pub(super) color: Option<Color>,
}

/// The colours of terminals that mean the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Color {
    Red,
    Green,
    Yellow,
}

impl Color {
    /// Returns `text` in this colour.
    pub(super) fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Returns the table as lines of at most `width` columns, each with its newline. `foot` is the label
/// of the line below the rows. There is at least one group.
pub(super) fn layout(rows: &[String], groups: Vec<Group>, foot: &str, width: usize) -> String {
    let width = width.max(MIN_WIDTH);
    let (rows, row_key) = shorten(rows, (width / 3).max(ROW_LABEL_WIDTH));
    let row_width = rows.iter().map(|row| row.width()).chain([foot.width()]).max().unwrap_or(0);
    let room = width - row_width;
    let fits =
        groups.iter().map(|group| GAP.len() + group.width(usize::MAX)).sum::<usize>() <= room;
    let label_width = if fits { usize::MAX } else { GROUP_LABEL_WIDTH };
    let groups: Vec<Group> =
        groups.into_iter().flat_map(|group| group.parts(room - GAP.len())).collect();

    let blocks = blocks(&groups, room, label_width);
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| {
            Block { rows: &rows, groups: block, foot, row_width, label_width }
                .text(blocks.len() > 1)
        })
        .collect();
    let text = texts.join("\n");
    text + &wrap(row_key.iter().map(String::as_str), GAP, width)
}

impl Group {
    /// Returns the width with a label that is broken at `label_width`.
    fn width(&self, label_width: usize) -> usize {
        let label = self.label_lines(label_width);
        let label = label.iter().map(|line| line.width()).max().unwrap_or(0);
        label.max(self.foot.width()).max(columns_width(&self.columns))
    }

    /// Returns the label, broken behind hyphens where it is wider than `width` and the columns.
    fn label_lines(&self, width: usize) -> Vec<String> {
        let width = width.max(columns_width(&self.columns));
        let lines = wrap(self.label.split_inclusive('-'), "", width);
        lines.lines().map(str::to_owned).collect()
    }

    /// Returns groups of at most `room` columns, or of a single one, with the same label.
    fn parts(mut self, room: usize) -> Vec<Self> {
        let mut parts = Vec::new();
        while columns_width(&self.columns) > room && self.columns.len() > 1 {
            let fitting = (1..self.columns.len())
                .rev()
                .find(|&count| columns_width(&self.columns[..count]) <= room)
                .unwrap_or(1);
            let rest = self.columns.split_off(fitting);
            let label = self.label.clone();
            let part =
                std::mem::replace(&mut self, Self { label, columns: rest, ..Self::default() });
            parts.push(part);
        }
        parts.push(self);
        parts
    }

    fn says_something(&self, row: usize) -> bool {
        self.columns.iter().any(|column| column.counts[row] > 0)
    }
}

impl Column {
    fn text(&self, row: usize) -> String {
        match self.counts[row] {
            0 => "-".to_owned(),
            count => count.to_string(),
        }
    }

    fn width(&self) -> usize {
        let counts = (0..self.counts.len()).map(|row| self.text(row).len());
        counts.chain([self.head.len()]).max().unwrap_or(0)
    }

    /// Returns the count of a row, aligned to the right.
    fn cell(&self, row: usize) -> String {
        let text = self.text(row);
        let blanks = " ".repeat(self.width() - text.len());
        match self.color {
            Some(color) if self.counts[row] > 0 => blanks + &color.paint(&text),
            _ => blanks + &text,
        }
    }
}

fn columns_width(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + 1).sum::<usize>() - 1
}

/// Returns labels of at most `limit` columns, and the meaning of the numbers among them.
fn shorten(labels: &[String], limit: usize) -> (Vec<String>, Vec<String>) {
    let mut key = Vec::new();
    let shorten = |(position, label): (usize, &String)| {
        if label.width() <= limit {
            return label.clone();
        }
        let number = format!("S{}", position + 1);
        key.push(format!("{number} = {label}"));
        number
    };
    (labels.iter().enumerate().map(shorten).collect(), key)
}

/// Returns runs of groups that each fit into `room`, or are a single group.
fn blocks(groups: &[Group], room: usize, label_width: usize) -> Vec<&[Group]> {
    let mut blocks = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (position, group) in groups.iter().enumerate() {
        let needed = GAP.len() + group.width(label_width);
        if position > start && used + needed > room {
            blocks.push(&groups[start..position]);
            (start, used) = (position, 0);
        }
        used += needed;
    }
    blocks.push(&groups[start..]);
    blocks
}

/// Groups beside each other.
struct Block<'a> {
    rows: &'a [String],
    groups: &'a [Group],
    foot: &'a str,
    row_width: usize,
    label_width: usize,
}

impl Block<'_> {
    /// Returns its lines. `without_empty_rows` leaves out rows that have counts in other blocks only.
    fn text(&self, without_empty_rows: bool) -> String {
        let labels = self.groups.iter().map(|group| group.label_lines(self.label_width).len());
        let mut text = String::new();
        for below in (0..labels.max().unwrap_or(0)).rev() {
            text += &self.line("", |group| {
                let line = group.label_lines(self.label_width).into_iter().nth_back(below);
                let line = line.unwrap_or_default();
                let width = line.width();
                (line, width)
            });
        }
        text += &self.line("", |group| {
            let head = |column: &Column| format!("{:>1$}", column.head, column.width());
            joined(group, head)
        });
        for (row, label) in self.rows.iter().enumerate() {
            if !without_empty_rows || self.groups.iter().any(|group| group.says_something(row)) {
                text += &self.line(label, |group| joined(group, |column| column.cell(row)));
            }
        }
        if self.groups.iter().any(|group| !group.foot.is_empty()) {
            text += &self.line(self.foot, |group| (group.foot.clone(), group.foot.width()));
        }
        text
    }

    /// Returns a line with a text, of the width given with it, for each group.
    fn line(&self, label: &str, text_of: impl Fn(&Group) -> (String, usize)) -> String {
        let blanks = |used: usize, width: usize| " ".repeat(width.saturating_sub(used));
        let mut line = format!("{label}{}", blanks(label.width(), self.row_width));
        for group in self.groups {
            let (text, width) = text_of(group);
            line = line + GAP + &text + &blanks(width, group.width(self.label_width));
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    }
}

/// Returns the texts of a group's columns, and their width without colours.
fn joined(group: &Group, text: impl FnMut(&Column) -> String) -> (String, usize) {
    let texts: Vec<String> = group.columns.iter().map(text).collect();
    (texts.join(" "), columns_width(&group.columns))
}

/// Returns `words` with `gap` between them on lines of at most `width` columns, each with its newline.
/// A word that is wider is broken.
pub(super) fn wrap<'a>(words: impl Iterator<Item = &'a str>, gap: &str, width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in words {
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
    let mut cut = String::new();
    let mut room = width.saturating_sub(1);
    for c in text.chars() {
        match room.checked_sub(c.width().unwrap_or(0)) {
            Some(less) => room = less,
            None => break,
        }
        cut.push(c);
    }
    cut + "…"
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn group(label: &str, columns: &[(&'static str, &[usize])]) -> Group {
        let column = |(head, counts): &(&'static str, &[usize])| Column {
            head,
            counts: counts.to_vec(),
            color: None,
        };
        let columns = columns.iter().map(column).collect();
        Group { label: label.to_owned(), columns, foot: "9.9 s".to_owned() }
    }

    fn text(rows: &[&str], groups: Vec<Group>, width: usize) -> String {
        let rows: Vec<String> = rows.iter().map(|&name| name.to_owned()).collect();
        layout(&rows, groups, "time", width)
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
