//! Messages and reasons, each once.

use clmatrix_runner::text::{clean, shortened};
use indexmap::IndexSet;
use serde::Serialize;

/// The most bytes of a message or an output.
const LONGEST: usize = 64 << 10;

/// The note in place of a message.
const LEFT_OUT: &str = "(left out: this page has no room for more messages; events.jsonl has it)";

/// The texts of the results of a device.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub(super) struct Texts {
    pub(super) texts: IndexSet<String>,
    /// The bytes for other texts.
    #[serde(skip)]
    pub(super) room: usize,
}

impl Texts {
    /// Returns the number of a text. A text that the page has no room for has the number of a note.
    pub(super) fn number(&mut self, text: &str) -> usize {
        let mut text = shown(text);
        if let Some(number) = self.texts.get_index_of(&text) {
            return number;
        }
        match self.room.checked_sub(text.len()) {
            Some(left) => self.room = left,
            None => text = LEFT_OUT.to_owned(),
        }
        self.texts.insert_full(text).0
    }
}

/// Returns a text without control characters, and without its middle if it is long.
pub(super) fn shown(text: &str) -> String {
    shortened(&clean(text), LONGEST, char::len_utf8).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_ends() {
        assert_eq!(shown("\x1b[31mred\x1b[0m"), "red");
        let whole = "é".repeat(LONGEST / 2);
        assert_eq!(shown(&whole), whole);
        let cut = shown(&format!("begin{}end", "é".repeat(1 << 20)));
        assert!(cut.starts_with("beginé") && cut.ends_with("éend"));
        assert!(cut.len() <= LONGEST + 100, "{}", cut.len());
        assert!(cut.contains("bytes cut"));
    }

    #[test]
    fn a_text_is_there_once_and_within_the_allowance() {
        let mut texts = Texts { room: 5, ..Texts::default() };
        let numbers = ["abc", "de", "abc", "f", "g"].map(|text| texts.number(text));
        assert_eq!(numbers, [0, 1, 0, 2, 2]);
        assert!(texts.texts[2].contains("no room"));
    }
}
