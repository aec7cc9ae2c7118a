//! The part of a run that has ended before it was resumed.

use std::collections::HashSet;

use crate::run::plan::Plan;

/// The state of each entry of a plan when the run begins, or goes on.
#[derive(Default)]
pub struct SoFar {
    /// The position of each entry's test in the log.
    pub tests: Vec<u32>,
    /// The number of attempts of each entry.
    pub attempts: Vec<u32>,
    /// The positions of the entries that have their results.
    pub ended: HashSet<usize>,
    /// The positions of the entries that do not run, since they took the machine down.
    pub deadly: Vec<usize>,
    /// True if the run has a test without a result that is not in the plan.
    pub leaves_tests: bool,
}

impl SoFar {
    /// A run in which nothing has been started.
    pub fn nothing(plan: &Plan) -> Self {
        let (tests, attempts) = (plan.test_positions(), vec![0; plan.entries.len()]);
        Self { tests, attempts, ..Self::default() }
    }

    /// The positions of the entries that no slot runs.
    pub(super) fn left_out(&self) -> HashSet<usize> {
        self.ended.iter().chain(&self.deadly).copied().collect()
    }
}
