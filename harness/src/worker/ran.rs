//! A test that has run in a process.

use super::process_state::ProcessState;
use crate::result::attempt::Attempt;
use crate::verdict::Outcome;

/// An attempt at a test, and all that the run has to know of its process.
#[derive(Clone)]
pub struct Ran {
    /// The attempt.
    pub attempt: Attempt,
    /// The process after the test, if the test ended by itself.
    pub process: ProcessState,
    /// True if the test itself has crashed: on its thread, or on one that it has started.
    pub is_own_crash: bool,
    /// The last tests that the worker had run before a crash, by their positions in the plan.
    pub before: Vec<usize>,
    /// True if the worker is still good for another test.
    pub worker_survived: bool,
}

impl Ran {
    /// Makes the attempt at a test that needed no process.
    pub fn without_process(outcome: Outcome) -> Self {
        Attempt::new(outcome).into()
    }
}

impl From<Attempt> for Ran {
    /// An attempt whose process is gone.
    fn from(attempt: Attempt) -> Self {
        Self {
            attempt,
            process: ProcessState::default(),
            is_own_crash: false,
            before: Vec::new(),
            worker_survived: false,
        }
    }
}
