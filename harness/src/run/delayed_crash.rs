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

/// The most candidates that a message names.
const NAMED: usize = 30;

/// A crash of a worker that the running test does not repeat alone.
pub(super) struct DelayedCrash<'a> {
    pub device_run: &'a DeviceRun<'a>,
    /// The signal or the exit status.
    pub how: String,
    pub at: Instant,
    /// The tests that the worker had run before; at least one.
    pub history: Vec<Ran>,
    /// The test that was running; `None` if the worker had run its last test.
    pub victim: Option<usize>,
}

impl DelayedCrash<'_> {
    /// Finds the test that causes the crash: its position in `history`. Runs parts of the history again,
    /// each in a fresh worker, and waits for the crash.
    pub fn find_cause(&self) -> Option<usize> {
        let end = Instant::now() + SEARCH_LIMIT;
        culprit::find(&self.history, |part| {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.device_run.may_go_on() {
                return None;
            }
            let wait = self.at.duration_since(part[0].started) + MARGIN;
            let positions: Vec<_> =
                part.iter().map(|ran| ran.position).chain(self.victim).collect();
            let replayed =
                self.device_run.replay(&positions, left, wait.min(LONGEST_WAIT).min(left))?;
            Some(replayed.outcome.is_own_crash())
        })
    }

    /// The message for the test that causes the crash.
    pub fn of_cause(&self) -> String {
        format!("{}, delayed: {}; reproduced in a fresh worker", self.how, self.when())
    }

    /// The message for a crash without a known cause.
    pub fn without_cause(&self) -> String {
        let ids = self.history.iter().rev().map(|ran| self.device_run.id(ran.position));
        let mut text = format!(
            "{}, delayed: {}; not reproduced. Tests that its worker had run, the last one first:",
            self.how,
            self.when()
        );
        ids.take(NAMED).for_each(|id| text += &format!("\n  {id}"));
        if let more @ 1.. = self.history.len().saturating_sub(NAMED) {
            text += &format!("\n  and {more} before them");
        }
        text
    }

    fn when(&self) -> String {
        match self.victim {
            Some(victim) => {
                format!("it struck `{}`, which does not crash alone", self.device_run.id(victim))
            }
            None => "it struck after the last test of a worker".to_owned(),
        }
    }
}
