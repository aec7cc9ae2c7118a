//! One device while its tests run.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, Once, RwLock};

use crate::case::Case;
use crate::config::{
    Contexts, DeviceSettings, Expectation, FlakyResult, Leaks, UnexpectedPass, judge,
};
use crate::devices::TestDevice;
use crate::devices::run_device::HOST;
use crate::log::events::{Characterized, Event, Probed, Started, WorkerStarted};
use crate::os::Source;
use crate::permits::Permit;
use crate::registry::{Ignore, Test};
use crate::result::{Attempt, NotRunReason, StopCause, TestId, TestResult, WorkerEnd};
use crate::run::hangs::{HangBudget, Hangs};
use crate::run::health::Health;
use crate::run::queue::Queue;
use crate::run::slot::TestWorker;
use crate::run::{Entry, Planned, Run, RunState, WorkerConfig};
use crate::verdict::{Outcome, Verdict};
use crate::worker::parent::{GATE_LIMIT, PROBE_LIMIT, START_LIMIT, TestLimits, Worker};
use crate::worker::{ProcessAttempt, Task, WorkerAfter};

/// The number of workers in a row that fail to start after which a device is given up.
const START_TRIES: usize = 2;

/// The number of attempts of a result of workers after which only a worse one is recorded.
const MOST_OF_WORKERS: usize = 20;

/// The number of failed probes in a row after which a device is lost.
const PROBES: usize = 2;

/// The time that a test may wait on a device that does not end commands behind user events.
const IDLE: Duration = Duration::from_secs(1);

/// The tests of one device, and the state that its slots share.
pub(super) struct DeviceRun<'a> {
    pub state: &'a RunState<'a>,
    pub config: &'a WorkerConfig,
    /// `None` for tests that need none.
    device: Option<&'a TestDevice>,
    /// The expectations for the results of its workers.
    expectations_of_workers: &'a HashMap<WorkerEnd, Expectation>,
    queue: Queue,
    pub health: Health,
    pub hang_budget: HangBudget,
    hangs: Hangs,
    /// The device ends commands behind user events, if that is known.
    pub ends_gated: OnceLock<bool>,
    /// True after an unexpected result.
    pub has_unexpected: AtomicBool,
    /// Held by each slot while its worker is busy: for writing if its test runs alone, else for reading.
    pub in_use: RwLock<()>,
    /// The number of tests that have lost their worker.
    pub losses: AtomicUsize,
    /// True if a timeout was repeated, since another slot had lost its worker.
    pub has_repeated_timeout: AtomicBool,
    /// The worker of the last good probe, until a slot needs a worker.
    probed: Mutex<Option<Worker<'a>>>,
    /// The verdicts on the results of its workers.
    of_workers: Mutex<HashMap<WorkerEnd, Vec<Verdict>>>,
    /// Done when the properties of the device are recorded.
    is_characterized: Once,
    /// True if a worker has found the device.
    is_found: AtomicBool,
    failed_starts: AtomicUsize,
}

impl<'a> DeviceRun<'a> {
    /// Creates the run of the device at a position of the plan, or of the host behind the last one.
    pub fn new(state: &'a RunState<'a>, at: usize, entries: Vec<Entry>) -> Self {
        let Run { plan, devices, host, expectations, seed, so_far, repeat, .. } = state.run;
        let config = devices.get(at).unwrap_or(host);
        Self {
            state,
            config,
            device: plan.devices.get(at),
            expectations_of_workers: &expectations.of_workers[at],
            queue: Queue::new(entries, *seed, repeat.most(), so_far),
            health: Health::default(),
            hang_budget: HangBudget::new(config.settings.hang_budget),
            hangs: Hangs::default(),
            ends_gated: OnceLock::new(),
            has_unexpected: AtomicBool::new(false),
            in_use: RwLock::new(()),
            losses: AtomicUsize::new(0),
            has_repeated_timeout: AtomicBool::new(false),
            probed: Mutex::default(),
            of_workers: Mutex::default(),
            is_characterized: Once::new(),
            is_found: AtomicBool::new(false),
            failed_starts: AtomicUsize::new(0),
        }
    }

    /// Returns the number of slots that have work.
    pub fn slots(&self) -> usize {
        self.config.settings.slots.count().min(self.queue.tests())
    }

    /// Takes the next test.
    pub fn take(&self) -> Option<Entry> {
        let RunState { permits, .. } = self.state;
        let may_begin = |position| {
            permits.has_room(self.settings(position).group.as_ref(), self.entry(position).device)
        };
        self.queue.take(may_begin, || self.may_go_on() && !self.end_repeats())
    }

    /// Returns whether the device has repeated its tests less often than it should.
    pub fn lacks_repeats(&self) -> bool {
        let RunState { run, stop, .. } = self.state;
        // A stop does not cut short a repetition without a number.
        let may_end = run.repeat.times.is_none() && stop.is_set();
        let is_whole = self.queue.is_whole() || may_end || self.end_repeats();
        run.repeat.is_on() && !is_whole
    }

    /// Returns the entry at a position of the plan.
    pub fn entry(&self, position: Entry) -> &'a Planned {
        &self.state.run.plan.entries[position]
    }

    /// Returns the id of the test at a position of the plan.
    pub fn id(&self, position: Entry) -> TestId {
        self.state.run.plan.id(self.entry(position))
    }

    /// Returns the device part of ids.
    fn device_id(&self) -> &str {
        self.device.map_or(HOST, |device| &device.run.id)
    }

    /// Returns the expectation for the test at a position of the plan.
    pub fn expectation(&self, position: Entry) -> Option<&'a Expectation> {
        self.state.run.expectations.tests.get(&position)
    }

    /// Returns whether no other test runs in the process of this one. If contexts are reused, new processes are
    /// expensive, and an unexpected failure runs again alone: only a test that is expected to fail is apart there.
    pub fn is_apart(&self, position: Entry) -> bool {
        let expectation = self.expectation(position);
        let is_skip = |known: &Expectation| known.written.status.is_skip();
        match &self.entry(position).test {
            Case::Outside(_) => true,
            Case::Registered(test) if test.own_worker => {
                expectation.is_some() || self.settings(position).contexts == Contexts::Fresh
            }
            Case::Registered(_) => expectation.is_some_and(is_skip),
        }
    }

    /// Returns the settings of the test at a position of the plan.
    pub fn settings(&self, position: Entry) -> &'a DeviceSettings {
        &self.state.run.settings[position]
    }

    /// Waits until the group of a test has room for it.
    pub fn permit(&self, position: Entry) -> Option<Permit<'a>> {
        let group = self.settings(position).group.as_ref();
        self.state.permits.take(group, self.entry(position).device)
    }

    /// Returns the time limit of the test at a position of the plan, also after other cases of it have hung.
    pub fn limit(&self, position: Entry) -> Duration {
        let limit = self.state.run.limit(position);
        let Case::Registered(test) = self.entry(position).test else { return limit };
        let short = self.hangs.limit(test.function(), position);
        short.map_or(limit, |short| limit.min(self.settings(position).limit([short])))
    }

    /// Returns the outcome of a test that must not run.
    pub fn outcome_without_running(&self, position: Entry) -> Option<Outcome> {
        let RunState { run, stop, .. } = self.state;
        let entry = self.entry(position);
        let stopped = stop.is_set().then(|| stop.not_run());
        if let Some(reason) = stopped.or_else(|| run.not_run.clone()) {
            return Some(Outcome::NotRun { reason });
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
        let until_fail = || self.has_failed().then_some(NotRunReason::UntilFail);
        let no_device = || entry.lacks_device().then_some(NotRunReason::NoDevice);
        if let Some(reason) = self.end_reason().or_else(until_fail).or_else(no_device) {
            return Some(Outcome::NotRun { reason });
        }
        let missing = |device: &TestDevice| entry.test.missing(&device.run.info);
        if let Some(reason) = self.device.and_then(missing) {
            return Some(Outcome::Skipped { reason });
        }
        self.expectation(position)
            .filter(|expectation| expectation.written.status.is_skip() && !run.run_skipped)
            .map(|expectation| Outcome::Skipped { reason: expectation.written.reason.clone() })
    }

    /// Starts a worker, with `prepares` one that has its baseline, and records the start, unless the device was given
    /// up.
    ///
    /// # Errors
    ///
    /// The reason why tests are not run.
    pub fn start_worker(&self, prepares: bool) -> Result<TestWorker<'a>, NotRunReason> {
        if self.failed_starts.load(Ordering::Relaxed) >= START_TRIES {
            return Err(NotRunReason::GivenUp);
        }
        let (time, begin) = (SystemTime::now(), Instant::now());
        let started =
            if prepares { self.start_prepared_worker() } else { self.start_unprepared_worker() };
        self.state.recorder.record(Event::WorkerStarted(WorkerStarted {
            device: self.device_id().to_owned(),
            worker: started.as_ref().ok().map(|worker| worker.number),
            time,
            duration: begin.elapsed(),
            error: started.as_ref().err().map(ToString::to_string),
            sees_others: self.config.commands.not_found_alone().map(str::to_owned),
        }));
        started
    }

    /// Starts a worker that has its baseline. If the driver fails at that, starts one without, so that the tests show
    /// the fault; not if the driver hangs, as each test would.
    fn start_prepared_worker(&self) -> Result<TestWorker<'a>, NotRunReason> {
        let mut started = self.start_unprepared_worker()?;
        let begin = Instant::now();
        let settings = &self.config.settings;
        let finds_leaks = settings.leaks != Leaks::Off && self.device.is_some();
        let Err(lost) = started.worker.prepare(finds_leaks, settings.contexts) else {
            return Ok(started);
        };
        let time = begin.elapsed();
        self.hang_budget.add(time);
        drop(started);
        if time >= START_LIMIT {
            return Err(NotRunReason::NoWorker { error: lost.to_string() });
        }
        self.start_unprepared_worker()
    }

    /// Starts a worker if none has been started, which finds the device and has its properties. Tests of other
    /// programs need this once.
    ///
    /// # Errors
    ///
    /// The reason why tests are not run.
    pub fn find_device(&self) -> Result<(), NotRunReason> {
        let is_found = self.is_found.load(Ordering::Relaxed);
        if is_found { Ok(()) } else { self.start_worker(false).map(drop) }
    }

    fn start_unprepared_worker(&self) -> Result<TestWorker<'a>, NotRunReason> {
        let RunState { recorder, stop, .. } = self.state;
        let begin = Instant::now();
        let start = || self.config.commands.start(START_LIMIT, stop);
        let worker = self.take_probed().map_or_else(start, Ok).map_err(|lost| {
            let Some(error) = lost.reason() else { return stop.not_run() };
            self.hang_budget.add(begin.elapsed());
            self.failed_starts.fetch_add(1, Ordering::Relaxed);
            NotRunReason::NoWorker { error }
        })?;
        self.failed_starts.store(0, Ordering::Relaxed);
        self.is_found.store(true, Ordering::Relaxed);
        let number = recorder.number_worker();
        // The worker may die while it is characterized; the next worker is not queried again.
        match self.characterized(worker) {
            Some(worker) => Ok(TestWorker::new(worker, number)),
            None => self.start_unprepared_worker(),
        }
    }

    /// Queries the properties of the device in its first worker, before its first test, and records
    /// them. Returns the worker if the next test can run in it.
    fn characterized(&self, mut worker: Worker<'a>) -> Option<Worker<'a>> {
        let RunState { run, recorder, .. } = self.state;
        let device = self.device.filter(|_| recorder.is_kept);
        let Some((device, query)) = device.zip(run.device_query.as_ref()) else {
            return Some(worker);
        };
        let mut is_good = true;
        // The other slots wait until the answer is recorded.
        self.is_characterized.call_once(|| {
            let limit = self.config.settings.limit(None);
            let known = worker.ask(Task::Job(query.call.clone()), limit);
            is_good = known.is_ok() && !query.ends_worker;
            let known = known.unwrap_or_else(|lost| Err(lost.to_string()));
            let properties = known
                .and_then(|json| serde_json::from_str(&json).map_err(|error| error.to_string()));
            recorder.record(Event::Characterized(Characterized {
                device: device.run.id.clone(),
                error: properties.as_ref().err().cloned(),
                properties: properties.unwrap_or_default(),
            }));
        });
        is_good.then_some(worker)
    }

    /// Runs a test in a worker. The worker may run another test only if the answer allows it.
    pub fn attempt(
        &self,
        worker: &mut TestWorker<'_>,
        slot: u32,
        test: &Test,
        position: Entry,
    ) -> ProcessAttempt {
        let mut started = self.begin_attempt(position, worker.number, slot);
        started.pid = Some(worker.worker.process_id());
        self.state.recorder.record(Event::Started(started.clone()));
        let limits = TestLimits {
            time: self.limit(position),
            idle: self.idle(),
            memory: self.settings(position).memory,
        };
        let is_fresh = test.fresh_context || self.settings(position).contexts == Contexts::Fresh;
        let mut ran = worker
            .worker
            .run(test, is_fresh, limits, &mut |from, bytes| self.wrote(position, from, bytes));
        worker.has_run(position);
        self.complete(position, &mut ran, &started);
        let verdict = judge(&ran.attempt.outcome, self.expectation(position));
        if ran.after == WorkerAfter::SurvivedFailure && !verdict.is_explained_failure() {
            ran.after = WorkerAfter::Spent;
        }
        ran
    }

    /// Completes an attempt by its start, and judges the output of its process.
    pub fn complete(&self, position: Entry, ran: &mut ProcessAttempt, started: &Started) {
        let attempt = &mut ran.attempt;
        attempt.number = started.attempt;
        attempt.started = started.time;
        attempt.worker = started.worker;
        ran.fail_by_settings(self.settings(position), || self.entry(position).test.location());
        let Attempt { outcome, duration, .. } = &ran.attempt;
        if let Case::Registered(test) = self.entry(position).test {
            self.hangs.note(test.function(), position, outcome, *duration);
        }
        let is_expected = || self.expectation(position).is_some_and(|known| known.allows(outcome));
        // Each test that waits in vain takes little time, so that all of them are found.
        if let Outcome::TimedOut { .. } = outcome
            && !ran.waits_in_vain
            && !is_expected()
        {
            self.hang_budget.add_timeout(self.id(position), *duration);
        }
    }

    /// Begins an attempt at a test in a worker, whose process is not known yet.
    pub fn begin_attempt(&self, position: Entry, worker: u32, slot: u32) -> Started {
        let Run { plan, so_far, .. } = self.state.run;
        Started {
            test: so_far.tests[position],
            device: plan.device_id(self.entry(position)).to_owned(),
            time: SystemTime::now(),
            attempt: self.count_attempt(position),
            worker: Some(worker),
            slot: Some(slot),
            pid: None,
        }
    }

    /// Shows output of a running test, if the run echoes output.
    pub fn wrote(&self, position: Entry, from: Source, bytes: &[u8]) {
        let RunState { run, recorder, .. } = self.state;
        if run.echo {
            recorder.observer.wrote(position, from, bytes);
        }
    }

    /// Returns the attempt of a test that is not run.
    pub fn without_process(&self, position: Entry, outcome: Outcome) -> ProcessAttempt {
        let number = self.count_attempt(position);
        Attempt { number, ..Attempt::new(outcome) }.into()
    }

    /// Returns the number of a new execution of a test, from 1.
    fn count_attempt(&self, position: Entry) -> u32 {
        self.state.attempts[position].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the result of an attempt, compared with the expectation. The run may succeed with an unexpected pass if
    /// the configuration says so, or if the test was to be skipped.
    pub fn result(
        &self,
        id: TestId,
        attempt: Attempt,
        expectation: Option<&Expectation>,
    ) -> TestResult {
        let was_to_be_skipped = expectation.is_some_and(|known| known.written.status.is_skip());
        let mut result = TestResult::new(id, attempt, expectation);
        result.tolerated = result.verdict == Verdict::UnexpectedPass
            && (was_to_be_skipped || self.state.run.unexpected_pass == UnexpectedPass::Report);
        result
    }

    /// Makes the result flaky: attempts had different outcomes. The configuration may tolerate a flaky test of which an
    /// attempt passed (`is_pass`).
    pub fn make_flaky(&self, result: &mut TestResult, is_pass: bool) {
        result.verdict = Verdict::Flaky;
        result.tolerated = is_pass && self.state.run.flaky_result == FlakyResult::Pass;
    }

    /// Records a crash that belongs to no test, as an attempt of the result `worker::crash@DEVICE`. `running` is the
    /// test that was running, with the outcome of its rerun; `None` after the last test of a worker. If `retries`
    /// repeat such a crash, a rerun with another end makes the result flaky.
    pub fn record_worker_crash(
        &self,
        mut crashed: Attempt,
        before: &[Entry],
        running: Option<(Entry, &Outcome)>,
    ) {
        let title = "tests that the worker had run before, the last one last:".to_owned();
        let title = (!before.is_empty()).then_some(title);
        let tests = before.iter().map(|position| self.id(*position).to_string());
        let at = match running {
            Some((position, _)) => format!("running test: {}", self.id(position)),
            None => "after the last test".to_owned(),
        };
        let lines: Vec<_> = title.into_iter().chain(tests).chain([at, crashed.stdout]).collect();
        crashed.stdout = lines.join("\n");
        let repeated = running.filter(|(position, rerun)| {
            let has_ended = rerun.status().is_some() && !matches!(rerun, Outcome::Crashed { .. });
            has_ended && self.settings(*position).retries.pause(0, &crashed.outcome).is_some()
        });
        self.record_of_worker(WorkerEnd::Crash, crashed, repeated.map(|(_, rerun)| rerun));
    }

    /// Records a wrong end, as an attempt of the result `worker::NAME@DEVICE`: of a worker after its last test, or of
    /// a process of another program after its test.
    pub fn record_end(&self, end: WorkerEnd, outcome: Outcome, last: Entry) {
        let stdout = format!("after {}\n", self.id(last));
        let ended = Attempt { stdout, ..Attempt::new(outcome) };
        self.record_of_worker(end, ended, None);
    }

    /// Records an attempt of a result of workers; the worst one counts. It is flaky with the outcome of a repeated
    /// test.
    fn record_of_worker(&self, end: WorkerEnd, mut ended: Attempt, repeated: Option<&Outcome>) {
        let id = TestId::new(end.path(), self.device_id());
        let expectation = self.expectations_of_workers.get(&end);
        let mut of_workers = self.of_workers.lock();
        let known = of_workers.entry(end).or_default();
        ended.number = known.len() as u32 + 1;
        let mut result = self.result(id, ended, expectation);
        if let Some(repeated) = repeated
            && result.verdict.is_failure()
        {
            self.make_flaky(&mut result, *repeated == Outcome::Passed);
        }
        self.count(&result);
        let is_worse = known.iter().all(|before| result.verdict.is_worse_than(*before));
        known.push(result.verdict);
        if is_worse || known.len() <= MOST_OF_WORKERS {
            self.state.recorder.of_worker(&result, is_worse);
        }
    }

    /// Probes the device before its first test, unless no test will run or a recent probe has passed. The device is
    /// lost if the probe fails: a test would show no more.
    pub fn probe_before_tests(&self) {
        let RunState { run, .. } = self.state;
        let Some(device) = self.device else { return };
        let is_known = || run.answers.as_ref().is_some_and(|answers| answers.works(&device.run.id));
        let runs = |position| self.outcome_without_running(position).is_none();
        if !self.queue.any(runs) || is_known() {
            return;
        }
        match self.probe_once(device, START_LIMIT, self.config.settings.first_probe_limit()) {
            None => {}
            Some(Ok(())) => run.answers.iter().for_each(|known| known.note_works(&device.run.id)),
            Some(Err(reason)) => self.lose(device, reason, None),
        }
    }

    /// Probes the device, each time in a worker of its own, until a probe passes or the device is lost.
    pub fn probe(&self, after: Entry) {
        let Some(device) = self.device else { return };
        let Some(_turn) = self.health.begin_probe() else { return };
        let mut last = String::new();
        for _ in 0..PROBES {
            let begin = Instant::now();
            match self.probe_once(device, PROBE_LIMIT, PROBE_LIMIT) {
                None => return,
                Some(Ok(())) => return self.health.probe_passed(),
                Some(Err(reason)) => last = reason,
            }
            self.hang_budget.add(begin.elapsed());
        }
        self.lose(device, last, Some(self.id(after)));
    }

    /// Checks once, after a test that did not end, that the device ends commands behind user events. If it does not,
    /// tests wait in vain for such commands.
    pub fn probe_gate(&self) {
        let RunState { recorder, .. } = self.state;
        if self.ends_gated.get().is_some() {
            return;
        }
        let Some((worker, device)) = self.take_probed().zip(self.device) else { return };
        let (time, begin) = (SystemTime::now(), Instant::now());
        let (ends, worker) = worker.probe_gate();
        *self.probed.lock() = worker;
        if self.ends_gated.set(ends).is_err() || ends {
            return;
        }
        let device = device.run.id.clone();
        recorder.observer.gates_hang(&device, IDLE);
        let limit = humantime::format_duration(GATE_LIMIT);
        let error =
            Some(format!("a fill behind a user event that is set does not end within {limit}"));
        recorder.record(Event::Probed(Probed { device, time, error, duration: begin.elapsed() }));
    }

    /// Makes the device lost after a test, or before the first one.
    fn lose(&self, device: &TestDevice, reason: String, after: Option<TestId>) {
        if let Some(lost) = self.health.lose(&device.run.id, reason, after) {
            self.state.recorder.device_lost(lost);
        }
        self.state.run.answers.iter().for_each(|answers| answers.forget(&device.run.id));
    }

    /// Probes the device in a worker of its own, which runs the next tests that need a worker if the probe passes.
    /// Returns `None` if the run is stopped.
    fn probe_once(
        &self,
        device: &TestDevice,
        start_limit: Duration,
        limit: Duration,
    ) -> Option<Result<(), String>> {
        let RunState { recorder, stop, .. } = self.state;
        drop(self.take_probed());
        let (time, begin) = (SystemTime::now(), Instant::now());
        let probed = Worker::probe(&self.config.commands, start_limit, limit, stop);
        let duration = begin.elapsed();
        let result = match probed.map(|worker| *self.probed.lock() = Some(worker)) {
            Ok(()) => Ok(()),
            Err(lost) => Err(lost.reason()?),
        };
        let (device, error) = (device.run.id.clone(), result.clone().err());
        recorder.record(Event::Probed(Probed { device, time, error, duration }));
        Some(result)
    }

    /// Takes the worker of the last good probe.
    pub fn take_probed(&self) -> Option<Worker<'a>> {
        self.probed.lock().take()
    }

    /// Records the result of a test. With `--repeat`, a test that is not run another time keeps the result of its other
    /// attempts.
    pub fn finished(&self, position: Entry, result: &TestResult) {
        if self.queue.end(position, &result.attempt.outcome) {
            self.count(result);
            self.state.recorder.finished(position, result);
        }
    }

    // The reasons to run no more tests on a device: a stop of the run, by a signal, its deadline or `--max-fail`; a lost
    // device; a spent hang budget; and, with `--until-fail`, an unexpected result.

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
        self.state.run.repeat.until_fail && self.has_unexpected.load(Ordering::Relaxed)
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
        self.has_unexpected.store(true, Ordering::Relaxed);
        let unexpected = unexpected.fetch_add(1, Ordering::Relaxed) + 1;
        if run.max_fail.is_some_and(|most| unexpected >= most) {
            stop.request(StopCause::MaxFail { unexpected: unexpected as u64 });
        }
    }
}
