//! A slot of a device: a thread that hands one test after the other to a worker.
//!
//! A worker is used until a test goes wrong in it, or it has run as many as it may.
//!
//! A crash may come later than its cause: a thread of the driver crashes while the next test runs.
//! The slot therefore reruns a crashed test alone, in a fresh worker. If the test crashes again,
//! the crash is its own. If not, the test gets the verdict of the rerun, and the crash is attributed
//! to the test before it. A result is final only when the next test has ended.
// quirk: DRIVER-14

use std::time::SystemTime;

use crate::log::events::{Charged, TestResult};
use crate::run::device_run::DeviceRun;
use crate::run::test_worker::TestWorker;
use crate::verdict::{Expectation, Outcome, judge};
use crate::worker::parent::{Attempt, KILLED_FROM_OUTSIDE};

/// One worker's place and the thread that serves it.
pub(super) struct Slot<'a> {
    device_run: &'a DeviceRun<'a>,
    /// The number of this slot of the device, from 0.
    number: u32,
    worker: Option<TestWorker>,
    /// The last result of this worker, which a delayed crash may still change.
    unsettled: Option<(usize, TestResult)>,
}

impl<'a> Slot<'a> {
    pub fn new(device_run: &'a DeviceRun<'a>, number: usize) -> Self {
        Self { device_run, number: number as u32, worker: None, unsettled: None }
    }

    /// Runs tests until there are no more.
    pub fn work(mut self) {
        while let Some(position) = self.device_run.next_entry() {
            self.take(position);
        }
        self.settle();
    }

    fn take(&mut self, position: usize) {
        let device_run = self.device_run;
        let recorder = device_run.state.recorder;
        let entry = device_run.entry(position);
        let started = SystemTime::now();
        let expectation = device_run.expectation(position);
        if let Some(outcome) = device_run.outcome_without_running(entry, expectation.as_ref()) {
            let attempt = Attempt::without_running(outcome);
            let result = self.result(position, started, attempt, expectation);
            recorder.finished(position, &result);
            device_run.settled(position, &result);
            return;
        }
        recorder.begun(position);
        let attempt = self.attempt_with_crashes_attributed(position, started);
        let worker_survived = attempt.worker_survived;
        let result = self.result(position, started, attempt, expectation);
        recorder.finished(position, &result);
        let needs_probe = self.needs_probe(&result.test, &result.outcome);
        // Else the run would stop one test later.
        let counts = device_run.state.run.max_fail.is_some() && !result.verdict.is_as_expected();
        if let Some((position, previous)) = self.unsettled.replace((position, result)) {
            device_run.settled(position, &previous);
        }
        if !worker_survived || counts {
            self.settle();
        }
        if needs_probe {
            device_run.probe(position);
        }
    }

    /// Takes an outcome into account. Returns true if the worker was lost or a probe is due.
    fn needs_probe(&self, test: &str, outcome: &Outcome) -> bool {
        let is_due = self.device_run.health.note(test, outcome);
        is_due || matches!(outcome, Outcome::Crashed { .. } | Outcome::TimedOut { .. })
    }

    /// Runs a test; if it crashes after another one in the same worker, finds out whose crash it is.
    fn attempt_with_crashes_attributed(&mut self, position: usize, started: SystemTime) -> Attempt {
        let device_run = self.device_run;
        let attempt = self.attempt(position);
        let Some(crash @ Outcome::Crashed { how }) = &attempt.outcome else { return attempt };
        if how == KILLED_FROM_OUTSIDE || self.unsettled.is_none() {
            return attempt;
        }
        let victim = device_run.id(position);
        device_run.health.note(&victim, crash);
        device_run.probe(position);
        if device_run.health.lost().is_some() {
            return attempt;
        }
        let Some((previous, mut suspect)) = self.unsettled.take() else { return attempt };
        let expectation = device_run.expectation(position);
        let crash = self.result(position, started, attempt.clone(), expectation);
        device_run.state.recorder.repeated(position, crash);
        let rerun = self.attempt(position);
        match rerun.outcome {
            // Its own, then.
            Some(Outcome::Crashed { .. }) => {
                device_run.settled(previous, &suspect);
                rerun
            }
            // Unknown, so it is charged to no other test.
            None | Some(Outcome::NotRun { .. }) => {
                device_run.settled(previous, &suspect);
                attempt
            }
            Some(_) => {
                suspect.outcome = Outcome::Crashed {
                    how: format!(
                        "{how}, delayed: it struck `{victim}`, which does not crash alone"
                    ),
                };
                device_run.state.recorder.charged(Charged {
                    test: suspect.test.clone(),
                    attempt: suspect.attempt,
                    by: victim,
                    by_attempt: attempt.number,
                    why: how.clone(),
                });
                suspect.stdout += &attempt.stdout;
                suspect.stderr += &attempt.stderr;
                self.charge(previous, suspect);
                rerun
            }
        }
    }

    /// Runs a test in the worker of the slot, or in a fresh worker if there is none.
    fn attempt(&mut self, position: usize) -> Attempt {
        let device_run = self.device_run;
        let worker = self.worker.take().map_or_else(|| device_run.start_worker(), Ok);
        let mut worker = match worker {
            Ok(worker) => worker,
            Err(mut reason) => {
                device_run.probe(position);
                if let Some(lost) = device_run.health.lost() {
                    reason = lost.not_run();
                }
                return Attempt::without_running(Outcome::NotRun { reason });
            }
        };
        let attempt = device_run.attempt(&mut worker, self.number, position);
        // Any other is killed here: what went wrong in it must not touch the next test.
        if attempt.worker_survived {
            self.worker = Some(worker);
        }
        attempt
    }

    /// Replaces a result that was good so far by the crash that it caused.
    fn charge(&self, position: usize, mut suspect: TestResult) {
        let expectation = self.device_run.expectation(position);
        suspect.verdict = judge(&suspect.outcome, expectation.as_ref());
        self.device_run.state.recorder.finished(position, &suspect);
        self.device_run.settled(position, &suspect);
    }

    fn settle(&mut self) {
        if let Some((position, result)) = self.unsettled.take() {
            self.device_run.settled(position, &result);
        }
    }

    fn result(
        &self,
        position: usize,
        started: SystemTime,
        attempt: Attempt,
        expectation: Option<Expectation>,
    ) -> TestResult {
        let outcome = attempt
            .outcome
            .unwrap_or_else(|| Outcome::NotRun { reason: self.device_run.state.stop.reason() });
        TestResult {
            test: self.device_run.id(position),
            verdict: judge(&outcome, expectation.as_ref()),
            outcome,
            expected_status: expectation.as_ref().map(|expectation| expectation.status),
            expectation_number: expectation.as_ref().map(|expectation| expectation.number),
            expectation: expectation.map(|expectation| expectation.reason),
            attempt: attempt.number,
            worker: attempt.worker,
            slot: attempt.worker.map(|_| self.number),
            duration: attempt.duration,
            started,
            stdout: attempt.stdout,
            properties: attempt.properties,
            left_behind: attempt.left_behind,
            stderr: attempt.stderr,
            // The plan has it.
            source: None,
            output_at: None,
        }
    }
}
