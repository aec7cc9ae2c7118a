//! Runs a test after others, in a fresh worker.

use std::time::Duration;

use clmatrix_runner::config::{Contexts, DeviceSettings, Leaks, judge};
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::registry::Test;
use clmatrix_runner::run::entry::Entry;
use clmatrix_runner::run::state::{Run, WorkerConfig};
use clmatrix_runner::verdict::Outcome;
use clmatrix_runner::worker::parent::{START_LIMIT, TestLimits, WorkerLost};
use clmatrix_runner::worker::process_attempt::WorkerAfter;

/// The trials of a test.
pub(crate) struct Trials<'a> {
    /// The run of the tests.
    pub run: &'a Run<'a>,
    pub config: &'a WorkerConfig,
    /// The test that goes wrong, with its position in the plan.
    pub last: (Entry, &'static Test),
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
    pub fn run(&self, before: &[(Entry, &'static Test)]) -> Result<bool, WorkerLost> {
        let mut worker = self.config.commands.start(START_LIMIT, self.stop)?;
        let DeviceSettings { leaks, contexts, .. } = self.config.settings;
        worker.prepare(leaks != Leaks::Off, contexts)?;
        for &(position, test) in before.iter().chain([&self.last]) {
            let settings = &self.run.settings[position];
            let mut ran = worker.run(
                test,
                test.fresh_context || settings.contexts == Contexts::Fresh,
                TestLimits { time: self.run.limit(position), idle: None, memory: settings.memory },
                &mut |_, _| {},
            );
            ran.fail_by_settings(settings, || None);
            let outcome = &ran.attempt.outcome;
            if let Outcome::NotRun { .. } = outcome {
                return Err(WorkerLost::Stopped);
            }
            let expectation = self.run.expectations.tests.get(&position);
            let is_wrong = judge(outcome, expectation).is_failure();
            if ran.after == WorkerAfter::Spent || is_wrong {
                let is_crash = matches!(outcome, Outcome::Crashed { .. });
                return Ok(is_wrong && (position == self.last.0 || is_crash));
            }
        }
        match worker.idle(self.wait) {
            Some(end) => Ok(end.is_own_crash()),
            None if self.stop.is_set() => Err(WorkerLost::Stopped),
            None => Ok(false),
        }
    }
}
