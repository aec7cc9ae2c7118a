//! The tables, in Markdown, and what missed its limit.

use std::fmt::Write;

/// The limit of a ratio.
#[derive(Clone, Copy)]
pub struct Limit {
    pub at_most: f64,
    pub aim: Option<f64>,
}

impl Limit {
    pub fn is_met(&self, ratio: f64) -> bool {
        ratio <= self.at_most
    }
}

#[derive(Default)]
pub struct Report {
    text: String,
    misses: Vec<String>,
}

/// Characters of a table's first column, and of the others.
const FIRST: usize = 36;
const OTHERS: usize = 11;

impl Report {
    /// Begins a table.
    pub fn table(&mut self, head: &[&str]) {
        self.text.push('\n');
        let [first, others @ ..] = head else { return };
        self.row(first, others);
        let _ = write!(self.text, "|{:-<1$}|", "", FIRST + 2);
        for cell in others {
            let _ = write!(self.text, "{:->1$}:|", "", OTHERS.max(cell.len()) + 1);
        }
        self.text.push('\n');
    }

    pub fn row(&mut self, name: &str, cells: &[impl AsRef<str>]) {
        let _ = write!(self.text, "| {name:<FIRST$} |");
        for cell in cells {
            let _ = write!(self.text, " {:>OTHERS$} |", cell.as_ref());
        }
        self.text.push('\n');
    }

    /// The cells of a limit and of what is aimed at. Notes a miss.
    pub fn check(&mut self, name: &str, ratio: f64, limit: Option<Limit>) -> [String; 2] {
        let cell = |value: Option<f64>| value.map_or_else(|| "-".into(), |it| format!("{it:.2}"));
        let mut at_most = cell(limit.map(|limit| limit.at_most));
        if let Some(limit) = limit.filter(|limit| !limit.is_met(ratio)) {
            at_most.push_str(" MISSED");
            self.misses.push(format!("{name}: {ratio:.3}, limit {:.2}", limit.at_most));
        }
        [at_most, cell(limit.and_then(|limit| limit.aim))]
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the rows that missed their limits, and by how much.
    pub fn into_misses(self) -> Vec<String> {
        self.misses
    }
}
