//! A slot of a device: a thread that hands one test after the other to a worker.
//!
//! A worker is used until a test goes wrong in it, or it has run as many as it may. It is asked to leave
//! before it is dropped.
//!
//! A crash may come later than its cause. The slot therefore reruns a crashed test alone, in a fresh
//! worker. If the test crashes again, the crash is its own. If not, the test gets the verdict of the rerun,
//! and the cause is looked for among the tests that its worker had run before ([`DelayedCrash`]). A
//! result is therefore final only when the next test has ended.

use std::thread;
use std::time::{Instant, SystemTime};

use crate::case::Case;
use crate::log::events::{Charged, Event, Left};
use crate::log::test_result::TestResult;
use crate::run::batch::{Batch, Known};
use crate::run::delayed_crash::{DelayedCrash, Search};
use crate::run::device_run::DeviceRun;
use crate::run::retry::Retry;
use crate::run::rounds::Taken;
use crate::run::state::Run;
use crate::run::test_worker::{Ran, TestWorker};
use crate::run::turn::Turn;
use crate::verdict::{Expectation, Outcome, Verdict, judge};
use crate::worker::parent::Attempt;

/// One worker's place and the thread that serves it.
pub(super) struct Slot<'a> {
    device_run: &'a DeviceRun<'a>,
    /// The number of this slot of the device, from 0.
    number: u32,
    /// The round of the running test.
    round: u32,
    worker: Option<TestWorker>,
    /// The last result of this worker, which a delayed crash may still change.
    unsettled: Option<(usize, TestResult)>,
    /// The tests of other programs.
    batch: Batch<'a>,
}

impl<'a> Slot<'a> {
    pub fn new(device_run: &'a DeviceRun<'a>, number: usize) -> Self {
        let number = number as u32;
        let batch = Batch::new(device_run, number);
        Self { device_run, number, round: 1, worker: None, unsettled: None, batch }
    }

    /// Runs tests until there are no more.
    pub fn work(mut self) {
        while let Some(taken) = self.batch.next().or_else(|| self.device_run.take()) {
            self.round = taken.round;
            let outcome = self.run(taken.position);
            self.device_run.rounds.end(taken, &outcome);
        }
        let mut turn = Turn::shared(&self.device_run.in_use);
        self.leave(&mut turn);
        self.settle();
    }

    /// Runs a test, or finds the reason why it is not run.
    fn run(&mut self, position: usize) -> Outcome {
        let device_run = self.device_run;
        let recorder = device_run.state.recorder;
        let entry = device_run.entry(position);
        let in_use = if entry.test.alone() { Turn::alone } else { Turn::shared };
        let mut turn = in_use(&device_run.in_use);
        let expectation = device_run.expectation(position);
        if !self.batch.has_run(position)
            && let Some(outcome) = device_run.outcome_without_running(entry, expectation.as_ref())
        {
            let attempt = Attempt::without_running(outcome);
            let result = self.result(position, attempt, expectation);
            recorder.finished(position, &result);
            device_run.settled(position, &result);
            return result.outcome;
        }
        recorder.begun(position);
        let first = self.first_attempt(position, &mut turn);
        let undisturbed = self.repeat_if_disturbed(position, &mut turn, first);
        let (attempt, history) = self.attribute_crash(position, &mut turn, undisturbed);
        let result = self.result(position, attempt, expectation);
        let mut needs_probe = self.needs_probe(&result);
        if device_run.slots() > 1 && result.verdict.is_failure() {
            self.wait_for_others(position, &mut turn);
        }
        if result.is_of_reused_context() {
            // After an unexpected pass, there is one.
            self.leave(&mut turn);
        }
        let retry = Retry { device_run, position, history };
        let result = retry.run(result, || self.repeat(position, &mut needs_probe));
        recorder.finished(position, &result);
        let outcome = result.outcome.clone();
        // Else the run would stop one test later.
        let Run { max_fail, repeat, .. } = device_run.state.run;
        let counts = (max_fail.is_some() || repeat.until_fail) && !result.is_as_expected();
        if let Some((position, previous)) = self.unsettled.replace((position, result)) {
            device_run.settled(position, &previous);
        }
        let most = device_run.config.settings.tests_per_worker;
        let is_worn = |worker: &TestWorker| most.is_some_and(|most| worker.tests >= most);
        if self.worker.as_ref().is_some_and(is_worn) {
            self.leave(&mut turn);
        }
        if self.worker.is_none() || counts {
            self.settle();
        }
        if needs_probe {
            device_run.probe(position);
        }
        drop(turn);
        outcome
    }

    /// Waits until no other slot uses the device. The test does not run meanwhile.
    fn wait_for_others(&self, position: usize, turn: &mut Turn<'a>) {
        let recorder = self.device_run.state.recorder;
        recorder.waits(position);
        turn.become_alone();
        recorder.begun(position);
    }

    /// Takes a result into account. Returns true if the worker was lost or a probe is due.
    fn needs_probe(&self, result: &TestResult) -> bool {
        let TestResult { test, outcome, .. } = result;
        let is_due = self.device_run.health.note(test, outcome, result.is_as_expected());
        is_due || matches!(outcome, Outcome::Crashed { .. } | Outcome::TimedOut { .. })
    }

    /// Runs a test again, alone on its device, if it went wrong near the loss of a worker in another slot.
    fn repeat_if_disturbed(
        &mut self,
        position: usize,
        turn: &mut Turn<'a>,
        first: (Attempt, Vec<Ran>),
    ) -> (Attempt, Vec<Ran>) {
        let device_run = self.device_run;
        if device_run.slots() == 1 || !turn.is_shared() || first.0.worker_survived {
            return first;
        }
        let expectation = device_run.expectation(position);
        let result = self.result(position, first.0.clone(), expectation);
        let Some(ended) = first.0.ended.filter(|_| result.verdict.is_failure()) else {
            return first;
        };
        if !device_run.was_disturbed(self.number, ended) {
            return first;
        }
        self.wait_for_others(position, turn);
        if self.needs_probe(&result) {
            device_run.probe(position);
        }
        if !device_run.may_go_on() {
            return first;
        }
        device_run.state.recorder.repeated(position, result);
        let again = self.attempt(position);
        match again.0.outcome {
            None | Some(Outcome::NotRun { .. }) => first,
            Some(_) => again,
        }
    }

    /// If a test has crashed after others in the same worker, finds out whose crash it is. Returns also
    /// the tests that the worker had run before, if it is not good for another test.
    fn attribute_crash(
        &mut self,
        position: usize,
        turn: &mut Turn<'a>,
        (attempt, history): (Attempt, Vec<Ran>),
    ) -> (Attempt, Vec<Ran>) {
        let device_run = self.device_run;
        let Some(crash @ Outcome::Crashed { how }) = &attempt.outcome else {
            return (attempt, history);
        };
        let expectation = device_run.expectation(position);
        // An expected crash has no other cause to be found.
        let is_expected = expectation.as_ref().is_some_and(|known| known.allows(crash));
        if !crash.is_own_crash() || history.is_empty() || is_expected {
            return (attempt, history);
        }
        if device_run.slots() > 1 {
            self.wait_for_others(position, turn);
        }
        device_run.health.note(&device_run.id(position), crash, false);
        device_run.probe(position);
        if !device_run.may_go_on() {
            return (attempt, history);
        }
        device_run.hang_budget.add_crash();
        let crash = self.result(position, attempt.clone(), expectation);
        device_run.state.recorder.repeated(position, crash);
        let (mut rerun, _) = self.attempt(position);
        if !matches!(rerun.outcome, Some(Outcome::TimedOut { .. })) {
            device_run.hang_budget.add(rerun.duration);
        }
        match rerun.outcome {
            // Its own, then.
            Some(Outcome::Crashed { .. }) => (rerun, Vec::new()),
            // Unknown, so it is charged to no other test.
            None | Some(Outcome::NotRun { .. }) => (attempt, history),
            Some(_) => {
                let how = how.clone();
                let (worker, victim) = (attempt.worker.unwrap_or_default(), Some(position));
                let at = attempt.ended.unwrap_or_else(Instant::now);
                let crash = DelayedCrash { device_run, how, at, worker, history, victim };
                if !self.attribute(crash, &attempt) {
                    rerun.reused_context = attempt.reused_context;
                }
                (rerun, Vec::new())
            }
        }
    }

    /// Charges a crash to its cause, and returns true. Without a cause, reports the crash, unless the context
    /// of another test may be the cause. `struck` is the execution that crashed.
    fn attribute(&mut self, crash: DelayedCrash<'_>, struck: &Attempt) -> bool {
        let device_run = self.device_run;
        let search = match crash.find_cause() {
            Search::Found(found) => Ok(found),
            Search::NotFound => Err("not reproduced"),
            Search::EndedEarly => Err("the search for its cause ended early"),
        };
        let found = match search {
            Ok(found) => found,
            Err(end) => {
                if struck.reused_context.is_none() {
                    device_run.record_unexplained(&crash, struck, end);
                }
                return false;
            }
        };
        let cause = crash.history[found];
        device_run.state.recorder.charged(Charged {
            test: device_run.id(cause.position),
            attempt: cause.attempt,
            by: crash.victim.map(|victim| device_run.id(victim)),
            by_attempt: crash.victim.map(|_| struck.number),
            why: crash.how.clone(),
        });
        let how = format!("{}; reproduced in a fresh worker", crash.of_cause());
        let outcome = Outcome::Crashed { how };
        let expectation = device_run.expectation(cause.position);
        let is_cause = |unsettled: &mut (usize, TestResult)| {
            unsettled.0 == cause.position && unsettled.1.attempt == cause.attempt
        };
        match self.unsettled.take_if(is_cause) {
            Some((position, mut result)) => {
                result.verdict = judge(&outcome, expectation.as_ref());
                result.outcome = outcome;
                result.tolerated = false;
                result.broken_by = None;
                result.reused_context = None;
                result.stdout += &struck.stdout;
                result.stderr += &struck.stderr;
                result.stacks.clone_from(&struck.stacks);
                device_run.state.recorder.finished(position, &result);
                device_run.settled(position, &result);
            }
            None => device_run.settled_late(TestResult {
                attempt: cause.attempt,
                round: cause.round,
                worker: Some(crash.worker),
                slot: Some(self.number),
                duration: cause.duration,
                stdout: struck.stdout.clone(),
                stderr: struck.stderr.clone(),
                stacks: struck.stacks.clone(),
                ..TestResult::new(
                    device_run.id(cause.position),
                    SystemTime::now() - cause.started.elapsed(),
                    outcome,
                    expectation,
                )
            }),
        }
        true
    }

    /// Asks the worker to leave, and drops it. If the worker dies of an earlier test meanwhile, attributes
    /// the crash.
    fn leave(&mut self, turn: &mut Turn<'a>) {
        let device_run = self.device_run;
        let stop = device_run.state.stop;
        let Some(mut worker) = self.worker.take().filter(|_| device_run.may_go_on()) else {
            return;
        };
        let Some(last) = worker.history.last().copied() else { return };
        let begin = Instant::now();
        let left = worker.worker.leave(stop.signal());
        device_run.state.recorder.record(Event::Left(Left {
            worker: worker.number,
            tests: worker.tests as u32,
            duration: begin.elapsed(),
        }));
        let at = Instant::now();
        let outcome = match left {
            Ok(()) => {
                if device_run.config.settings.exit_check
                    && let Err(Some(outcome)) = worker.worker.exit(stop.signal())
                {
                    device_run.hang_budget.add(at.elapsed());
                    device_run.record_end("exit", outcome, &[last.position]);
                }
                return;
            }
            Err(None) => return,
            Err(Some(outcome)) => outcome,
        };
        let struck = worker.worker.last_words();
        let at = struck.ended.unwrap_or(at);
        device_run.hang_budget.add(at.duration_since(begin));
        let TestWorker { worker, number, history, .. } = worker;
        drop(worker);
        if device_run.slots() > 1 {
            turn.become_alone();
        }
        device_run.probe(last.position);
        if !outcome.is_own_crash() {
            if let Outcome::TimedOut { .. } = outcome {
                device_run.record_end("leave", outcome, &[last.position]);
            }
            return;
        }
        let how = outcome.to_string();
        let crash = DelayedCrash { device_run, how, at, worker: number, history, victim: None };
        device_run.hang_budget.add_crash();
        self.attribute(crash, &struck);
    }

    /// Runs a test alone in a fresh worker, after a probe if one is due. Returns `None` if there is no
    /// result.
    fn repeat(&mut self, position: usize, needs_probe: &mut bool) -> Option<TestResult> {
        let device_run = self.device_run;
        if std::mem::take(needs_probe) {
            device_run.probe(position);
        }
        if !device_run.may_go_on() {
            return None;
        }
        let (attempt, _) = self.attempt(position);
        let expectation = device_run.expectation(position);
        let result = self.result(position, attempt, expectation);
        *needs_probe = self.needs_probe(&result);
        Some(result).filter(|result| result.verdict != Verdict::NotRun)
    }

    /// Runs a test for the first time: one of another program in one process with the next tests of it.
    fn first_attempt(&mut self, position: usize, turn: &mut Turn<'a>) -> (Attempt, Vec<Ran>) {
        let device_run = self.device_run;
        if let Case::Outside(test) = &device_run.entry(position).test
            && !self.batch.has_run(position)
        {
            // A worker holds memory of the device.
            self.leave(turn);
            let found = device_run.find_device();
            drop(device_run.take_probed());
            match found {
                Ok(()) => self.batch.run_with_next(test, Taken { position, round: self.round }),
                Err(reason) => return self.without_worker(position, reason),
            }
        }
        self.attempt(position)
    }

    /// The attempt of a test whose worker does not start. Probes the device.
    fn without_worker(&self, position: usize, mut reason: String) -> (Attempt, Vec<Ran>) {
        self.device_run.probe(position);
        if let Some(lost) = self.device_run.health.lost() {
            reason = lost.not_run();
        }
        (Attempt::without_running(Outcome::NotRun { reason }), Vec::new())
    }

    /// Runs a test in the worker of the slot, or in a fresh worker if there is none. Returns also the tests
    /// that the worker had run before, if it is not good for another test.
    fn attempt(&mut self, position: usize) -> (Attempt, Vec<Ran>) {
        let device_run = self.device_run;
        let taken = Taken { position, round: self.round };
        let Case::Registered(test) = &device_run.entry(position).test else {
            let Known { attempt, history } = self.batch.attempt(taken);
            return (attempt, history);
        };
        let contexts = device_run.config.settings.contexts;
        let worker = self.worker.take().map_or_else(|| device_run.start_worker(contexts), Ok);
        let mut worker = match worker {
            Ok(worker) => worker,
            Err(reason) => return self.without_worker(position, reason),
        };
        let attempt = device_run.attempt(&mut worker, self.number, test, taken);
        // With stacks, the loss is noted before they are taken.
        if let Some(Outcome::Crashed { .. } | Outcome::TimedOut { .. }) = attempt.outcome
            && attempt.stacks.is_none()
        {
            device_run.note_loss(self.number);
        }
        if attempt.worker_survived {
            self.worker = Some(worker);
            return (attempt, Vec::new());
        }
        // The worker is killed here: what went wrong in it must not touch the next test.
        worker.history.pop();
        (attempt, worker.history)
    }

    fn settle(&mut self) {
        if let Some((position, result)) = self.unsettled.take() {
            self.device_run.settled(position, &result);
        }
    }

    fn result(
        &self,
        position: usize,
        attempt: Attempt,
        expectation: Option<Expectation>,
    ) -> TestResult {
        let outcome = attempt
            .outcome
            .unwrap_or_else(|| Outcome::NotRun { reason: self.device_run.state.stop.reason() });
        let started = attempt.started.unwrap_or_else(SystemTime::now);
        let result = TestResult {
            attempt: attempt.number,
            round: self.round,
            worker: attempt.worker,
            slot: attempt.worker.map(|_| self.number),
            duration: attempt.duration,
            stdout: attempt.stdout,
            stderr: attempt.stderr,
            reused_context: attempt.reused_context,
            properties: attempt.properties,
            left_behind: attempt.left_behind,
            resident: attempt.resident,
            stacks: attempt.stacks,
            ..TestResult::new(self.device_run.id(position), started, outcome, expectation)
        };
        TestResult { tolerated: self.device_run.tolerates(&result), ..result }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.device_run.rounds.abandon(1 + self.batch.len());
        }
    }
}
