//! Runs a test after others, in a fresh worker.

use std::sync::Arc;
use std::time::Duration;

use clmatrix_runner::config::{Contexts, DeviceSettings, Expectation, Leaks, judge};
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::registry::Test;
use clmatrix_runner::run::state::WorkerConfig;
use clmatrix_runner::verdict::Outcome;
use clmatrix_runner::worker::parent::{START_LIMIT, TestLimits, WorkerLost};
use clmatrix_runner::worker::process_attempt::WorkerAfter;

/// A test, and how it runs.
pub(crate) struct TrialTest {
    pub test: &'static Test,
    pub limit: Duration,
    pub settings: Arc<DeviceSettings>,
    pub expectation: Option<Expectation>,
}

/// The trials of a test.
pub(crate) struct Trials<'a> {
    pub config: &'a WorkerConfig,
    /// The test that goes wrong.
    pub last: TrialTest,
    /// The time after the last test in which the worker may still crash.
    pub wait: Duration,
    pub stop: &'a StopSignal,
}

impl Trials<'_> {
    /// Runs the test after others. Returns whether it goes wrong, or the worker crashes.
    ///
    /// # Errors
    ///
    /// The worker does not start, or the command was stopped.
    pub fn run(&self, before: &[&TrialTest]) -> Result<bool, WorkerLost> {
        let mut worker = self.config.commands.start(START_LIMIT, self.stop)?;
        let DeviceSettings { leaks, contexts, .. } = self.config.settings;
        worker.prepare(leaks != Leaks::Off, contexts)?;
        for test in before.iter().copied().chain([&self.last]) {
            let is_last = std::ptr::eq(test, &self.last);
            let mut ran = worker.run(
                test.test,
                test.test.fresh_context || test.settings.contexts == Contexts::Fresh,
                TestLimits { time: test.limit, idle: None, memory: test.settings.memory },
                &mut |_, _| {},
            );
            ran.fail_by_settings(&test.settings, || None);
            let outcome = &ran.attempt.outcome;
            if let Outcome::NotRun { .. } = outcome {
                return Err(WorkerLost::Stopped);
            }
            let is_wrong = judge(outcome, test.expectation.as_ref()).is_failure();
            if ran.after == WorkerAfter::Spent || is_wrong {
                let is_crash = matches!(outcome, Outcome::Crashed { .. });
                return Ok(is_wrong && (is_last || is_crash));
            }
        }
        let wrong_end = worker.idle(self.wait);
        if self.stop.is_set() {
            return Err(WorkerLost::Stopped);
        }
        Ok(wrong_end.is_some_and(|end| end.is_own_crash()))
    }
}
