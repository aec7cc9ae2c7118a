//! The outputs and messages of a file, which have a limit, each and all together.

use std::cell::Cell;

use crate::config::{JunitOptions, JunitOutput};
use crate::result::test_result::TestResult;
use crate::text::{clean, one_line, shortened};
use crate::verdict::Verdict;

/// The bytes for the texts of unexpected results in all files that are read together, and again for those of the
/// others. GitLab accepts files of 30 MB.
const ROOM: usize = 12 << 20;

/// The form of `]]>` in a section of CDATA: it is split over two.
const SPLIT: &str = "]]]]><![CDATA[>";

/// The room that the texts of a file have left.
pub(super) struct Texts {
    options: JunitOptions,
    unexpected: Cell<usize>,
    others: Cell<usize>,
}

impl Texts {
    /// Returns the room of a file that is read together with others: `count` files in all.
    pub(super) fn new(options: JunitOptions, count: usize) -> Self {
        let room = Cell::new(ROOM / count.max(1));
        Self { options, unexpected: room.clone(), others: room }
    }

    /// Returns whether the outputs of a result are in the file.
    pub(super) fn has_output_of(&self, result: &TestResult) -> bool {
        let is_fine = matches!(result.verdict, Verdict::Pass | Verdict::Skip | Verdict::Ignored);
        match self.options.output {
            JunitOutput::All => true,
            JunitOutput::Failed => !is_fine || !result.earlier.is_empty(),
            JunitOutput::None => false,
        }
    }

    /// Returns a text of a result on one line, cut to the room that is left.
    pub(super) fn line(&self, result: &TestResult, text: &str) -> String {
        one_line(&self.take(result, &one_line(text), |c| match c {
            '<' | '>' => "&lt;".len(),
            '&' => "&amp;".len(),
            '"' | '\'' => "&quot;".len(),
            c => c.len_utf8(),
        }))
    }

    /// Returns the properties of a test for which there is room.
    pub(super) fn properties(&self, result: &TestResult) -> Vec<(String, String)> {
        let line = |text: &str| self.line(result, text);
        let properties = result.attempt.properties.iter();
        properties.map(|(name, value)| (line(name), line(value))).collect()
    }

    /// Returns a text of a result for a section of CDATA, cut to the room that is left. The writer puts the text
    /// between `<![CDATA[` and `]]>` unchanged: each `]]>` is split, and readers then see it unchanged.
    pub(super) fn cdata(&self, result: &TestResult, text: &str) -> String {
        let length = |c: char| if c == '>' { SPLIT.len() - "]]".len() } else { c.len_utf8() };
        self.take(result, &clean(text), length).replace("]]>", SPLIT)
    }

    /// Takes room for a text, whose characters have this length in the file at most.
    fn take(&self, result: &TestResult, text: &str, length: impl Fn(char) -> usize) -> String {
        let room = if result.is_unexpected() { &self.unexpected } else { &self.others };
        let in_file = |text: &str| text.chars().map(&length).sum::<usize>();
        let limit = self.options.output_limit;
        let mut part = shortened(text, limit, char::len_utf8);
        if in_file(&part) > room.get() {
            part = shortened(text, limit.min(room.get()), &length);
        }
        room.set(room.get().saturating_sub(in_file(&part)));
        part.into_owned()
    }
}
