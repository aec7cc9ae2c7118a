//! The reasons to run no more tests on a device: a stop of the run, by a signal, its deadline or `--max-fail`; a lost
//! device; a spent hang budget; and, with `--until-fail`, an unexpected result.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::result::not_run_reason::{NotRunReason, StopCause};
use crate::result::test_result::TestResult;
use crate::run::device_run::DeviceRun;
use crate::run::state::RunState;

/// The time that a test may wait on a device that does not end commands behind user events.
pub(super) const IDLE: Duration = Duration::from_secs(1);

impl DeviceRun<'_> {
    /// Returns the reason why the device must no longer be used, if there is one.
    pub fn end_reason(&self) -> Option<NotRunReason> {
        let stopped = self.state.stop.cause().map(|by| NotRunReason::Stopped { by });
        let lost = || self.health.lost.get().map(|lost| lost.not_run());
        let spent = |spent| NotRunReason::HangBudget { spent: Box::new(spent) };
        stopped.or_else(lost).or_else(|| self.hang_budget.spent().map(spent))
    }

    /// Returns whether the device may still be used.
    pub fn may_go_on(&self) -> bool {
        self.end_reason().is_none()
    }

    /// Returns the time that a test may wait without the use of a processor, if the device does not end commands
    /// behind user events.
    pub fn idle(&self) -> Option<Duration> {
        self.ends_gated.get().is_some_and(|ends| !ends).then_some(IDLE)
    }

    /// Returns whether `--until-fail` ends the tests of the device.
    pub fn has_failed(&self) -> bool {
        self.state.run.repeat.until_fail && self.has_failed.load(Ordering::Relaxed)
    }

    /// Returns whether the tests of the device are no longer repeated.
    pub fn end_repeats(&self) -> bool {
        let RunState { run, started, .. } = self.state;
        self.has_failed() || run.repeat.time.is_some_and(|time| started.elapsed() >= time)
    }

    /// Counts a result. Stops the run at the last unexpected one that `--max-fail` allows.
    pub fn count(&self, result: &TestResult) {
        let RunState { run, stop, unexpected, .. } = self.state;
        if !result.is_unexpected() {
            return;
        }
        self.has_failed.store(true, Ordering::Relaxed);
        let unexpected = unexpected.fetch_add(1, Ordering::Relaxed) + 1;
        if run.max_fail.is_some_and(|most| unexpected >= most) {
            stop.request(StopCause::MaxFail { unexpected: unexpected as u64 });
        }
    }
}
