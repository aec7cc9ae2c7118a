//! The tests of a run: the arguments that select them, and the shard.

use clmatrix_harness::private::terminal::AnyError;

use super::filter::Filter;
use super::shard::ChosenShard;
use super::test_set::TestSet;
use crate::resume::unfinished::Unfinished;

/// The tests that the command line selects.
pub struct Selection {
    pub filter: Filter,
    /// The tests of `--tests` or `--rerun`.
    pub tests: Option<TestSet>,
    /// The id of the run that has them.
    pub parent: Option<String>,
    pub shard: Option<ChosenShard>,
}

impl Selection {
    /// Selects the tests of an unfinished run.
    pub fn of_run(unfinished: &Unfinished) -> Result<Self, AnyError> {
        let tests = unfinished.ids().map(str::to_owned).collect();
        Ok(Self { filter: Filter::new(&[])?, tests: Some(tests), parent: None, shard: None })
    }

    /// Returns whether the test with this id is selected, in whatever shard.
    pub fn accepts(&self, id: &str) -> bool {
        self.filter.accepts(id) && self.tests.as_ref().is_none_or(|tests| tests.has(id))
    }

    /// Returns whether all tests are selected, in whatever shard.
    pub fn is_full(&self) -> bool {
        self.filter.is_empty() && self.tests.is_none()
    }

    /// Returns whether the test with this path is in the shard.
    pub fn has_in_shard(&self, path: &str) -> bool {
        self.shard.as_ref().is_none_or(|shard| shard.has(path))
    }
}
