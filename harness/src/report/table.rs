//! Lays out a table of short texts so that no line is wider than the terminal.
//!
//! What does not fit beside one another goes below one another: the words of a cell, and the
//! columns, in blocks that each repeat the rows' labels. Labels that would take the room of cells
//! are replaced by numbers, with a key below the table.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest page that a table fits on: one column beside the rows' labels.
pub(super) const MIN_WIDTH: usize = 40;

/// Columns that a cell or a column's label takes up at most.
const CELL_WIDTH: usize = 16;

const GAP: &str = "  ";

/// One cell; one without words is shown as `-`.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// The words in it; none of them is wider than 16 columns.
    pub(super) words: Vec<String>,
    /// What a terminal shows it in, if not in its usual colour.
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
    /// `text` in this colour.
    pub(super) fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// `cells[row][column]` below the columns' labels and beside the rows', as lines of at most `width`
/// columns, each with its newline. There is at least one column.
pub(super) fn layout(
    rows: &[String],
    columns: &[String],
    cells: &[Vec<Cell>],
    width: usize,
) -> String {
    let width = width.max(MIN_WIDTH);
    let (rows, row_key) = shorten(rows, 'S', (width / 3).max(CELL_WIDTH));
    let row_width = widest(rows.iter().map(String::as_str));
    let contents: Vec<usize> =
        (0..columns.len()).map(|column| content_width(cells, column)).collect();
    let widths = |labels: &[String]| -> Vec<usize> {
        labels.iter().zip(&contents).map(|(label, content)| label.width().max(*content)).collect()
    };
    let fits = row_width + widths(columns).iter().map(|w| GAP.len() + w).sum::<usize>() <= width;
    let (columns, column_key) = shorten(columns, 'D', if fits { usize::MAX } else { CELL_WIDTH });
    let widths = widths(&columns);

    let mut text = String::new();
    let blocks = blocks(&widths, width - row_width);
    for block in &blocks {
        if block.start > 0 {
            text.push('\n');
        }
        let labels: Vec<Cell> = columns.iter().map(|label| Cell::plain(label)).collect();
        write_row(&mut text, "", row_width, &labels[block.clone()], &widths[block.clone()]);
        let says_something = |cells: &[Cell]| cells.iter().any(|cell| !cell.words.is_empty());
        for (row, cells) in rows.iter().zip(cells) {
            // It does so in another block.
            if blocks.len() > 1 && !says_something(&cells[block.clone()]) {
                continue;
            }
            write_row(&mut text, row, row_width, &cells[block.clone()], &widths[block.clone()]);
        }
    }
    for key in [column_key, row_key] {
        text += &wrap(key.iter().map(String::as_str), GAP, width);
    }
    text
}

impl Cell {
    fn plain(word: &str) -> Self {
        Self { words: vec![word.to_owned()], color: None }
    }

    /// Its words, as many on a line as there is room for in `width` columns.
    fn lines(&self, width: usize) -> Vec<String> {
        if self.words.is_empty() {
            return vec!["-".to_owned()];
        }
        let lines = wrap(self.words.iter().map(String::as_str), " ", width);
        lines.lines().map(str::to_owned).collect()
    }
}

/// Labels of at most `limit` columns, and what the numbers among them stand for.
fn shorten(labels: &[String], letter: char, limit: usize) -> (Vec<String>, Vec<String>) {
    let mut key = Vec::new();
    let shorten = |(position, label): (usize, &String)| {
        if label.width() <= limit {
            return label.clone();
        }
        let number = format!("{letter}{}", position + 1);
        key.push(format!("{number} = {label}"));
        number
    };
    (labels.iter().enumerate().map(shorten).collect(), key)
}

fn content_width(cells: &[Vec<Cell>], column: usize) -> usize {
    let lines = cells.iter().flat_map(|row| row[column].lines(CELL_WIDTH));
    lines.map(|line| line.width()).max().unwrap_or(0)
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// Ranges of columns of which each fits into `room`, or is a single one.
fn blocks(widths: &[usize], room: usize) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (column, width) in widths.iter().enumerate() {
        let needed = GAP.len() + width;
        if column > start && used + needed > room {
            blocks.push(start..column);
            (start, used) = (column, 0);
        }
        used += needed;
    }
    blocks.push(start..widths.len());
    blocks
}

/// A row as high as its highest cell.
fn write_row(text: &mut String, label: &str, label_width: usize, cells: &[Cell], widths: &[usize]) {
    let lines = |(cell, width): (&Cell, &usize)| (cell.lines(*width), cell.color);
    let cells: Vec<_> = cells.iter().zip(widths).map(lines).collect();
    let height = cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or(1);
    for line in 0..height {
        let label = if line == 0 { label } else { "" };
        let mut out = pad(label, label, label_width);
        for ((lines, color), width) in cells.iter().zip(widths) {
            let plain = lines.get(line).map_or("", String::as_str);
            let painted = match color {
                Some(color) if !plain.is_empty() => color.paint(plain),
                _ => plain.to_owned(),
            };
            out += GAP;
            out += &pad(&painted, plain, *width);
        }
        *text += out.trim_end();
        text.push('\n');
    }
}

/// `text`, which looks like `plain`, and blanks up to `width`.
fn pad(text: &str, plain: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(plain.width())))
}

/// `words` with `gap` between them on lines of at most `width` columns, each with its newline; a
/// word that is wider is broken.
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

/// `text`, if need be without its end, so that it takes up at most `width` columns.
pub(super) fn cut(text: &str, width: usize) -> String {
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
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn cells(rows: &[&[&str]]) -> Vec<Vec<Cell>> {
        let cell = |words: &&str| Cell {
            words: words.split('|').filter(|word| *word != "-").map(str::to_owned).collect(),
            color: None,
        };
        rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    }

    #[test]
    fn all_fits() {
        let cells = cells(&[&["14 ok", "12 ok|2F"], &["-", "3 ok"]]);
        let text = layout(&strings(&["pool", "memory"]), &strings(&["pocl-cpu", "x"]), &cells, 80);
        let expected =
            ["        pocl-cpu  x", "pool    14 ok     12 ok 2F", "memory  -         3 ok"];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rows_without_anything_in_a_block_are_not_in_it() {
        let columns = strings(&["oclgrind-gpu-012", "oclgrind-cpu-012", "host"]);
        let cells = cells(&[&["1 ok", "-", "-"], &["-", "-", "17 ok"]]);
        let text = layout(&strings(&["pool", "rules"]), &columns, &cells, 40);
        let expected = [
            "       oclgrind-gpu-012",
            "pool   1 ok",
            "",
            "       oclgrind-cpu-012  host",
            "rules  -                 17 ok",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn columns_in_blocks_and_long_labels_by_number() {
        let columns =
            strings(&["pocl-cpu", "nvidia-geforce-rtx-4090-0", "rusticl-cpu", "nvidia-h200-0"]);
        let cells = cells(&[&["14 ok"; 4], &["1 ok|11111F|11111C|11111s", "3 ok", "-", "3 ok"]]);
        let rows = strings(&["pool", "a_suite_with_a_long_name"]);
        let expected = [
            "      pocl-cpu       D2     rusticl-cpu",
            "pool  14 ok          14 ok  14 ok",
            "S2    1 ok 11111F    3 ok   -",
            "      11111C 11111s",
            "",
            "      nvidia-h200-0",
            "pool  14 ok",
            "S2    3 ok",
            "D2 = nvidia-geforce-rtx-4090-0",
            "S2 = a_suite_with_a_long_name",
        ];
        assert_eq!(layout(&rows, &columns, &cells, 40).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn wraps() {
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
    fn cuts() {
        let cases =
            [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…")];
        for (text, width, expected) in cases {
            assert_eq!(cut(text, width), expected);
        }
    }
}
