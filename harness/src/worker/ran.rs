//! A test that has run in a process.

use super::process_state::ProcessState;
use crate::config::{DeviceSettings, Leaks, Leftovers};
use crate::result::attempt::Attempt;
use crate::result::test_result::left_behind_text;
use crate::verdict::{Location, Outcome};

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

    /// Fails a test that passed, if the driver complains of it, or if it has left something behind
    /// and the configuration makes that a failure, at `location`. Adds leaks to what it has left behind.
    pub fn fail_by_settings(
        &mut self,
        settings: &DeviceSettings,
        location: impl FnOnce() -> Option<Location>,
    ) {
        let Self { attempt, process, .. } = self;
        if settings.leaks == Leaks::Off {
            process.leaks.clear();
        }
        let leaves_too_much = settings.leftovers == Leftovers::Fail
            && !attempt.findings.left_behind.is_empty()
            || settings.leaks == Leaks::Fail && !process.leaks.is_empty();
        attempt.findings.left_behind.append(&mut process.leaks);
        if attempt.outcome != Outcome::Passed {
            return;
        }
        let (message, location) = match settings.complaint_in(&attempt.stderr) {
            Some(complaint) => (format!("the driver says: {complaint}"), None),
            None if leaves_too_much => {
                (left_behind_text(&attempt.findings.left_behind), location())
            }
            None => return,
        };
        process.has_left_nothing = false;
        attempt.outcome = Outcome::Failed { message, location };
        self.worker_survived = false;
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
