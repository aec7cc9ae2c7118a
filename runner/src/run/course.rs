//! The course of a test through its attempts.

use crate::result::test_result::TestResult;
use crate::run::decision::Tried;
use crate::run::entry::Entry;

/// The course of a test through its attempts, in its slot.
pub(super) struct Course {
    /// The position of the test in the plan.
    pub position: Entry,
    /// The attempts so far; none after the result is taken.
    pub tried: Vec<Tried>,
    /// The tests that the worker of the first attempt had run before, if it has crashed.
    pub before_crash: Vec<Entry>,
    /// True if the last attempt did not end.
    pub hangs: bool,
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
            is_repeat_recorded: !before_cut.is_empty(),
            tried: before_cut.into_iter().map(Tried::before_cut).collect(),
            before_crash: Vec::new(),
            hangs: false,
            is_probe_due: false,
            is_over: false,
            is_final: false,
        }
    }

    /// Takes the result: the last attempt, with the others.
    pub fn take_result(&mut self) -> TestResult {
        let mut earlier: Vec<_> = self.tried.drain(..).map(|tried| tried.result).collect();
        let last = earlier.pop().expect("an attempt");
        TestResult { earlier, ..last }
    }
}
