//! One device while its tests run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::case::Case;
use crate::config::{Contexts, Leaks, Leftovers, UnexpectedPass};
use crate::devices::TestDevice;
use crate::devices::run_device::HOST;
use crate::devices::selection::NO_DEVICE_FOUND;
use crate::expected_statuses::ExpectedStatuses;
use crate::log::events::{
    self, Event, LeakCheck, Probed, SeesOthers, Started, TestName, WorkerStarted,
};
use crate::log::test_result::{OF_WORKER, TestResult, left_behind_text};
use crate::registry::{Ignore, Test};
use crate::run::delayed_crash::DelayedCrash;
use crate::run::hang_budget::HangBudget;
use crate::run::health::Health;
use crate::run::plan::Planned;
use crate::run::rounds::{Rounds, Taken};
use crate::run::state::{Run, RunState, WorkerConfig};
use crate::run::test_worker::{Ran, TestWorker};
use crate::stacks::Stacks;
use crate::text::counted;
use crate::verdict::{Expectation, Outcome, Verdict, judge};
use crate::worker::leak_search::LeakSearch;
use crate::worker::object_kind::ObjectKind;
use crate::worker::parent::{
    Attempt, FIRST_PROBE_LIMIT, PROBE_LIMIT, START_LIMIT, Worker, WorkerLost,
};

/// After so many workers in a row that did not start, a device is given up. After so many in a row that
/// could not be prepared, workers are not prepared.
const START_TRIES: usize = 2;

/// The time between a result and the loss of a worker in another slot that may be its cause.
const NEAR: Duration = Duration::from_secs(1);

/// The most ends that went wrong of which the output of their result has a line. Each further end makes the log
/// longer by as many lines.
const SHOWN_ENDS: usize = 20;

/// After so many probes in a row that fail, a device is lost.
const PROBES: usize = 2;

/// The tests of one device, and the state that its slots share.
pub(super) struct DeviceRun<'a> {
    pub state: &'a RunState<'a>,
    pub config: &'a WorkerConfig,
    /// `None` for tests that need none.
    device: Option<&'a TestDevice>,
    pub rounds: Rounds,
    /// True after an unexpected result.
    has_failed: AtomicBool,
    /// Held by each slot while its worker is busy: for writing if its test runs alone, else for reading.
    pub in_use: RwLock<()>,
    /// The slots that lost a worker in a test, and the times.
    losses: Mutex<Vec<(u32, Instant)>>,
    pub health: Health,
    pub hang_budget: HangBudget,
    /// The worker of the last good probe, until a slot needs a worker.
    probed: Mutex<Option<Worker>>,
    /// The crashes without a known cause.
    unexplained: Mutex<Unexplained>,
    /// The ends that went wrong, by the name of their result: their number, and a line for each of the first.
    ends: Mutex<HashMap<&'static str, (usize, String)>>,
    /// True if the properties of the device are recorded.
    is_characterized: Mutex<bool>,
    /// The kinds of objects that the driver counts, once they are known.
    counted: OnceLock<Vec<ObjectKind>>,
    /// True if a worker has found the device.
    is_found: AtomicBool,
    failed_starts: AtomicUsize,
    /// True if the log says that the workers see the other devices of their driver.
    others_are_seen: AtomicBool,
    /// Workers in a row that were lost when they made their first context.
    failed_preparations: AtomicUsize,
}

/// The crashes without a known cause: a line, and the candidates, of each.
#[derive(Default)]
struct Unexplained {
    how: Vec<String>,
    candidates: Vec<String>,
}

/// The end of a replay.
pub(super) struct Replayed {
    /// The number of tests that ran.
    pub ran: usize,
    /// The outcome of the last of them; a crash if the worker died afterwards.
    pub outcome: Outcome,
}

impl<'a> DeviceRun<'a> {
    pub fn new(
        state: &'a RunState<'a>,
        config: &'a WorkerConfig,
        device: Option<&'a TestDevice>,
        entries: Vec<usize>,
    ) -> Self {
        let Run { seed, repeat, so_far, .. } = state.run;
        Self {
            state,
            config,
            device,
            rounds: Rounds::new(entries, *seed, repeat.most(), so_far.left_out()),
            has_failed: AtomicBool::new(false),
            in_use: RwLock::new(()),
            losses: Mutex::default(),
            health: Health::default(),
            hang_budget: HangBudget::new(config.settings.hang_budget),
            probed: Mutex::default(),
            unexplained: Mutex::default(),
            ends: Mutex::default(),
            is_characterized: Mutex::new(false),
            counted: OnceLock::new(),
            is_found: AtomicBool::new(false),
            failed_starts: AtomicUsize::new(0),
            others_are_seen: AtomicBool::new(false),
            failed_preparations: AtomicUsize::new(0),
        }
    }

    /// The number of slots that have work.
    pub fn slots(&self) -> usize {
        self.config.settings.slots.min(self.rounds.tests())
    }

    /// Takes the next test. Later rounds end without a trace where tests of the first are not run.
    pub fn take(&self) -> Option<Taken> {
        let taken = self.rounds.take(|| self.may_go_on() && self.end_of_repeat().is_none());
        let RunState { run, recorder, stop, .. } = self.state;
        // A stop does not cut short rounds without a number.
        let lacks_rounds = run.repeat.rounds.is_some() || !stop.is_requested();
        let is_over = taken.is_none() && self.end_of_repeat().is_none();
        if is_over && lacks_rounds && self.rounds.are_cut_short() {
            recorder.rounds_are_cut_short();
        }
        taken
    }

    /// Returns the reason why no more tests are started, if the rounds have ended.
    fn end_of_repeat(&self) -> Option<String> {
        let RunState { run, started, .. } = self.state;
        run.repeat.end(started.elapsed(), self.has_failed.load(Ordering::Relaxed))
    }

    /// Takes into account that a slot has lost its worker in a test.
    pub fn note_loss(&self, slot: u32) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        losses.push((slot, Instant::now()));
    }

    /// Returns whether another slot has lost a worker within a second before or after the end of a test of this
    /// slot, which may have been long ago in a batch. If so, forgets the losses of this slot near that time: of
    /// two slots, only one can be disturbed by the other.
    pub fn was_disturbed(&self, slot: u32, ended: Instant) -> bool {
        thread::sleep(NEAR.saturating_sub(ended.elapsed()));
        let is_near = |time: Instant| {
            time.saturating_duration_since(ended).max(ended.saturating_duration_since(time)) <= NEAR
        };
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        let was_disturbed = losses.iter().any(|(other, time)| *other != slot && is_near(*time));
        if was_disturbed {
            losses.retain(|(other, time)| *other != slot || !is_near(*time));
        }
        was_disturbed
    }

    /// The entry at a position of the plan.
    pub fn entry(&self, position: usize) -> &'a Planned {
        &self.state.run.plan.entries[position]
    }

    /// Returns whether the test at a position of the plan is one of another program.
    pub fn is_outside(&self, position: usize) -> bool {
        matches!(self.entry(position).test, Case::Outside(_))
    }

    /// The id of the test at a position of the plan.
    pub fn id(&self, position: usize) -> String {
        self.state.run.plan.id(self.entry(position))
    }

    /// The device part of ids.
    fn device_id(&self) -> &str {
        self.device.map_or(HOST, |device| &device.run.id)
    }

    /// The expectation for the test at a position of the plan.
    pub fn expectation(&self, position: usize) -> Option<Expectation> {
        (self.state.run.expectation)(self.entry(position))
    }

    /// The time limit of the test at a position of the plan.
    pub fn limit(&self, position: usize) -> Duration {
        let expected = self.expectation(position).and_then(|expectation| expectation.timeout);
        let limits = [self.entry(position).test.timeout(), expected];
        self.config.settings.limit(limits.into_iter().flatten())
    }

    /// Returns whether the run may succeed with this result, although it is an unexpected pass.
    pub fn tolerates(&self, result: &TestResult) -> bool {
        let was_to_be_skipped = result.expected_status.is_some_and(ExpectedStatuses::is_skip);
        result.verdict == Verdict::UnexpectedPass
            && (was_to_be_skipped || self.state.run.unexpected_pass == UnexpectedPass::Report)
    }

    /// Returns the outcome of a test that is not to be run.
    pub fn outcome_without_running(
        &self,
        entry: &Planned,
        expectation: Option<&Expectation>,
    ) -> Option<Outcome> {
        let RunState { run, stop, .. } = self.state;
        if stop.is_requested() {
            return Some(Outcome::NotRun { reason: stop.reason() });
        }
        if !run.include_ignored {
            match entry.test.ignore() {
                Ignore::No => {}
                Ignore::Yes => return Some(Outcome::Ignored { reason: None }),
                Ignore::Because(reason) => {
                    return Some(Outcome::Ignored { reason: Some(reason.to_owned()) });
                }
            }
        }
        if let Case::Outside(test) = &entry.test
            && let Some(reason) = test.list_error()
        {
            return Some(Outcome::Failed { message: reason.to_owned(), location: None });
        }
        if let Some(lost) = self.health.lost() {
            return Some(Outcome::NotRun { reason: lost.not_run() });
        }
        if let Some(reason) = self.hang_budget.is_spent().or_else(|| self.end_of_repeat()) {
            return Some(Outcome::NotRun { reason });
        }
        if entry.lacks_device() {
            return Some(Outcome::NotRun { reason: NO_DEVICE_FOUND.to_owned() });
        }
        let missing = |device: &TestDevice| entry.test.missing(&device.run.info);
        if let Some(reason) = self.device.and_then(missing) {
            return Some(Outcome::Skipped { reason });
        }
        expectation
            .filter(|expectation| expectation.statuses.is_skip() && !run.run_skipped)
            .map(|expectation| Outcome::Skipped { reason: expectation.reason.clone() })
    }

    /// Starts a worker that has its baseline, and whose tests have these contexts. If the driver fails at
    /// that, starts one without, so that the fault shows in the tests.
    ///
    /// # Errors
    ///
    /// The reason why tests are not run.
    pub fn start_worker(&self, contexts: Contexts) -> Result<TestWorker, String> {
        self.start(|| self.start_prepared_worker(contexts))
    }

    /// Starts a worker and records the start, unless the device was given up.
    fn start(
        &self,
        start: impl FnOnce() -> Result<TestWorker, String>,
    ) -> Result<TestWorker, String> {
        if self.failed_starts.load(Ordering::Relaxed) >= START_TRIES {
            return Err("the device was given up: its workers do not start any more".to_owned());
        }
        let (time, begin) = (SystemTime::now(), Instant::now());
        let started = start();
        self.state.recorder.record(Event::WorkerStarted(WorkerStarted {
            device: self.device_id().to_owned(),
            worker: started.as_ref().ok().map(|worker| worker.number),
            time,
            duration: begin.elapsed(),
            error: started.as_ref().err().cloned(),
        }));
        started
    }

    fn start_prepared_worker(&self, contexts: Contexts) -> Result<TestWorker, String> {
        let mut started = self.start_unprepared_worker()?;
        let failed = &self.failed_preparations;
        if failed.load(Ordering::Relaxed) >= START_TRIES {
            return Ok(started);
        }
        let begin = Instant::now();
        if self.prepare(&mut started.worker, contexts).is_ok() {
            failed.store(0, Ordering::Relaxed);
            return Ok(started);
        }
        self.hang_budget.add(begin.elapsed());
        failed.fetch_add(1, Ordering::Relaxed);
        drop(started);
        self.start_unprepared_worker()
    }

    /// Prepares a worker. The first worker of the device finds out which objects the driver counts. If
    /// the driver ends that worker, the others do not ask again.
    fn prepare(&self, worker: &mut Worker, contexts: Contexts) -> Result<(), WorkerLost> {
        let search = self.leak_search();
        let is_unknown = search == LeakSearch::Unknown;
        let prepared = worker.prepare(search, contexts, self.state.stop.signal());
        match &prepared {
            Ok(Some(counted)) if is_unknown => self.record_leak_check(counted.clone(), None),
            Err(WorkerLost::Failed(reason)) if is_unknown => {
                self.record_leak_check(Vec::new(), Some(reason.clone()));
            }
            _ => {}
        }
        prepared.map(drop)
    }

    fn leak_search(&self) -> LeakSearch {
        if self.config.settings.leaks == Leaks::Off || self.device.is_none() {
            return LeakSearch::Off;
        }
        self.counted.get().cloned().map_or(LeakSearch::Unknown, LeakSearch::Known)
    }

    fn record_leak_check(&self, counted: Vec<ObjectKind>, error: Option<String>) {
        if self.counted.set(counted.clone()).is_ok() {
            let device = self.device_id().to_owned();
            let check = LeakCheck { device, counted, error };
            self.state.recorder.record(Event::LeakCheck(check));
        }
    }

    /// Starts a worker if none has been started, which finds the device and has its properties. Tests of other
    /// programs need this once.
    ///
    /// # Errors
    ///
    /// The reason why tests are not run.
    pub fn find_device(&self) -> Result<(), String> {
        match self.is_found.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.start(|| self.start_unprepared_worker()).map(drop),
        }
    }

    fn start_unprepared_worker(&self) -> Result<TestWorker, String> {
        let RunState { recorder, stop, .. } = self.state;
        let failed = &self.failed_starts;
        let begin = Instant::now();
        let started = match self.take_probed() {
            Some(worker) => Ok(worker),
            None => self.config.commands.start(START_LIMIT, stop.signal()),
        };
        self.note_others_are_seen();
        match started {
            Ok(worker) => {
                failed.store(0, Ordering::Relaxed);
                self.is_found.store(true, Ordering::Relaxed);
                let number = recorder.number_worker();
                // The worker may die while it is characterized; the next worker is not asked again.
                self.characterized(worker).map_or_else(
                    || self.start_unprepared_worker(),
                    |worker| Ok(TestWorker::new(worker, number)),
                )
            }
            Err(lost) => Err(match lost.reason() {
                None => stop.reason(),
                Some(reason) => {
                    self.hang_budget.add(begin.elapsed());
                    failed.fetch_add(1, Ordering::Relaxed);
                    format!("no worker could be started: {reason}")
                }
            }),
        }
    }

    /// Records, once, that a worker did not find its device alone.
    fn note_others_are_seen(&self) {
        let Some(reason) = self.config.commands.not_found_alone() else { return };
        if !self.others_are_seen.swap(true, Ordering::Relaxed) {
            let (device, reason) = (self.device_id().to_owned(), reason.to_owned());
            self.state.recorder.record(Event::SeesOthers(SeesOthers { device, reason }));
        }
    }

    /// Queries the properties of the device in its first worker, before its first test, and records
    /// them. Returns the worker if the next test can run in it.
    ///
    /// Only with `--characterize` are kernels built: that takes 60 ms with PoCL and 400 ms with Intel's
    /// driver. The worker is not used afterwards, so that the first test finds its driver as ever.
    fn characterized(&self, mut worker: Worker) -> Option<Worker> {
        let RunState { run, recorder, stop, .. } = self.state;
        let device = self.device.filter(|_| recorder.is_kept());
        let Some(device) = device else { return Some(worker) };
        // The other slots wait until the answer is recorded.
        let mut is_characterized =
            self.is_characterized.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_characterized {
            return Some(worker);
        }
        *is_characterized = true;
        let limit = self.config.settings.limit(None);
        let with_builds = run.characterize.is_some();
        let (worker, known) = match worker.characterize(with_builds, limit, stop.signal()) {
            Ok(known) => (Some(worker).filter(|_| !with_builds), known),
            Err(lost) => (None, Err(lost.to_string())),
        };
        recorder.characterized(&device.run.id, known.map(|known| known.properties()));
        worker
    }

    /// Runs a test in a worker. The worker is only good for another test if the attempt says so.
    pub fn attempt(
        &self,
        worker: &mut TestWorker,
        slot: u32,
        test: &Test,
        taken: Taken,
    ) -> Attempt {
        let Taken { position, round } = taken;
        let RunState { run, recorder, stop, .. } = self.state;
        let entry = self.entry(position);
        let number = self.count_attempt(position);
        let time = SystemTime::now();
        recorder.started(Started {
            test: TestName::Position(run.so_far.tests[position]),
            device: Some(run.plan.device_id(entry).to_owned()),
            time,
            attempt: number,
            worker: Some(worker.number),
            slot: Some(slot),
            pid: Some(worker.worker.process_id()),
        });
        let begin = Instant::now();
        let limit = self.limit(position);
        let mut attempt = worker.worker.run(
            test,
            limit,
            stop.signal(),
            &mut |from, bytes| {
                if run.echo {
                    recorder.wrote(position, from, bytes);
                }
            },
            &|| self.note_loss(slot),
        );
        let duration = attempt.duration;
        worker.has_run(Ran { position, round, attempt: number, started: begin, duration });
        attempt.number = number;
        attempt.started = Some(time);
        attempt.worker = Some(worker.number);
        self.fail_by_settings(position, &mut attempt);
        if let Some(outcome) = &attempt.outcome {
            let verdict = judge(outcome, self.expectation(position).as_ref());
            if worker.worker.has_reused_context() || worker.has_survived_failure {
                attempt.reused_context = Some(verdict).filter(|verdict| !verdict.is_as_expected());
            }
            let goes_on = attempt.process_is_as_before && attempt.has_left_nothing;
            if verdict == Verdict::ExpectedFail && goes_on {
                attempt.worker_survived = true;
                worker.has_survived_failure = true;
            }
        }
        if let Some(Outcome::TimedOut { .. }) = attempt.outcome {
            self.count_timeout(position, &attempt);
        }
        attempt
    }

    /// Returns the number of a new execution of a test, from 1.
    pub fn count_attempt(&self, position: usize) -> u32 {
        self.state.attempts[position].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes into account that a test has reached its limit.
    pub fn count_timeout(&self, position: usize, attempt: &Attempt) {
        self.hang_budget.add(attempt.duration);
        self.hang_budget.add_timeout(position);
    }

    /// Returns whether the device is still to be used.
    pub fn may_go_on(&self) -> bool {
        self.end().is_none()
    }

    /// Returns the reason why the device is not to be used any more, if there is one.
    pub fn end(&self) -> Option<String> {
        let stop = self.state.stop;
        let stopped = stop.is_requested().then(|| stop.reason());
        let lost = || self.health.lost().map(|lost| lost.not_run());
        stopped.or_else(lost).or_else(|| self.hang_budget.is_spent())
    }

    /// Runs tests again in a fresh worker, in fresh contexts, and then waits for a crash. If the worker is
    /// lost, probes the device. The log has neither starts nor results of these tests. Returns `None` if the
    /// run is stopped, no worker starts, or `end` comes or the hang budget is spent before.
    pub fn replay(
        &self,
        positions: &[usize],
        then_wait: Duration,
        end: Option<Instant>,
    ) -> Option<Replayed> {
        let worker = self.start_worker(Contexts::Fresh).ok()?;
        let begin = Instant::now();
        let budget_end = begin + self.hang_budget.left();
        let end = end.map_or(budget_end, |end| end.min(budget_end));
        let replayed = self.replay_in(worker, positions, then_wait, end);
        let duration = begin.elapsed();
        self.hang_budget.add(duration);
        let replayed = replayed?;
        self.state.recorder.record(Event::Replayed(events::Replayed {
            device: self.device_id().to_owned(),
            tests: positions
                .iter()
                .map(|position| self.state.run.so_far.tests[*position])
                .collect(),
            ran: replayed.ran as u32,
            end: replayed.outcome.to_string(),
            duration,
        }));
        if let Outcome::Crashed { .. } | Outcome::TimedOut { .. } = replayed.outcome {
            self.probe(positions[replayed.ran - 1]);
        }
        Some(replayed)
    }

    fn replay_in(
        &self,
        TestWorker { mut worker, .. }: TestWorker,
        positions: &[usize],
        then_wait: Duration,
        end: Instant,
    ) -> Option<Replayed> {
        let stop = self.state.stop.signal();
        let mut last = Replayed { ran: 0, outcome: Outcome::Passed };
        worker.takes_stacks = false;
        for &position in positions {
            let Case::Registered(test) = &self.entry(position).test else { return None };
            let limit = self.limit(position);
            let left = end.saturating_duration_since(Instant::now());
            let mut attempt = worker.run(test, limit.min(left), stop, &mut |_, _| {}, &|| {});
            self.fail_by_settings(position, &mut attempt);
            last = Replayed { ran: last.ran + 1, outcome: attempt.outcome? };
            if matches!(last.outcome, Outcome::TimedOut { .. }) && left < limit {
                return None;
            }
            let goes_on = attempt.process_is_as_before
                && judge(&last.outcome, self.expectation(position).as_ref())
                    == Verdict::ExpectedFail;
            if !attempt.worker_survived && !goes_on {
                return Some(last);
            }
        }
        match worker.idle(then_wait, stop) {
            Ok(()) => Some(last),
            Err(crash) => Some(Replayed { outcome: crash?, ..last }),
        }
    }

    /// Records a crash without a known cause, as the result `worker::delayed-crash@DEVICE`.
    /// `struck` is the execution that crashed.
    pub fn record_unexplained(&self, crash: &DelayedCrash<'_>, struck: &Attempt, search: &str) {
        let mut unexplained = self.unexplained.lock().unwrap_or_else(PoisonError::into_inner);
        let Unexplained { how, candidates } = &mut *unexplained;
        how.push(format!("{}; {search}", crash.of_cause()));
        candidates.push(crash.candidates());
        let outcome = Outcome::Crashed { how: how.join("\n") };
        let stdout = candidates.join("\n");
        self.record_of_worker("delayed-crash", outcome, stdout, struck.stacks.clone());
    }

    /// Records an end that went wrong, as the result `worker::NAME@DEVICE`: of a worker after its last test, or of a
    /// process of another program after its tests.
    pub fn record_end(&self, name: &'static str, outcome: Outcome, tests: &[usize]) {
        let tests: Vec<String> = tests.iter().map(|position| self.id(*position)).collect();
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, lines) = ends.entry(name).or_default();
        *count += 1;
        if *count <= SHOWN_ENDS {
            *lines += &format!("{outcome}, after {}\n", tests.join(", "));
        }
        let more = match count.saturating_sub(SHOWN_ENDS) {
            0 => String::new(),
            more => format!("and {more} more\n"),
        };
        let stdout = format!("{lines}{more}");
        self.record_of_worker(name, outcome, stdout, None);
    }

    fn record_of_worker(
        &self,
        name: &str,
        outcome: Outcome,
        stdout: String,
        stacks: Option<Box<Stacks>>,
    ) {
        let id = format!("{OF_WORKER}{name}@{}", self.device_id());
        let result = TestResult::new(id, SystemTime::now(), outcome, None);
        self.settled_late(TestResult { stdout, stacks, ..result });
    }

    /// Fails a test that passed, if the driver complains of it, or if it has left something behind
    /// and the configuration makes that a failure. Adds leaks to what it has left behind.
    pub fn fail_by_settings(&self, position: usize, attempt: &mut Attempt) {
        let settings = &self.config.settings;
        let leaves_too_much = settings.leftovers == Leftovers::Fail
            && !attempt.left_behind.is_empty()
            || settings.leaks == Leaks::Fail && !attempt.leaks.is_empty();
        attempt.left_behind.append(&mut attempt.leaks);
        if attempt.outcome != Some(Outcome::Passed) {
            return;
        }
        if let Some(complaint) = settings.complaint_in(&attempt.stderr) {
            attempt.outcome = Some(Outcome::Failed {
                message: format!("the driver says: {complaint}"),
                location: None,
            });
            attempt.worker_survived = false;
            attempt.has_left_nothing = false;
        } else if leaves_too_much {
            let message = left_behind_text(&attempt.left_behind);
            attempt.worker_survived = false;
            attempt.has_left_nothing = false;
            let location = self.entry(position).test.location();
            attempt.outcome = Some(Outcome::Failed { message, location });
        }
    }

    /// Probes the device before its first test, unless no test is to be run or a probe has passed lately. The
    /// device is lost if the probe fails: no test could tell more.
    pub fn probe_before_tests(&self) {
        let RunState { run, recorder, .. } = self.state;
        let Some(device) = self.device else { return };
        let is_known = || run.answers.as_ref().is_some_and(|answers| answers.works(&device.run.id));
        let runs = |position| {
            let expectation = self.expectation(position);
            self.outcome_without_running(self.entry(position), expectation.as_ref()).is_none()
        };
        if !self.rounds.any(runs) || is_known() {
            return;
        }
        match self.probe_once(device, START_LIMIT, FIRST_PROBE_LIMIT) {
            None => {}
            Some(Ok(())) => {
                if let Some(answers) = &run.answers {
                    answers.note_works(&device.run.id);
                }
            }
            Some(Err(reason)) => {
                if let Some(lost) = self.health.lose(&device.run.id, reason, None) {
                    recorder.device_lost(lost);
                }
            }
        }
    }

    /// Probes the device, each time in a worker of its own, until a probe passes or the device is lost.
    pub fn probe(&self, after: usize) {
        let Some(device) = self.device else { return };
        let Some(_turn) = self.health.begin_probe() else { return };
        let mut last = String::new();
        for _ in 0..PROBES {
            let begin = Instant::now();
            let result = self.probe_once(device, PROBE_LIMIT, PROBE_LIMIT);
            self.hang_budget.add(begin.elapsed());
            match result {
                None => return,
                Some(Ok(())) => return self.health.probe_passed(),
                Some(Err(reason)) => last = reason,
            }
        }
        if let Some(lost) = self.health.lose(&device.run.id, last, Some(self.id(after))) {
            self.state.recorder.device_lost(lost);
        }
    }

    /// Probes the device in a worker of its own, which takes the next tests that need a worker if the probe
    /// passes. Returns `None` if the run is stopped.
    fn probe_once(
        &self,
        device: &TestDevice,
        start_limit: Duration,
        limit: Duration,
    ) -> Option<Result<(), String>> {
        let RunState { recorder, stop, .. } = self.state;
        drop(self.take_probed());
        let (time, begin) = (Some(SystemTime::now()), Instant::now());
        let probed = Worker::probe(&self.config.commands, start_limit, limit, stop.signal());
        let duration = begin.elapsed();
        let result = match probed.map_err(WorkerLost::reason) {
            Ok(worker) => {
                *self.probed.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker);
                Ok(())
            }
            Err(reason) => Err(reason?),
        };
        let (device, error) = (device.run.id.clone(), result.clone().err());
        recorder.record(Event::Probed(Probed { device, time, error, duration }));
        Some(result)
    }

    /// Takes the worker of the last good probe.
    pub fn take_probed(&self) -> Option<Worker> {
        self.probed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Passes on a final result.
    pub fn settled(&self, position: usize, result: &TestResult) {
        let RunState { run, recorder, .. } = self.state;
        match run.repeat.is_on() {
            true => recorder.settled_in_round(position, result),
            false => recorder.settled(position, result),
        }
        self.count(result);
    }

    /// Records the result of a test whose result was final, or of no test of the plan.
    pub fn settled_late(&self, result: TestResult) {
        self.count(&result);
        self.state.recorder.late(result);
    }

    /// Stops the run at the last unexpected result that may be.
    fn count(&self, result: &TestResult) {
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
