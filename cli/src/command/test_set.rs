//! A set of tests with their ids.

use std::collections::HashSet;
use std::path::Path;

use clmatrix_runner::files::read_list;
use clmatrix_runner::log::selected_tests::SelectedTests;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::terminal::AnyError;

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
        match unknown {
            None => Ok(Self::parse(&text)),
            Some((id, line)) => Err(format!(
                "{name}:{line}: there is no test `{id}`; `clmatrix list --ids` lists all"
            )
            .into()),
        }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
