//! The reasons to run no more tests on a device: a stop of the run, by a signal, its deadline or `--max-fail`; a
//! lost device; a spent hang budget; and the end of the rounds. Also the end of a worker after some tests.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::result::test_result::TestResult;
use crate::run::hang_budget::HangBudget;
use crate::run::hangs::Hangs;
use crate::run::health::Health;
use crate::run::state::{RunState, WorkerConfig};
use crate::text::counted;

/// The limits of the tests of one device.
pub(super) struct Limits<'a> {
    state: &'a RunState<'a>,
    pub health: Health,
    pub hang_budget: HangBudget,
    pub hangs: Hangs,
    tests_per_worker: Option<usize>,
    /// True after an unexpected result.
    has_failed: AtomicBool,
}

impl<'a> Limits<'a> {
    pub fn new(state: &'a RunState<'a>, config: &WorkerConfig) -> Self {
        Self {
            state,
            health: Health::default(),
            hang_budget: HangBudget::new(config.settings.hang_budget),
            hangs: Hangs::default(),
            tests_per_worker: config.settings.tests_per_worker,
            has_failed: AtomicBool::new(false),
        }
    }

    /// Returns the reason why the device is not to be used any more, if there is one.
    pub fn end(&self) -> Option<String> {
        let stop = self.state.stop;
        let stopped = stop.signal.is_set().then(|| stop.signal.reason());
        let lost = || self.health.lost().map(|lost| lost.not_run());
        stopped.or_else(lost).or_else(|| self.hang_budget.is_spent())
    }

    /// Returns whether a worker is not to run another test after so many.
    pub fn is_worn(&self, tests: usize) -> bool {
        self.tests_per_worker.is_some_and(|most| tests >= most)
    }

    /// Returns the reason why no more tests are started, if the rounds have ended.
    pub fn end_of_rounds(&self) -> Option<String> {
        let RunState { run, started, .. } = self.state;
        run.repeat.end(started.elapsed(), self.has_failed.load(Ordering::Relaxed))
    }

    /// Takes a result into account. Stops the run at the last unexpected one that may be.
    pub fn count(&self, result: &TestResult) {
        let RunState { run, stop, unexpected, .. } = self.state;
        if !result.is_unexpected() {
            return;
        }
        self.has_failed.store(true, Ordering::Relaxed);
        let unexpected = unexpected.fetch_add(1, Ordering::Relaxed) + 1;
        if run.max_fail.is_some_and(|most| unexpected >= most) {
            stop.request(&format!("--max-fail: {}", counted(unexpected, "unexpected result")));
        }
    }
}
