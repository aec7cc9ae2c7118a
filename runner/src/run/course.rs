//! The course of a test through its attempts.

use crate::result::test_result::TestResult;
use crate::run::decision::Tried;
use crate::run::entry::Entry;
use crate::verdict::Outcome;

/// The course of a test through its attempts, in its slot.
pub(super) struct Course {
    /// The position of the test in the plan.
    pub position: Entry,
    /// The results of the attempts so far, with their causes.
    pub results: Vec<TestResult>,
    /// The same attempts, with the facts that decide the next step.
    pub tried: Vec<Tried>,
    /// The tests that the worker of the first attempt had run before, if it has crashed.
    pub before_crash: Vec<Entry>,
    pub is_probe_due: bool,
    /// True if no other attempt can begin.
    pub is_over: bool,
    pub is_repeat_recorded: bool,
    pub is_final: bool,
}

impl Course {
    /// Begins with the attempts before a cut, the last of which is repeated.
    pub fn new(position: Entry, before_cut: Vec<TestResult>) -> Self {
        Self {
            position,
            tried: before_cut.iter().map(Tried::before_cut).collect(),
            is_repeat_recorded: !before_cut.is_empty(),
            results: before_cut,
            before_crash: Vec::new(),
            is_probe_due: false,
            is_over: false,
            is_final: false,
        }
    }

    /// Returns whether the last attempt did not end.
    pub fn hangs(&self) -> bool {
        self.tried.last().is_some_and(|last| matches!(last.outcome, Outcome::TimedOut { .. }))
    }

    /// Takes the result: the last attempt, with the others.
    pub fn take_result(&mut self) -> TestResult {
        let last = self.results.pop().expect("an attempt");
        TestResult { earlier: std::mem::take(&mut self.results), ..last }
    }
}
