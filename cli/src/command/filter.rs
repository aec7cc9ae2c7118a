//! The tests that the command line selects.

use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::terminal::AnyError;
use globset::{GlobBuilder, GlobMatcher};

/// Accepts the ids that match one of its patterns, or all ids if it has none.
pub struct Filter {
    patterns: Vec<Pattern>,
    texts: Vec<String>,
}

/// The patterns of a filter that have matched no test so far.
pub struct Unmatched<'a>(Vec<(&'a Pattern, &'a str)>);

enum Pattern {
    Part(String),
    /// Words of a path, with `::` at the end.
    Words(String),
    /// A whole id, where an empty device matches every device; or the path of a test with an `@` in its name.
    Id {
        text: String,
        test: String,
        device: String,
    },
    Glob {
        id: GlobMatcher,
        /// The part before the device.
        test: GlobMatcher,
    },
}

impl Filter {
    /// Reads the patterns.
    ///
    /// # Errors
    ///
    /// A pattern is empty, or a glob is wrong.
    pub fn new(texts: &[String]) -> Result<Self, AnyError> {
        if texts.iter().any(String::is_empty) {
            let reason = "a FILTER is empty, as the value of a variable that is not set";
            return Err(format!("{reason}; without a FILTER, all tests are selected").into());
        }
        let patterns = texts.iter().map(|text| Pattern::new(text)).collect::<Result<_, _>>()?;
        Ok(Self { patterns, texts: texts.to_vec() })
    }

    /// Returns all patterns.
    pub fn unmatched(&self) -> Unmatched<'_> {
        Unmatched(self.patterns.iter().zip(self.texts.iter().map(String::as_str)).collect())
    }

    /// Returns whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub fn accepts(&self, id: &TestId) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(id))
    }

    /// Accepts `suite::test::case` by the patterns without their devices.
    pub fn accepts_test(&self, path: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches_test(path))
    }
}

impl Unmatched<'_> {
    /// Removes the patterns that match this id, or its test on another device.
    pub fn remove_those_of(&mut self, id: &TestId) {
        self.0.retain(|(pattern, _)| !pattern.matches(id) && !pattern.matches_test(id.path()));
    }

    /// Returns the patterns as they are written.
    pub fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|(_, text)| *text).collect()
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, globset::Error> {
        if text.contains(['*', '?', '[']) {
            let glob = |text| {
                let glob = GlobBuilder::new(text).backslash_escape(true).build()?;
                Ok(glob.compile_matcher())
            };
            let (test, _) = text.rsplit_once('@').unwrap_or((text, ""));
            Ok(Self::Glob { id: glob(text)?, test: glob(test)? })
        } else if let Some((test, device)) = text.rsplit_once('@') {
            let [text, test, device] = [text, test, device].map(str::to_owned);
            Ok(Self::Id { text, test, device })
        } else if text.ends_with("::") {
            Ok(Self::Words(text.to_owned()))
        } else {
            Ok(Self::Part(text.to_owned()))
        }
    }

    fn matches(&self, id: &TestId) -> bool {
        match self {
            Self::Part(part) => id.contains(part.as_str()),
            Self::Words(words) => has_words(id, words),
            Self::Id { text, test, device } => {
                id.path() == text
                    || id.path() == test && (device.is_empty() || id.device() == device)
            }
            Self::Glob { id: glob, .. } => glob.is_match(id.as_str()),
        }
    }

    fn matches_test(&self, path: &str) -> bool {
        match self {
            Self::Part(part) => path.contains(part.as_str()),
            Self::Words(words) => has_words(path, words),
            Self::Id { text, test, .. } => test == path || text == path,
            Self::Glob { id, test } => test.is_match(path) || id.is_match(path),
        }
    }
}

/// Returns whether a path has these words, from the beginning of a word on.
fn has_words(path: &str, words: &str) -> bool {
    path.match_indices(words).any(|(at, _)| at == 0 || path[..at].ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_part_an_id_a_path_or_a_glob() {
        for (pattern, id, expected) in [
            ("s::t", "s::t::x@d", true),
            ("s::", "s::t@d", true),
            ("s::", "ss::t@d", false),
            ("s::", "a::s::t@d", true),
            ("s::", "a::ss::s::t@d", true),
            ("s::t::", "s::t::x@d", true),
            ("s::t::", "s::tt::x@d", false),
            ("::s::", "a::s::t@d", false),
            ("s::t@d", "s::t@d", true),
            ("s::t@d", "s::t@dd", false),
            ("s::t@d", "s::t::x@d", false),
            ("s::t@", "s::t@d", true),
            ("s::*@d", "s::t@d", true),
            ("s::*@d", "s::t@e", false),
            ("s::a@b", "s::a@b@d", true),
            ("s::a@b@d", "s::a@b@d", true),
            ("s::a@b@d", "s::a@b@e", false),
            ("s::a@b@", "s::a@b@d", true),
            ("s::a@*", "s::a@b@d", true),
            ("s::a@b", "s::a@bb@d", false),
        ] {
            let filter = Filter::new(&[pattern.to_owned()]).expect("a pattern");
            let id = TestId::parse(id);
            assert_eq!(filter.accepts(&id), expected, "{pattern} {id}");
            // A path is accepted if its id is accepted on a device.
            let path = id.path();
            assert!(!expected || filter.accepts_test(path), "{pattern} {path}");
        }
        let filter = Filter::new(&["s::t@d".to_owned()]).expect("a pattern");
        assert!(filter.accepts_test("s::t") && !filter.accepts_test("s::t::x"));
    }

    #[test]
    fn a_pattern_without_a_test_is_named() {
        let empty = Filter::new(&["s::t", ""].map(str::to_owned)).err().expect("an error");
        assert!(empty.to_string().starts_with("a FILTER is empty"), "{empty}");
        let texts = ["s::t@", "a::", "s::?u", "s::t@nowhere"].map(str::to_owned);
        let filter = Filter::new(&texts).expect("patterns");
        let mut unmatched = filter.unmatched();
        unmatched.remove_those_of(&TestId::parse("s::t@d"));
        assert_eq!(unmatched.texts(), ["a::", "s::?u"]);
    }
}
