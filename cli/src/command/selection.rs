//! The tests of a run: the arguments that select them, and the shard.

use clmatrix_runner::result::test_id::TestId;

use super::filter::Filter;
use super::shard::ChosenShard;
use super::test_set::TestSet;
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

    /// Returns whether all tests are selected, in any shard.
    pub fn is_full(&self) -> bool {
        self.filter.is_empty() && self.tests.is_none()
    }

    /// Returns whether the test with this path is in the shard.
    pub fn has_in_shard(&self, path: &str) -> bool {
        self.shard.as_ref().is_none_or(|shard| shard.has(path))
    }
}
