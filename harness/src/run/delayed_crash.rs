//! A crash that comes later than its cause: a thread of the driver crashes while the next test runs, or
//! after the last test.
// quirk: DRIVER-14

use std::time::{Duration, Instant};

use crate::run::culprit;
use crate::run::device_run::DeviceRun;
use crate::run::test_worker::Ran;

/// The time limit of the search for a cause.
const SEARCH_LIMIT: Duration = Duration::from_secs(60);

/// The time that a replay waits longer for a crash than the crash took.
const MARGIN: Duration = Duration::from_millis(100);

/// The longest wait for a crash.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The most candidates that are named.
const NAMED: usize = 30;

/// A crash of a worker that the running test does not repeat alone.
pub(super) struct DelayedCrash<'a> {
    pub device_run: &'a DeviceRun<'a>,
    /// The signal or the exit status.
    pub how: String,
    pub at: Instant,
    /// The number of the worker.
    pub worker: u32,
    /// The tests that the worker had run before; at least one.
    pub history: Vec<Ran>,
    /// The test that was running; `None` if the worker had run its last test.
    pub victim: Option<usize>,
}

/// The end of the search for a cause.
pub(super) enum Search {
    /// The position of the cause in `history`.
    Found(usize),
    /// No test reproduces the crash.
    NotFound,
    /// The time was up, the run was stopped, or the device was lost.
    EndedEarly,
}

impl DelayedCrash<'_> {
    /// Finds the test that causes the crash. Runs parts of the history again, each in a fresh worker, and
    /// waits for the crash.
    pub fn find_cause(&self) -> Search {
        // Only workers run tests again in a given order.
        if self.history.iter().any(|ran| self.device_run.is_outside(ran.position)) {
            return Search::NotFound;
        }
        let end = Instant::now() + SEARCH_LIMIT;
        let mut has_ended_early = false;
        let crashes_after = |part: &[Ran]| {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.device_run.may_go_on() {
                return None;
            }
            let wait = self.at.duration_since(part[0].started) + MARGIN;
            let positions: Vec<_> =
                part.iter().map(|ran| ran.position).chain(self.victim).collect();
            let wait = wait.min(LONGEST_WAIT).min(left);
            let replayed = self.device_run.replay(&positions, wait, Some(end))?;
            Some(replayed.outcome.is_own_crash())
        };
        let found = culprit::find(&self.history, |part| {
            let crashes = crashes_after(part);
            has_ended_early = crashes.is_none();
            crashes
        });
        match found {
            Some(found) => Search::Found(found),
            None if has_ended_early => Search::EndedEarly,
            None => Search::NotFound,
        }
    }

    /// The crash, and the time at which it struck.
    pub fn of_cause(&self) -> String {
        let when = match self.victim {
            Some(victim) => {
                format!("it struck `{}`, which does not crash alone", self.device_run.id(victim))
            }
            None => "it struck after the last test of a worker".to_owned(),
        };
        format!("{}, delayed: {when}", self.how)
    }

    /// The tests that may be the cause, a line each.
    pub fn candidates(&self) -> String {
        let first = self.history.len().saturating_sub(NAMED);
        let mut text = "tests that the worker had run before, the last one last:\n".to_owned();
        if first > 0 {
            text += &format!("{first} more\n");
        }
        for ran in &self.history[first..] {
            text += &format!("{}\n", self.device_run.id(ran.position));
        }
        text
    }
}
