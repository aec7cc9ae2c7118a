//! Rows and columns of short texts, with footnotes: as plain text and as Markdown.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::markdown::{escaped, verbatim};

/// A table whose first row holds the columns' names.
#[derive(Clone, Debug)]
pub struct TextTable {
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl TextTable {
    /// Creates a table without rows.
    pub fn new(columns: &[&str]) -> Self {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Self { rows: vec![columns], notes: Vec::new() }
    }

    /// Adds a row, of a cell for each column.
    pub fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.rows[0].len());
        self.rows.push(row);
    }

    /// Puts `text` below the table and returns a reference to it: the same for the same text.
    pub fn note(&mut self, text: &str) -> String {
        let known = self.notes.iter().position(|note| note == text);
        let position = known.unwrap_or_else(|| {
            self.notes.push(text.to_owned());
            self.notes.len() - 1
        });
        format!("[{}]", position + 1)
    }

    /// Returns `text`, or a reference to a note if it would make its column too wide.
    pub fn or_note(&mut self, text: String) -> String {
        const WIDEST: usize = 30;
        if text.width() > WIDEST { self.note(&text) } else { text }
    }

    /// Formats the table for terminals.
    pub fn plain(&self) -> String {
        let mut text = aligned(&self.rows);
        for (position, note) in self.notes.iter().enumerate() {
            let _ = writeln!(text, "[{}] {}", position + 1, note.replace('\n', " "));
        }
        text
    }

    /// Formats the table for documents.
    pub fn markdown(&self) -> String {
        let line = |row: &[String]| {
            let cells: Vec<_> = row.iter().map(|cell| verbatim(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&self.rows[0]);
        text += &format!("|{}\n", "---|".repeat(self.rows[0].len()));
        text.extend(self.rows[1..].iter().map(|row| line(row)));
        for (position, note) in self.notes.iter().enumerate() {
            let _ = write!(text, "\n[{}] {}\n", position + 1, escaped(note));
        }
        text
    }
}

/// Formats columns as wide as their widest cell; the last one is left as it is.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let gap = " ".repeat(width - cell.width() + 2);
            line += &format!("{cell}{gap}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_table() -> TextTable {
        let mut text_table = TextTable::new(&["NAME", "ANSWER"]);
        let guess = text_table.note("a guess");
        text_table.push(vec!["banks".to_owned(), format!("16 {guess}")]);
        let failed = text_table.note("it\nfailed");
        text_table.push(vec!["time | µs".to_owned(), failed]);
        let guess = text_table.note("a guess");
        text_table.push(vec!["items".to_owned(), format!("32 {guess}")]);
        text_table
    }

    #[test]
    fn columns_are_aligned_and_notes_stand_below() {
        let expected = "NAME       ANSWER\n\
                        banks      16 [1]\n\
                        time | µs  [2]\n\
                        items      32 [1]\n\
                        [1] a guess\n\
                        [2] it failed\n";
        assert_eq!(text_table().plain(), expected);
    }

    #[test]
    fn markdown_has_a_line_below_the_names() {
        let expected = "| NAME | ANSWER |\n\
                        |---|---|\n\
                        | banks | 16 [1] |\n\
                        | time &#124; µs | [2] |\n\
                        | items | 32 [1] |\n\
                        \n[1] a guess\n\
                        \n[2] it failed\n";
        assert_eq!(text_table().markdown(), expected);
    }
}
