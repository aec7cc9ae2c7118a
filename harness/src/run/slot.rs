//! A slot of a device: a thread that hands one test after the other to a worker.
//!
//! A worker is used until a test goes wrong in it, or it has run as many as it may. It is asked to leave
//! before it is dropped. The result of a test is final when the test ends.
//!
//! A crash on the test's thread, or on one that it has started, is the test's. After any other end of its
//! worker, the test runs once more alone, in a fresh worker: if it crashes again, the crash is its own, else it has
//! the verdict of the rerun, and the crash is a result of the worker.
//!
//! A test that goes wrong after another slot of the device has lost a worker runs once more, alone.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::case::Case;
use crate::log::events::Finished;
use crate::registry::Test;
use crate::result::ended::Ended;
use crate::result::test_result::TestResult;
use crate::run::device_run::DeviceRun;
use crate::run::retry::Retry;
use crate::run::test_worker::TestWorker;
use crate::run::turn::Turn;
use crate::verdict::{Outcome, Verdict};
use crate::worker::ran::Ran;

/// One worker's place and the thread that serves it.
pub(super) struct Slot<'a> {
    device_run: &'a DeviceRun<'a>,
    /// The number of this slot of the device, from 0.
    number: u32,
    worker: Option<TestWorker>,
    /// The number of tests of this slot that have lost their worker.
    losses: usize,
    /// The number of losses in other slots that cannot be the cause of a failure: those before the last pass in this
    /// slot, and those that had a test repeated.
    known_losses: usize,
}

impl<'a> Slot<'a> {
    pub fn new(device_run: &'a DeviceRun<'a>, number: usize) -> Self {
        Self { device_run, number: number as u32, worker: None, losses: 0, known_losses: 0 }
    }

    /// Runs tests until the device has no more for now.
    pub fn work(&mut self) {
        while let Some(position) = self.device_run.take() {
            self.run(position);
        }
    }

    /// Ends the worker after the last test.
    pub fn end(mut self) {
        let mut turn = Turn::shared(&self.device_run.in_use);
        self.leave(&mut turn);
    }

    /// Runs a test, or finds the reason why it is not run.
    fn run(&mut self, position: usize) {
        let device_run = self.device_run;
        let recorder = device_run.state.recorder;
        // Before its turn: a slot that waits for a permit must not keep others from the device.
        let _permit = device_run.permit(position);
        let is_alone = device_run.state.run.is_alone(position);
        let in_use = if is_alone { Turn::alone } else { Turn::shared };
        let mut turn = in_use(&device_run.in_use);
        if let Some(outcome) = device_run.outcome_without_running(position) {
            let result = self.result(position, device_run.without_process(position, outcome));
            return device_run.finished(position, &result);
        }
        recorder.observer.started(position);
        let is_apart = device_run.is_apart(position);
        if is_apart {
            // A worker holds memory of the device, which a process of another program may need.
            self.leave(&mut turn);
        }
        let first = self.attempt(position);
        let ran = match first.attempt.outcome {
            Outcome::Crashed { .. } => self.rerun_after_foreign_crash(position, &mut turn, first),
            _ => self.repeat_if_disturbed(position, &mut turn, first),
        };
        let result = self.result(position, ran);
        let mut needs_probe = self.needs_probe(&result);
        if result.verdict.is_failure() {
            self.become_alone(position, &mut turn);
        }
        if result.is_of_reused_context() {
            // After an unexpected pass, there is one.
            self.leave(&mut turn);
        }
        let retry = Retry { device_run, position };
        let result = retry.run(result, |before| self.repeat(position, before, &mut needs_probe));
        device_run.finished(position, &result);
        let is_worn = |worker: &TestWorker| device_run.limits.is_worn(worker.tests);
        if is_apart || self.worker.as_ref().is_some_and(is_worn) {
            self.leave(&mut turn);
        }
        if needs_probe {
            device_run.probe(position);
        }
    }

    /// Waits until no other slot uses the device, unless none does. The test does not run meanwhile.
    fn become_alone(&self, position: usize, turn: &mut Turn<'a>) {
        if self.device_run.slots() > 1 && turn.is_shared() {
            let observer = self.device_run.state.recorder.observer;
            observer.waits(position);
            turn.become_alone();
            observer.started(position);
        }
    }

    /// Takes a result into account. Returns true after a timeout or an unexpected crash, and if a probe is due.
    fn needs_probe(&self, result: &TestResult) -> bool {
        let (health, is_expected) = (&self.device_run.limits.health, result.is_as_expected());
        let is_due = health.note(&result.test, &result.outcome, is_expected);
        match result.outcome {
            Outcome::TimedOut { .. } => true,
            Outcome::Crashed { .. } => is_due || !is_expected,
            _ => is_due,
        }
    }

    /// Runs a test again, alone on its device, if it went wrong and another slot has lost a worker since the last
    /// pass in this one: the loss may be the cause.
    fn repeat_if_disturbed(&mut self, position: usize, turn: &mut Turn<'a>, first: Ran) -> Ran {
        let device_run = self.device_run;
        if device_run.slots() == 1 || !turn.is_shared() || first.worker_survived {
            return first;
        }
        let result = self.result(position, first.clone());
        if !result.verdict.is_failure() {
            return first;
        }
        // The tests that ran meanwhile have ended then.
        self.become_alone(position, turn);
        if self.losses_elsewhere() == self.known_losses {
            return first;
        }
        let is_probe_due = self.needs_probe(&result);
        // Each loss is the reason of one repeat.
        self.known_losses = self.losses_elsewhere();
        let before = Finished { result, repeated: true };
        match self.again(position, before, is_probe_due) {
            Some(again) if !matches!(again.attempt.outcome, Outcome::NotRun { .. }) => again,
            _ => first,
        }
    }

    /// The number of tests in other slots that have lost their worker.
    fn losses_elsewhere(&self) -> usize {
        self.device_run.losses.load(Ordering::Relaxed) - self.losses
    }

    /// Runs a test again, alone in a fresh worker, if its worker has crashed and the crash is not known to be the
    /// test's.
    // quirk: DRIVER-14
    fn rerun_after_foreign_crash(
        &mut self,
        position: usize,
        turn: &mut Turn<'a>,
        mut ran: Ran,
    ) -> Ran {
        let device_run = self.device_run;
        let crash = &ran.attempt.outcome;
        // An expected crash has no other cause to be found.
        let expectation = device_run.expectation(position);
        let is_expected = expectation.is_some_and(|known| known.allows(crash));
        if ran.is_own_crash || !crash.is_own_crash() || is_expected {
            return ran;
        }
        self.become_alone(position, turn);
        device_run.limits.health.note(&device_run.id(position), crash, false);
        // It is not for its context that the test is repeated.
        ran.attempt.reused_context = None;
        let crashed = Finished { result: self.result(position, ran.clone()), repeated: true };
        let mut rerun = self.again(position, crashed, true).unwrap_or_else(|| {
            let reason = device_run.limits.end().unwrap_or_default();
            device_run.without_process(position, Outcome::NotRun { reason })
        });
        let Ended { outcome, duration, .. } = &rerun.attempt.ended;
        device_run.limits.hang_budget.add_rerun(outcome, *duration);
        rerun.is_own_crash |= outcome.is_own_crash();
        if !rerun.is_own_crash {
            device_run.record_worker_crash(ran, Some((position, outcome)));
        }
        rerun
    }

    /// Asks the worker to leave, and drops it. Records its end if it is none as it should be.
    fn leave(&mut self, turn: &mut Turn<'a>) {
        let device_run = self.device_run;
        let stop = device_run.state.stop;
        let Some(mut worker) = self.worker.take().filter(|_| device_run.may_go_on()) else {
            return;
        };
        let Some(last) = worker.last.back().copied() else { return };
        let begin = Instant::now();
        let outcome = match worker.worker.leave(&stop.signal) {
            Ok(()) => {
                let at = Instant::now();
                if device_run.config.settings.exit_check
                    && let Err(Some(outcome)) = worker.worker.exit(&stop.signal)
                {
                    device_run.limits.hang_budget.add(at.elapsed());
                    device_run.record_end("exit", outcome, last);
                }
                return;
            }
            Err(None) => return,
            Err(Some(outcome)) => outcome,
        };
        let mut words = worker.worker.last_words(outcome.clone());
        device_run.limits.hang_budget.add(begin.elapsed());
        words.before = worker.last.into();
        words.attempt.worker = Some(worker.number);
        drop(worker.worker);
        if device_run.slots() > 1 {
            turn.become_alone();
        }
        device_run.probe(last);
        if let Outcome::TimedOut { .. } = outcome {
            device_run.record_end("leave", outcome, last);
        } else if outcome.is_own_crash() {
            device_run.record_worker_crash(words, None);
        }
    }

    /// Runs a test again, as [`again`](Self::again) does. Returns `None` if there is no result.
    fn repeat(
        &mut self,
        position: usize,
        before: Finished,
        needs_probe: &mut bool,
    ) -> Option<TestResult> {
        let ran = self.again(position, before, std::mem::take(needs_probe))?;
        let result = self.result(position, ran);
        *needs_probe = self.needs_probe(&result);
        Some(result).filter(|result| result.verdict != Verdict::NotRun)
    }

    /// Records the result before, and runs the test again in the worker of the slot, or in a fresh one, after a
    /// probe if one is due, by which the device may be lost. Returns `None` if the device is not to be used any more.
    fn again(&mut self, position: usize, before: Finished, is_probe_due: bool) -> Option<Ran> {
        let device_run = self.device_run;
        device_run.state.recorder.repeated(position, before);
        if is_probe_due {
            device_run.probe(position);
        }
        device_run.may_go_on().then(|| self.attempt(position))
    }

    /// The attempt of a test whose worker does not start. Probes the device.
    fn without_worker(&self, position: usize, mut reason: String) -> Ran {
        self.device_run.probe(position);
        if let Some(lost) = self.device_run.limits.health.lost() {
            reason = lost.not_run();
        }
        self.device_run.without_process(position, Outcome::NotRun { reason })
    }

    /// Runs a test, and takes the loss of its worker into account.
    fn attempt(&mut self, position: usize) -> Ran {
        let losses_before = self.losses_elsewhere();
        let ran = match &self.device_run.entry(position).test {
            Case::Registered(test) => self.attempt_in_worker(test, position),
            Case::Outside(test) => self.device_run.attempt_outside(&**test, self.number, position),
        };
        let ran = ran.unwrap_or_else(|reason| self.without_worker(position, reason));
        match ran.attempt.outcome {
            Outcome::Passed => self.known_losses = losses_before,
            Outcome::Crashed { .. } | Outcome::TimedOut { .. } => {
                self.losses += 1;
                self.device_run.losses.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        ran
    }

    /// Runs a test in the worker of the slot, or in a fresh worker if there is none.
    ///
    /// # Errors
    ///
    /// The reason why no worker starts.
    fn attempt_in_worker(&mut self, test: &Test, position: usize) -> Result<Ran, String> {
        let worker = self.worker.take().map_or_else(|| self.device_run.start_worker(), Ok);
        let mut worker = worker?;
        let ran = self.device_run.attempt(&mut worker, self.number, test, position);
        // Else the worker is killed here: what went wrong in it must not touch the next test.
        self.worker = Some(worker).filter(|_| ran.worker_survived);
        Ok(ran)
    }

    fn result(&self, position: usize, ran: Ran) -> TestResult {
        let device_run = self.device_run;
        device_run.result(device_run.id(position), ran, device_run.expectation(position))
    }
}
