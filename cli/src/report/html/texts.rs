//! Messages and reasons, each once.

use std::cell::RefCell;

use clmatrix_harness::private::text::clean;
use indexmap::IndexSet;

use super::allowance::Share;

/// The most bytes of a message or an output.
const LONGEST: usize = 64 << 10;

/// The bytes of the beginning of a longer text; the others are of its end.
const BEGINNING: usize = 16 << 10;

/// The texts of the results of a device.
pub(super) struct Texts<'a> {
    texts: RefCell<IndexSet<String>>,
    share: Share<'a>,
}

impl<'a> Texts<'a> {
    pub(super) fn new(share: Share<'a>) -> Self {
        Self { texts: RefCell::default(), share }
    }

    /// Returns the number of a text. A text that the page has no room for has the number of a note.
    pub(super) fn number(&self, text: &str) -> usize {
        let text = shown(text);
        let mut texts = self.texts.borrow_mut();
        if let Some(number) = texts.get_index_of(&text) {
            return number;
        }
        let text = match self.share.take(text.len()) {
            true => text,
            false => {
                "(left out: this page has no room for more messages; events.jsonl has it)".into()
            }
        };
        texts.insert_full(text).0
    }

    pub(super) fn all(&self) -> IndexSet<String> {
        self.texts.take()
    }
}

/// Returns a text without control characters, and without its middle if it is long.
pub(super) fn shown(text: &str) -> String {
    let text = clean(text);
    let Some(excess) = text.len().checked_sub(LONGEST).filter(|excess| *excess > 0) else {
        return text;
    };
    let begin = text.floor_char_boundary(BEGINNING);
    let end = text.ceil_char_boundary(BEGINNING + excess);
    let note = format!("\n[... {} bytes are left out; events.jsonl has more ...]\n", end - begin);
    [&text[..begin], &note, &text[end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::super::allowance::Allowance;
    use super::*;

    #[test]
    fn a_long_text_keeps_its_ends() {
        assert_eq!(shown("\x1b[31mred\x1b[0m"), "red");
        let whole = "é".repeat(LONGEST / 2);
        assert_eq!(shown(&whole), whole);
        let cut = shown(&format!("begin{}end", "é".repeat(1 << 20)));
        assert!(cut.starts_with("beginé") && cut.ends_with("éend"));
        assert!(cut.len() <= LONGEST + 100, "{}", cut.len());
        assert!(cut.contains("bytes are left out"));
    }

    #[test]
    fn a_text_is_there_once_and_within_the_allowance() {
        let allowance = Allowance::new(5, 1);
        let texts = Texts::new(allowance.share());
        let numbers = ["abc", "de", "abc", "f", "g"].map(|text| texts.number(text));
        assert_eq!(numbers, [0, 1, 0, 2, 2]);
        assert!(texts.all()[2].contains("no room"));
    }
}
