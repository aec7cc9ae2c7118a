//! A slot of a device: a thread that hands one test after the other to a worker.
//!
//! A worker is used until a test ends it, or it has run as many tests as it may. It is asked to leave before it is
//! dropped. For each test, the slot requests the next step ([`Situation::next`]), takes it, and records the changes.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::case::Case;
use crate::registry::Test;
use crate::result::{Attempt, Blame, NotRunReason, TestResult, WorkerEnd};
use crate::run::decision::{Next, Situation, Tried};
use crate::run::{DeviceRun, Entry};
use crate::verdict::{Outcome, Verdict};
use crate::worker::parent::Worker;
use crate::worker::{ProcessAttempt, WorkerAfter};

/// The place of one worker, and its thread.
pub(super) struct Slot<'r, 'a> {
    device_run: &'r DeviceRun<'a>,
    /// The number of this slot of the device, from 0.
    number: u32,
    worker: Option<TestWorker<'a>>,
    /// The number of tests of this slot that have lost their worker.
    losses: usize,
    /// The number of losses in other slots that cannot be the cause of a failure: those before the last pass in this
    /// slot, and those that had a test repeated.
    known_losses: usize,
}

impl<'r, 'a> Slot<'r, 'a> {
    pub fn new(device_run: &'r DeviceRun<'a>, number: usize) -> Self {
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
        let mut turn = Turn::new(&self.device_run.in_use, false);
        self.leave(&mut turn);
    }

    /// Runs a test, or finds the reason why it is not run.
    fn run(&mut self, position: Entry) {
        let device_run = self.device_run;
        // Before its turn: a slot that waits for a permit must not keep others from the device.
        let _permit = device_run.permit(position);
        let is_alone = device_run.slots() == 1 || device_run.state.run.is_alone(position);
        let mut turn = Turn::new(&device_run.in_use, is_alone);
        let before = device_run.state.run.so_far.unfinished.get(&position);
        let mut course = Course::new(position, before.cloned().unwrap_or_default());
        if let Some(outcome) = device_run.outcome_without_running(position) {
            if course.tried.is_empty() {
                let attempt = device_run.without_process(position, outcome).attempt;
                return device_run.finished(position, &self.result(position, attempt));
            }
            course.is_over = true;
        }
        device_run.state.recorder.observer.started(position);
        loop {
            match self.situation(&course, &turn).next() {
                Next::Run(pause) => self.attempt(&mut course, &turn, pause),
                Next::BecomeAlone => self.become_alone(position, &mut turn),
                Next::Charge(blame) => self.charge(&mut course, blame),
                Next::ChargeWorker => {
                    self.charge(&mut course, Blame::Test);
                    let (first, repeat) = (&course.tried[0].result, &course.tried[1].result);
                    let running = Some((position, &repeat.attempt.outcome));
                    let crashed = first.attempt.clone();
                    device_run.record_worker_crash(crashed, &course.tried[0].before, running);
                }
                Next::Repeat => {
                    let result = course.tried.last().expect("an attempt").result.clone();
                    device_run.state.recorder.repeated(position, result);
                    course.is_repeat_recorded = true;
                }
                Next::Probe => {
                    course.is_probe_due = false;
                    device_run.probe(position);
                    // Beside other slots, a fill may wait for theirs.
                    if course.hangs && !turn.is_shared() {
                        device_run.probe_gate();
                    }
                }
                Next::DropWorker => self.leave(&mut turn),
                Next::Final(verdict) => {
                    let mut result = course.take_result();
                    if verdict == Verdict::NotRun && result.verdict != verdict {
                        let outcome = Outcome::NotRun { reason: device_run.state.stop.not_run() };
                        let attempt = device_run.without_process(position, outcome).attempt;
                        result = self.result(position, attempt);
                    }
                    if verdict == Verdict::Flaky {
                        let is_pass = result.attempt.outcome == Outcome::Passed;
                        device_run.make_flaky(&mut result, is_pass);
                    }
                    device_run.finished(position, &result);
                    course.is_final = true;
                }
                Next::Done => return,
            }
        }
    }

    /// Returns the facts that decide the next step.
    fn situation<'c>(&self, course: &'c Course, turn: &Turn<'_>) -> Situation<'c>
    where
        'a: 'c,
    {
        let device_run = self.device_run;
        let worker = self.worker.as_ref();
        let tests_per_worker = device_run.config.settings.tests_per_worker;
        Situation {
            attempts: &course.tried,
            retries: &device_run.settings(course.position).retries,
            is_alone: !turn.is_shared(),
            is_apart: device_run.is_apart(course.position),
            has_worker: worker.is_some(),
            is_worn: worker
                .zip(tests_per_worker)
                .is_some_and(|(worker, most)| worker.tests >= most),
            has_loss_beside: self.losses_elsewhere() != self.known_losses,
            has_repeated_timeout: device_run.has_repeated_timeout.load(Ordering::Relaxed),
            is_probe_due: course.is_probe_due,
            is_stopped: device_run.state.stop.is_set(),
            is_over: course.is_over || !device_run.may_go_on(),
            is_repeat_recorded: course.is_repeat_recorded,
            is_final: course.is_final,
        }
    }

    /// Records the cause of the last outcome. The losses in other slots so far are the cause of one outcome in this
    /// slot, and of one timeout on the device.
    fn charge(&mut self, course: &mut Course, blame: Blame) {
        if blame == Blame::OtherSlot {
            self.known_losses = self.losses_elsewhere();
            if course.hangs {
                self.device_run.has_repeated_timeout.store(true, Ordering::Relaxed);
            }
        }
        course.tried.last_mut().expect("an attempt").charge(blame);
    }

    /// Waits until no other slot uses the device. The test does not run meanwhile.
    fn become_alone(&self, position: Entry, turn: &mut Turn<'r>) {
        let observer = self.device_run.state.recorder.observer;
        observer.waits(position);
        turn.become_alone();
        observer.started(position);
    }

    /// Records a result. Returns true after a timeout, unless the test waited in vain, after an unexpected crash, and
    /// if a probe is due.
    fn needs_probe(&self, result: &TestResult, waits_in_vain: bool) -> bool {
        let (health, is_expected) = (&self.device_run.health, result.is_as_expected());
        let is_due = health.note(&result.test, &result.attempt.outcome, is_expected);
        match result.attempt.outcome {
            Outcome::TimedOut { .. } => is_due || !waits_in_vain,
            Outcome::Crashed { .. } => is_due || !is_expected,
            Outcome::Passed
            | Outcome::Failed { .. }
            | Outcome::Skipped { .. }
            | Outcome::Ignored { .. }
            | Outcome::NotRun { .. } => is_due,
        }
    }

    /// Returns the number of tests in other slots that have lost their worker.
    fn losses_elsewhere(&self) -> usize {
        self.device_run.losses.load(Ordering::Relaxed) - self.losses
    }

    /// Asks the worker to leave, and drops it. Records a wrong end.
    fn leave(&mut self, turn: &mut Turn<'r>) {
        let device_run = self.device_run;
        let stop = device_run.state.stop;
        let Some(mut worker) = self.worker.take().filter(|_| device_run.may_go_on()) else {
            return;
        };
        let Some(last) = worker.last.back().copied() else { return };
        let begin = Instant::now();
        let Some(outcome) = worker.worker.leave() else {
            let at = Instant::now();
            if device_run.config.settings.exit_check
                && !stop.is_set()
                && let Some(outcome) = worker.worker.exit()
            {
                device_run.hang_budget.add(at.elapsed());
                device_run.record_end(WorkerEnd::Exit, outcome, last);
            }
            return;
        };
        let mut words = worker.worker.last_words(outcome.clone());
        device_run.hang_budget.add(begin.elapsed());
        words.worker = Some(worker.number);
        let before: Vec<Entry> = worker.last.into();
        drop(worker.worker);
        turn.become_alone();
        device_run.probe(last);
        if let Outcome::TimedOut { .. } = outcome {
            device_run.record_end(WorkerEnd::Leave, outcome, last);
        } else if outcome.is_own_crash() {
            device_run.record_worker_crash(words, &before, None);
        }
    }

    /// Returns the attempt of a test whose worker does not start. Probes the device.
    fn without_worker(&self, position: Entry, mut reason: NotRunReason) -> ProcessAttempt {
        self.device_run.probe(position);
        if let Some(lost) = self.device_run.health.lost.get() {
            reason = lost.not_run();
        }
        self.device_run.without_process(position, Outcome::NotRun { reason })
    }

    /// Runs a test, or repeats it after a pause, and records the loss of its worker. A repeat that cannot begin is not an
    /// attempt.
    fn attempt(&mut self, course: &mut Course, turn: &Turn<'_>, pause: Duration) {
        let (device_run, position) = (self.device_run, course.position);
        let is_repeat = !course.tried.is_empty();
        if is_repeat {
            device_run.state.stop.wait(pause);
            if !device_run.may_go_on() {
                return;
            }
        }
        let losses_before = self.losses_elsewhere();
        let worker = self.worker.as_ref();
        let before = worker.map_or_else(Vec::new, |worker| worker.last.iter().copied().collect());
        let worker = worker.map_or(WorkerAfter::Clean, |worker| worker.worker.after);
        let ran = match &device_run.entry(position).test {
            Case::Registered(test) => self.attempt_in_worker(test, position),
            Case::Outside(test) => device_run.attempt_outside(&**test, self.number, position),
        };
        let ProcessAttempt { attempt, is_on_thread, waits_in_vain, .. } =
            ran.unwrap_or_else(|reason| self.without_worker(position, reason));
        match attempt.outcome {
            Outcome::Passed => self.known_losses = losses_before,
            Outcome::Crashed { .. } | Outcome::TimedOut { .. } => {
                self.losses += 1;
                device_run.losses.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::NotRun { .. } if is_repeat => return course.is_over = true,
            Outcome::Failed { .. }
            | Outcome::Skipped { .. }
            | Outcome::Ignored { .. }
            | Outcome::NotRun { .. } => {}
        }
        let result = self.result(position, attempt);
        course.is_probe_due |= self.needs_probe(&result, waits_in_vain);
        course.is_repeat_recorded = false;
        course.hangs = matches!(result.attempt.outcome, Outcome::TimedOut { .. });
        let (tried, is_beside_others) = (Tried::new(result), turn.is_shared());
        course.tried.push(Tried { worker, before, is_beside_others, is_on_thread, ..tried });
    }

    /// Runs a test in the worker of the slot, or in a fresh worker if there is none.
    ///
    /// # Errors
    ///
    /// The reason why no worker starts.
    fn attempt_in_worker(
        &mut self,
        test: &Test,
        position: Entry,
    ) -> Result<ProcessAttempt, NotRunReason> {
        let worker = self.worker.take().map_or_else(|| self.device_run.start_worker(true), Ok);
        let mut worker = worker?;
        let ran = self.device_run.attempt(&mut worker, self.number, test, position);
        // Else the worker is killed here: its fault must not affect the next test.
        self.worker = Some(worker).filter(|_| ran.after != WorkerAfter::Spent);
        Ok(ran)
    }

    fn result(&self, position: Entry, attempt: Attempt) -> TestResult {
        let device_run = self.device_run;
        device_run.result(device_run.id(position), attempt, device_run.expectation(position))
    }
}

/// The most tests that a worker remembers.
const REMEMBERED: usize = 30;

/// A worker that runs tests.
pub(super) struct TestWorker<'a> {
    pub worker: Worker<'a>,
    /// Its number, unique in the run.
    pub number: u32,
    /// The number of tests that it has run.
    pub tests: usize,
    /// The positions of the last tests that it has run, in their order.
    pub last: VecDeque<Entry>,
}

impl<'a> TestWorker<'a> {
    pub fn new(mut worker: Worker<'a>, number: u32) -> Self {
        worker.takes_stacks = true;
        Self { worker, number, tests: 0, last: VecDeque::new() }
    }

    /// Adds a test that has run.
    pub fn has_run(&mut self, position: Entry) {
        self.tests += 1;
        remember(&mut self.last, position);
    }
}

fn remember(last: &mut VecDeque<Entry>, position: Entry) {
    if last.len() == REMEMBERED {
        last.pop_front();
    }
    last.push_back(position);
}

/// The course of a test through its attempts, in its slot.
#[derive(Default)]
struct Course {
    /// The position of the test in the plan.
    position: Entry,
    /// The attempts so far; none after the result is taken.
    tried: Vec<Tried>,
    /// True if the last attempt did not end.
    hangs: bool,
    is_probe_due: bool,
    /// True if no other attempt can begin.
    is_over: bool,
    is_repeat_recorded: bool,
    is_final: bool,
}

impl Course {
    /// Begins with the attempts before a cut, the last of which is repeated.
    fn new(position: Entry, before_cut: Vec<TestResult>) -> Self {
        let is_repeat_recorded = !before_cut.is_empty();
        // Most tests have one attempt.
        let mut tried = Vec::with_capacity(1);
        tried.extend(before_cut.into_iter().map(Tried::before_cut));
        Self { position, is_repeat_recorded, tried, ..Self::default() }
    }

    /// Takes the result: the last attempt, with the others.
    fn take_result(&mut self) -> TestResult {
        let last = self.tried.pop().expect("an attempt").result;
        let earlier = self.tried.drain(..).map(|tried| tried.result).collect();
        TestResult { earlier, ..last }
    }
}

/// The use of a device by a slot, until it is dropped.
struct Turn<'a> {
    device: &'a RwLock<()>,
    shared: Option<RwLockReadGuard<'a, ()>>,
    alone: Option<RwLockWriteGuard<'a, ()>>,
}

impl<'a> Turn<'a> {
    /// Waits until no other slot uses the device alone, or with `is_alone`, until no other slot uses it.
    fn new(device: &'a RwLock<()>, is_alone: bool) -> Self {
        let (shared, alone) =
            ((!is_alone).then(|| device.read()), is_alone.then(|| device.write()));
        Self { device, shared, alone }
    }

    /// Returns whether other slots may use the device, too.
    fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Waits until no other slot uses the device. Others may use it before.
    fn become_alone(&mut self) {
        self.shared = None;
        self.alone.get_or_insert_with(|| self.device.write());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thirty_tests_are_remembered() {
        let mut last = VecDeque::new();
        (0..31).for_each(|position| remember(&mut last, Entry(position)));
        assert!(last.into_iter().eq((1..31).map(Entry)));
    }
}
