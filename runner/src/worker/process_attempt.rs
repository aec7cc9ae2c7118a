//! An attempt at a test in a process.

use serde::{Deserialize, Serialize};

use crate::config::{DeviceSettings, Leaks, Leftovers};
use crate::result::test_result::left_behind_text;
use crate::result::{Attempt, NotRunReason};
use crate::verdict::{Location, Outcome};

/// An attempt at a test, and the facts of its process for the run.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessAttempt {
    /// The attempt.
    pub attempt: Attempt,
    /// The worker after the test.
    pub after: WorkerAfter,
    /// The objects of the driver that the test left behind, a line each kind.
    pub leaks: Vec<String>,
    /// True if a crash was on the thread of the test, or on one that it has started.
    pub is_on_thread: bool,
    /// True if the test was ended early, since it waited on a device that does not end commands behind user events.
    pub waits_in_vain: bool,
    /// The crash or the hang of the process of another program, after its test.
    pub exit: Option<Outcome>,
}

impl ProcessAttempt {
    /// Returns the attempt at a test of another program that was not started.
    pub fn not_started(error: String) -> Self {
        Attempt::new(Outcome::NotRun { reason: NotRunReason::Program { error } }).into()
    }

    /// Fails a test that passed, if the driver reports an error of it, or if it has left something behind and the
    /// configuration makes that a failure, at `location`. Adds leaks to the changes that it has left behind.
    pub fn fail_by_settings(
        &mut self,
        settings: &DeviceSettings,
        location: impl FnOnce() -> Option<Location>,
    ) {
        let Self { attempt, after, leaks, .. } = self;
        if settings.leaks == Leaks::Off {
            leaks.clear();
        }
        let leaves_too_much = settings.leftovers == Leftovers::Fail
            && !attempt.left_behind.is_empty()
            || settings.leaks == Leaks::Fail && !leaks.is_empty();
        attempt.left_behind.append(leaks);
        if attempt.outcome != Outcome::Passed {
            return;
        }
        let (message, location) = match settings.complaint_in(&attempt.stderr) {
            Some(complaint) => (format!("the driver reports: {complaint}"), None),
            None if leaves_too_much => (left_behind_text(&attempt.left_behind), location()),
            None => return,
        };
        attempt.outcome = Outcome::Failed { message, location };
        *after = WorkerAfter::Spent;
    }
}

impl From<Attempt> for ProcessAttempt {
    /// Converts an attempt whose process has ended.
    fn from(attempt: Attempt) -> Self {
        Self {
            attempt,
            after: WorkerAfter::Spent,
            leaks: Vec::new(),
            is_on_thread: false,
            waits_in_vain: false,
            exit: None,
        }
    }
}

/// A worker after a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerAfter {
    /// Nothing of a test is left.
    Clean,
    /// It keeps a context that a test has had.
    KeepsUsedContext,
    /// A test has failed in it, and left nothing that the worker has found.
    SurvivedFailure,
    /// It must not run another test.
    Spent,
}

impl WorkerAfter {
    /// Returns the worker after another test. A failure remains the reason for doubt.
    pub fn then(self, next: Self) -> Self {
        match (self, next) {
            (_, Self::Spent) => Self::Spent,
            (Self::SurvivedFailure, _) => Self::SurvivedFailure,
            (_, next) => next,
        }
    }
}
