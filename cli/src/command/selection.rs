//! The tests of a run: the arguments that select them, and the shard.

use std::collections::HashSet;
use std::path::Path;

use clmatrix_runner::files::read_list;
use clmatrix_runner::log::selected_tests::SelectedTests;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::terminal::AnyError;
use globset::{GlobBuilder, GlobMatcher};

use super::shard::ChosenShard;
use crate::parent::Parent;

/// The tests that the command line selects.
pub struct Selection {
    pub filter: Filter,
    /// The tests of `--tests`, or of the parent.
    pub tests: Option<TestSet>,
    /// The run that has them.
    pub parent: Option<Parent>,
    pub shard: Option<ChosenShard>,
}

impl Selection {
    /// Returns whether the test with this id is selected, in any shard.
    pub fn accepts(&self, id: &TestId) -> bool {
        self.filter.accepts(id) && self.tests.as_ref().is_none_or(|tests| tests.has(id))
    }
}

/// Tests by their ids, or by their paths, which mean every device.
#[derive(Debug)]
pub struct TestSet {
    ids: HashSet<TestId>,
    paths: HashSet<String>,
}

impl FromIterator<TestId> for TestSet {
    fn from_iter<I: IntoIterator<Item = TestId>>(ids: I) -> Self {
        let ids: HashSet<TestId> = ids.into_iter().collect();
        let paths = ids.iter().map(|id| id.path().to_owned()).collect();
        Self { ids, paths }
    }
}

impl TestSet {
    /// Reads a file with an id or a path in each line; `-` is standard input.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has a test that is not among `known`, the paths of all tests.
    pub fn read(file: &Path, known: &[String]) -> Result<Self, AnyError> {
        let name = file.display();
        let text = read_list(file).map_err(|error| format!("{name}: {error}"))?;
        let known: HashSet<&str> = known.iter().map(String::as_str).collect();
        let is_known = |id: &str| known.contains(id) || known.contains(TestId::parse(id).path());
        let unknown =
            text.lines().map(str::trim).zip(1..).find(|(id, _)| !id.is_empty() && !is_known(id));
        if let Some((id, line)) = unknown {
            let reason = format!("there is no test `{id}`; `clmatrix list --ids` lists all");
            return Err(format!("{name}:{line}: {reason}").into());
        }
        Ok(Self::parse(&text))
    }

    /// `TEST@` is the test on every device, as in a filter.
    fn parse(text: &str) -> Self {
        let ids = text.lines().map(|line| line.trim().trim_end_matches('@'));
        ids.filter(|id| !id.is_empty()).map(TestId::parse).collect()
    }

    /// Returns the set in the form of a run's header.
    pub fn selected(&self) -> SelectedTests {
        self.ids.iter().map(TestId::as_str).collect()
    }

    /// Returns whether the set has the test with this id.
    pub fn has(&self, id: &TestId) -> bool {
        self.ids.contains(id) || self.ids.contains(id.path())
    }

    /// Returns whether the set has the test with this path on some device.
    pub fn has_test(&self, path: &str) -> bool {
        self.paths.contains(path) || self.ids.contains(path)
    }
}

/// Accepts the ids that match one of its patterns, or all ids if it has none.
pub struct Filter(Vec<Pattern>);

/// The patterns of a filter that have matched no test so far.
pub struct Unmatched<'a>(Vec<&'a Pattern>);

struct Pattern {
    text: String,
    /// For a glob: that of the id, and that of the part before the device.
    globs: Option<[GlobMatcher; 2]>,
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
        Ok(Self(texts.iter().map(|text| Pattern::new(text)).collect::<Result<_, _>>()?))
    }

    /// Returns all patterns.
    pub fn unmatched(&self) -> Unmatched<'_> {
        Unmatched(self.0.iter().collect())
    }

    pub fn accepts(&self, id: &TestId) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.matches_id(id))
    }

    /// Accepts `suite::test::case` by the patterns without their devices.
    pub fn accepts_test(&self, path: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.matches(path, path, None))
    }
}

impl Unmatched<'_> {
    /// Removes the patterns that match this id, or its test on another device.
    pub fn remove_those_of(&mut self, id: &TestId) {
        let path = id.path();
        self.0.retain(|pattern| !pattern.matches_id(id) && !pattern.matches(path, path, None));
    }

    /// Returns the patterns as they are written.
    pub fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|pattern| &*pattern.text).collect()
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, globset::Error> {
        let mut globs = None;
        if text.contains(['*', '?', '[']) {
            let glob = |text| GlobBuilder::new(text).backslash_escape(true).build();
            let (test, _) = text.rsplit_once('@').unwrap_or((text, ""));
            globs = Some([glob(text)?.compile_matcher(), glob(test)?.compile_matcher()]);
        }
        Ok(Self { text: text.to_owned(), globs })
    }

    fn matches_id(&self, id: &TestId) -> bool {
        self.matches(id, id.path(), Some(id.device()))
    }

    /// Returns whether the pattern matches `id`, which has this path, and this device if it is not the path itself.
    fn matches(&self, id: &str, path: &str, device: Option<&str>) -> bool {
        if let Some([whole, test]) = &self.globs {
            let means_all_devices = device.is_none() || !self.text.contains('@');
            return whole.is_match(id) || means_all_devices && test.is_match(path);
        }
        let is_on = |wanted: &str| wanted.is_empty() || device.is_none_or(|its| its == wanted);
        match self.text.rsplit_once('@') {
            // A whole id, where an empty device matches every device; or the path of a test with an `@` in its name.
            Some((test, device)) => path == self.text || path == test && is_on(device),
            None if self.text.ends_with("::") => has_words(id, &self.text),
            None => id.contains(&self.text),
        }
    }
}

/// Returns whether a path has these words, from the beginning of a word on.
fn has_words(path: &str, words: &str) -> bool {
    path.match_indices(words).any(|(at, _)| at == 0 || path[..at].ends_with("::"))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
            ("s::*_x", "s::t_x@d", true),
            ("s::*_x@e", "s::t_x@d", false),
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

    #[test]
    fn a_line_is_an_id_or_a_path() {
        let set = TestSet::parse("s::a@pocl-cpu\n\n  s::b \ns::c@\r\ns::a@b\ns::a@c@pocl-cpu");
        let cases = [
            ("s::a@pocl-cpu", true),
            ("s::a@intel-cpu", false),
            ("s::b@pocl-cpu", true),
            ("s::b@intel-cpu", true),
            ("s::c@host", true),
            ("s::bb@pocl-cpu", false),
            ("s::a@b@pocl-cpu", true),
            ("s::a@c@pocl-cpu", true),
            ("s::a@c@intel-cpu", false),
        ];
        for (id, expected) in cases {
            assert_eq!(set.has(&TestId::parse(id)), expected, "{id}");
        }
        let paths = ["s::a", "s::b", "s::c", "s::a@b", "s::a@c", "s::d", "s::a@d"];
        assert_eq!(
            paths.map(|path| set.has_test(path)),
            [true, true, true, true, true, false, false]
        );
    }

    #[test]
    fn a_test_that_is_not_there_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tests");
        let known = ["s::a", "s::x@y"].map(str::to_owned);
        fs::write(&file, "s::a@nowhere\n\ns::a\ns::x@y\ns::x@y@nowhere\n").unwrap();
        assert!(TestSet::read(&file, &known).is_ok());
        fs::write(&file, "s::a\n\ns::gone@d\n").unwrap();
        let error = TestSet::read(&file, &known).unwrap_err().to_string();
        assert!(error.contains("tests:3: there is no test `s::gone@d`"), "{error}");
    }
}
