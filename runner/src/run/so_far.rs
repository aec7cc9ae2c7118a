//! The part of a run that has ended before it was resumed.

use std::collections::{HashMap, HashSet};

use crate::result::test_result::TestResult;
use crate::run::{Entry, Plan};
use crate::verdict::Outcome;

/// The state of each entry of a plan when the run begins, or is resumed.
#[derive(Default)]
pub struct SoFar {
    /// The position of each entry's test in the log.
    pub tests: Vec<u32>,
    /// The number of attempts of each entry.
    pub attempts: Vec<u32>,
    /// The failed attempts at tests without a result yet, in their order, by the positions of the entries.
    pub unfinished: HashMap<Entry, Vec<TestResult>>,
    /// The positions of the entries that have their results.
    pub ended: HashSet<Entry>,
    /// The positions of the entries that run last: they were running when the run was cut short.
    pub last: HashSet<Entry>,
    /// The positions of the entries that do not run again, and their outcomes.
    pub decided: Vec<(Entry, Outcome)>,
    /// True if the run has a test without a result that is not in the plan.
    pub leaves_tests: bool,
}

impl SoFar {
    /// Returns the state of a run in which no test has been started.
    pub fn nothing(plan: &Plan) -> Self {
        let (tests, attempts) = (plan.test_positions(), vec![0; plan.entries.len()]);
        Self { tests, attempts, ..Self::default() }
    }
}
