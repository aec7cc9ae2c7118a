//! Titles, sentences and tables as text, Markdown or JSON.

use clap::ValueEnum;
use clmatrix_characterize::show::markdown;
use clmatrix_characterize::show::text_table::TextTable;
use clmatrix_runner::terminal::{AnyError, print, print_text};
use serde::Serialize;

/// The forms of a report with tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for a terminal.
    Table,
    /// JSON.
    Json,
    /// Tables in Markdown.
    Markdown,
}

/// A part of a report.
#[derive(Default)]
pub(crate) struct Page {
    /// The lines at the top.
    pub(crate) titles: Vec<String>,
    /// Sentences.
    pub(crate) notes: Vec<String>,
    /// The table.
    pub(crate) table: Option<TextTable>,
    /// The curves below it.
    pub(crate) curves: Vec<String>,
}

impl Format {
    /// Returns all pages, or their subject as JSON.
    pub(crate) fn text(
        self,
        json: &impl Serialize,
        pages: impl Iterator<Item = Page>,
    ) -> serde_json::Result<String> {
        let page: fn(Page) -> String = match self {
            Self::Json => return Ok(serde_json::to_string_pretty(json)? + "\n"),
            Self::Table => Page::plain,
            Self::Markdown => Page::markdown,
        };
        Ok(pages.map(page).collect::<Vec<_>>().join("\n"))
    }

    /// Prints all pages, or their subject as JSON.
    pub(crate) fn print(
        self,
        json: &impl Serialize,
        pages: impl Iterator<Item = Page>,
    ) -> Result<(), AnyError> {
        let text = self.text(json, pages)?;
        if self == Self::Json { print(&text) } else { print_text(&text) }
    }
}

impl Page {
    /// Returns a page with a title, sentences and a table.
    pub(crate) fn of_table(title: String, notes: Vec<String>, table: TextTable) -> Self {
        Self { titles: vec![title], notes, table: Some(table), curves: Vec::new() }
    }

    pub(crate) fn plain(self) -> String {
        let titles = [self.titles.join("\n") + "\n"].into_iter();
        let notes = self.notes.into_iter().map(|note| note + "\n");
        let table = self.table.map(|table| table.plain());
        titles.chain(notes).chain(table).chain(self.curves).collect::<Vec<_>>().join("\n")
    }

    fn markdown(self) -> String {
        let titles = self.titles.iter().map(|title| format!("## {}\n", markdown::escaped(title)));
        let notes = self.notes.iter().map(|note| markdown::escaped(note) + "\n");
        let table = self.table.map(|table| table.markdown());
        let curves = self.curves.iter().map(|curve| markdown::block("text", curve));
        titles.chain(notes).chain(table).chain(curves).collect::<Vec<_>>().join("\n")
    }
}
