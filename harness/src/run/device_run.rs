//! One device while its tests run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, Once, RwLock};

use crate::case::Case;
use crate::config::{
    Contexts, DeviceSettings, Expectation, FlakyResult, Leaks, UnexpectedPass, judge,
};
use crate::devices::TestDevice;
use crate::devices::run_device::HOST;
use crate::devices::selection::NO_DEVICE_FOUND;
use crate::log::events::{Characterized, Event, Probed, Round, Started, WorkerStarted};
use crate::os::Source;
use crate::permits::Permit;
use crate::registry::{Ignore, OF_WORKER, Test};
use crate::result::attempt::Attempt;
use crate::result::ended::Ended;
use crate::result::test_result::TestResult;
use crate::run::limits::Limits;
use crate::run::plan::Planned;
use crate::run::rounds::Rounds;
use crate::run::state::{Run, RunState, WorkerConfig};
use crate::run::test_worker::TestWorker;
use crate::verdict::{Outcome, Verdict};
use crate::worker::parent::{PROBE_LIMIT, START_LIMIT, Worker, WorkerLost};
use crate::worker::ran::Ran;

/// After so many workers in a row that did not start, a device is given up.
const START_TRIES: usize = 2;

/// After so many attempts of a result of workers, only a worse one is recorded.
const MOST_OF_WORKERS: usize = 20;

/// After so many probes in a row that fail, a device is lost.
const PROBES: usize = 2;

/// The tests of one device, and the state that its slots share.
pub(super) struct DeviceRun<'a> {
    pub state: &'a RunState<'a>,
    pub config: &'a WorkerConfig,
    /// `None` for tests that need none.
    device: Option<&'a TestDevice>,
    /// The expectations for the results of workers, by their names.
    expectations_of_workers: &'a HashMap<&'static str, Expectation>,
    pub rounds: Rounds,
    pub limits: Limits<'a>,
    /// Held by each slot while its worker is busy: for writing if its test runs alone, else for reading.
    pub in_use: RwLock<()>,
    /// The number of tests that have lost their worker.
    pub losses: AtomicUsize,
    /// The worker of the last good probe, until a slot needs a worker.
    probed: Mutex<Option<Worker>>,
    /// The verdicts on the results of workers, by their names.
    of_workers: Mutex<HashMap<&'static str, Vec<Verdict>>>,
    /// Done when the properties of the device are recorded.
    is_characterized: Once,
    /// True if a worker has found the device.
    is_found: AtomicBool,
    failed_starts: AtomicUsize,
}

impl<'a> DeviceRun<'a> {
    pub fn new(
        state: &'a RunState<'a>,
        config: &'a WorkerConfig,
        device: Option<&'a TestDevice>,
        expectations_of_workers: &'a HashMap<&'static str, Expectation>,
        entries: Vec<usize>,
    ) -> Self {
        let Run { seed, so_far, .. } = state.run;
        Self {
            state,
            config,
            device,
            expectations_of_workers,
            rounds: Rounds::new(entries, *seed, &so_far.left_out()),
            limits: Limits::new(state, config),
            in_use: RwLock::new(()),
            losses: AtomicUsize::new(0),
            probed: Mutex::default(),
            of_workers: Mutex::default(),
            is_characterized: Once::new(),
            is_found: AtomicBool::new(false),
            failed_starts: AtomicUsize::new(0),
        }
    }

    /// The number of slots that have work.
    pub fn slots(&self) -> usize {
        self.config.settings.slots.count().min(self.rounds.entries().len())
    }

    /// Begins the next round. Returns false after the last.
    pub fn begin_round(&self) -> bool {
        let RunState { run, recorder, .. } = self.state;
        let (ended, most) = (self.rounds.number(), run.repeat.most());
        let goes_on =
            ended == 0 || ended < most && self.rounds.have_tests() && self.may_begin_test();
        if goes_on {
            let tests = self.rounds.begin();
            if run.repeat.is_on() {
                let round = Round { device: self.device_id().to_owned(), number: ended + 1 };
                recorder.observer.round_begins(&round, tests);
                if ended > 0 {
                    recorder.record(Event::Round(round));
                }
            }
        }
        goes_on
    }

    /// Returns whether the device has made fewer rounds than it should.
    pub fn lacks_rounds(&self) -> bool {
        let RunState { run, stop, .. } = self.state;
        let has_all = self.rounds.number() == run.repeat.most() || !self.rounds.have_tests();
        // A stop does not cut short rounds without a number.
        let may_end = run.repeat.rounds.is_none() && stop.signal.is_set();
        let is_whole = has_all && self.rounds.is_whole() || may_end;
        run.repeat.is_on() && !is_whole && self.limits.end_of_rounds().is_none()
    }

    /// Tells the observer the results of all rounds, if there may be several.
    pub fn end_rounds(&self) {
        let RunState { run, recorder, .. } = self.state;
        if run.repeat.is_on() {
            for &position in self.rounds.entries() {
                let result = recorder.result(&self.id(position));
                recorder.tell(position, &result.expect("a run with rounds has a log"));
            }
        }
    }

    /// Takes the next test of the round. In a later round, tests that are not run have no result.
    pub fn take(&self) -> Option<usize> {
        let is_over = self.rounds.number() > 1 && !self.may_begin_test();
        let RunState { permits, .. } = self.state;
        let may_begin = |position| {
            permits.has_room(self.settings(position).group.as_ref(), self.entry(position).device)
        };
        if is_over { None } else { self.rounds.take(may_begin) }
    }

    /// Returns whether a later round may begin a test.
    fn may_begin_test(&self) -> bool {
        self.may_go_on() && self.limits.end_of_rounds().is_none()
    }

    /// The entry at a position of the plan.
    pub fn entry(&self, position: usize) -> &'a Planned {
        &self.state.run.plan.entries[position]
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
    pub fn expectation(&self, position: usize) -> Option<&'a Expectation> {
        self.state.run.expectations.tests[position].as_ref()
    }

    /// Returns whether no other test runs in the process of this one. Where contexts are reused, new processes cost
    /// much, and what goes wrong unexpectedly runs again alone: only a test that is expected to go wrong is apart there.
    pub fn is_apart(&self, position: usize) -> bool {
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

    /// The settings of the test at a position of the plan.
    pub fn settings(&self, position: usize) -> &'a DeviceSettings {
        &self.state.run.settings[position]
    }

    /// Waits until the group of a test has room for it.
    pub fn permit(&self, position: usize) -> Option<Permit<'a>> {
        let group = self.settings(position).group.as_ref();
        self.state.permits.take(group, self.entry(position).device)
    }

    /// The time limit of the test at a position of the plan, also after other cases of it have hung.
    pub fn limit(&self, position: usize) -> Duration {
        let limit = self.state.run.limit(position);
        let short = match self.entry(position).test {
            Case::Registered(test) => self.limits.hangs.limit(test.function(), position),
            Case::Outside(_) => None,
        };
        short.map_or(limit, |short| limit.min(self.settings(position).limit([short])))
    }

    /// Returns whether the run may succeed with this result, although it is an unexpected pass.
    pub fn tolerates(&self, result: &TestResult) -> bool {
        let was_to_be_skipped =
            result.expectation.as_ref().is_some_and(|known| known.status.is_skip());
        result.verdict == Verdict::UnexpectedPass
            && (was_to_be_skipped || self.state.run.unexpected_pass == UnexpectedPass::Report)
    }

    /// Returns the outcome of a test that is not to be run.
    pub fn outcome_without_running(&self, position: usize) -> Option<Outcome> {
        let RunState { run, stop, .. } = self.state;
        let entry = self.entry(position);
        if stop.signal.is_set() {
            return Some(Outcome::NotRun { reason: stop.signal.reason() });
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
        if let Some(reason) = self.limits.end().or_else(|| self.limits.end_of_rounds()) {
            return Some(Outcome::NotRun { reason });
        }
        if entry.lacks_device() {
            return Some(Outcome::NotRun { reason: NO_DEVICE_FOUND.to_owned() });
        }
        let missing = |device: &TestDevice| entry.test.missing(&device.run.info);
        if let Some(reason) = self.device.and_then(missing) {
            return Some(Outcome::Skipped { reason });
        }
        self.expectation(position)
            .filter(|expectation| expectation.written.status.is_skip() && !run.run_skipped)
            .map(|expectation| Outcome::Skipped { reason: expectation.written.reason.clone() })
    }

    /// Starts a worker that has its baseline. If the driver fails at that, starts one without, so that the fault
    /// shows in the tests; not if it hangs, as each test would.
    ///
    /// # Errors
    ///
    /// The reason why tests are not run.
    pub fn start_worker(&self) -> Result<TestWorker, String> {
        self.start(|| self.start_prepared_worker())
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
            sees_others: self.config.commands.not_found_alone().map(str::to_owned),
        }));
        started
    }

    fn start_prepared_worker(&self) -> Result<TestWorker, String> {
        let mut started = self.start_unprepared_worker()?;
        let begin = Instant::now();
        let settings = &self.config.settings;
        let finds_leaks = settings.leaks != Leaks::Off && self.device.is_some();
        let stop = &self.state.stop.signal;
        let Err(lost) = started.worker.prepare(finds_leaks, settings.contexts, stop) else {
            return Ok(started);
        };
        let time = begin.elapsed();
        self.limits.hang_budget.add(time);
        drop(started);
        if time >= START_LIMIT {
            return Err(format!("no worker could be started: {lost}"));
        }
        self.start_unprepared_worker()
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
            None => self.config.commands.start(START_LIMIT, &stop.signal),
        };
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
                None => stop.signal.reason(),
                Some(reason) => {
                    self.limits.hang_budget.add(begin.elapsed());
                    failed.fetch_add(1, Ordering::Relaxed);
                    format!("no worker could be started: {reason}")
                }
            }),
        }
    }

    /// Queries the properties of the device in its first worker, before its first test, and records
    /// them. Returns the worker if the next test can run in it.
    fn characterized(&self, mut worker: Worker) -> Option<Worker> {
        let RunState { run, recorder, stop, .. } = self.state;
        let device = self.device.filter(|_| recorder.is_kept());
        let Some((device, query)) = device.zip(run.device_query.as_ref()) else {
            return Some(worker);
        };
        let mut is_good = true;
        // The other slots wait until the answer is recorded.
        self.is_characterized.call_once(|| {
            let limit = self.config.settings.limit(None);
            let known = worker.job(query.call.clone(), limit, &stop.signal);
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

    /// Runs a test in a worker. The worker is only good for another test if the answer says so.
    pub fn attempt(&self, worker: &mut TestWorker, slot: u32, test: &Test, position: usize) -> Ran {
        let stop = self.state.stop;
        let mut started = self.begin_attempt(position, worker.number, slot);
        started.pid = Some(worker.worker.process_id());
        self.state.recorder.record(Event::Started(started.clone()));
        let limit = self.limit(position);
        let is_fresh = test.fresh_context || self.settings(position).contexts == Contexts::Fresh;
        let mut ran = worker.worker.run(
            test,
            is_fresh,
            (limit, self.settings(position).memory),
            &stop.signal,
            &mut |from, bytes| self.wrote(position, from, bytes),
        );
        if let Outcome::Crashed { .. } = ran.attempt.outcome {
            ran.before = worker.last.iter().copied().collect();
        }
        worker.has_run(position);
        self.complete(position, &mut ran, &started);
        let Ran { attempt, process, .. } = &mut ran;
        let verdict = judge(&attempt.outcome, self.expectation(position));
        if process.has_reused_context || worker.has_survived_failure {
            let is_unexpected = !verdict.is_as_expected() && verdict != Verdict::NotRun;
            attempt.reused_context = is_unexpected.then_some(verdict);
        }
        if verdict.is_explained_failure() && process.is_as_before && process.has_left_nothing {
            ran.worker_survived = true;
            worker.has_survived_failure = true;
        }
        ran
    }

    /// Completes an attempt by its start, and judges the output of its process.
    pub fn complete(&self, position: usize, ran: &mut Ran, started: &Started) {
        let attempt = &mut ran.attempt;
        attempt.number = started.attempt;
        attempt.started = started.time;
        attempt.worker = started.worker;
        ran.fail_by_settings(self.settings(position), || self.entry(position).test.location());
        let Ended { outcome, duration, .. } = &ran.attempt.ended;
        if let Case::Registered(test) = self.entry(position).test {
            self.limits.hangs.note(test.function(), position, outcome, *duration);
        }
        let is_expected = || self.expectation(position).is_some_and(|known| known.allows(outcome));
        if matches!(outcome, Outcome::TimedOut { .. }) && !is_expected() {
            self.limits.hang_budget.add_timeout(self.id(position), *duration);
        }
    }

    /// Begins an attempt at a test in a worker, whose process is not known yet.
    pub fn begin_attempt(&self, position: usize, worker: u32, slot: u32) -> Started {
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

    /// Shows output of a running test, if the run does that.
    pub fn wrote(&self, position: usize, from: Source, bytes: &[u8]) {
        let RunState { run, recorder, .. } = self.state;
        if run.echo {
            recorder.observer.wrote(position, from, bytes);
        }
    }

    /// The attempt of a test that is not run.
    pub fn without_process(&self, position: usize, outcome: Outcome) -> Ran {
        let mut ran = Ran::without_process(outcome);
        ran.attempt.number = self.count_attempt(position);
        ran
    }

    /// Returns the number of a new execution of a test, from 1.
    fn count_attempt(&self, position: usize) -> u32 {
        self.state.attempts[position].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns whether the device is still to be used.
    pub fn may_go_on(&self) -> bool {
        self.limits.end().is_none()
    }

    /// Makes the result of an attempt, compared with the expectation.
    pub fn result(&self, id: String, ran: Ran, expectation: Option<&Expectation>) -> TestResult {
        let is_own = ran.is_own_crash && ran.before.is_empty();
        let doubtful = matches!(ran.attempt.outcome, Outcome::Crashed { .. }) && !is_own;
        let result = TestResult { doubtful, ..TestResult::new(id, ran.attempt, expectation) };
        TestResult { tolerated: self.tolerates(&result), ..result }
    }

    /// The attempts at a test before its run was cut short, in their order, if the last one went wrong, and not in a
    /// reused context.
    pub fn before_cut(&self, position: usize) -> Vec<TestResult> {
        let RunState { run, recorder, .. } = self.state;
        let number = run.so_far.attempts[position];
        let last = (number > 0).then(|| recorder.result(&self.id(position))).flatten();
        let Some(mut last) = last else { return Vec::new() };
        let mut attempts = std::mem::take(&mut last.earlier);
        attempts.push(last);
        attempts.retain(|attempt| attempt.number <= number && attempt.verdict != Verdict::NotRun);
        let went_wrong =
            |last: &TestResult| last.verdict.is_failure() && !last.is_of_reused_context();
        if attempts.last().is_some_and(went_wrong) { attempts } else { Vec::new() }
    }

    /// Makes a result flaky, since the test was repeated and ended otherwise. It is tolerated where the configuration
    /// says so, if one of them `is_pass`.
    pub fn make_flaky(&self, result: &mut TestResult, is_pass: bool) {
        result.verdict = Verdict::Flaky;
        result.tolerated = is_pass && self.state.run.flaky_result == FlakyResult::Pass;
    }

    /// Records a crash that is no test's, as an attempt of the result `worker::crash@DEVICE`. `running` is the test
    /// that was running, with the outcome of its rerun; `None` after the last test of a worker. If `retries` repeat
    /// such a crash, a rerun that has ended otherwise makes the result flaky.
    pub fn record_worker_crash(&self, mut crashed: Ran, running: Option<(usize, &Outcome)>) {
        let mut text = String::new();
        if !crashed.before.is_empty() {
            text += "tests that the worker had run before, the last one last:\n";
        }
        crashed.before.iter().for_each(|position| text += &format!("{}\n", self.id(*position)));
        text += &match running {
            Some((position, _)) => format!("running test: {}\n", self.id(position)),
            None => "after the last test\n".to_owned(),
        };
        let attempt = &mut crashed.attempt;
        attempt.stdout = text + &attempt.stdout;
        let repeated = running.filter(|(position, rerun)| {
            let has_ended = rerun.status().is_some() && !matches!(rerun, Outcome::Crashed { .. });
            has_ended && self.settings(*position).retries.pause(0, &attempt.outcome).is_some()
        });
        self.record_of_worker("crash", crashed, repeated.map(|(_, rerun)| rerun));
    }

    /// Records an end that went wrong, as an attempt of the result `worker::NAME@DEVICE`: of a worker after its last
    /// test, or of a process of another program after its test.
    pub fn record_end(&self, name: &'static str, outcome: Outcome, last: usize) {
        let stdout = format!("after {}\n", self.id(last));
        let ended = Attempt { stdout, ..Attempt::new(outcome) };
        self.record_of_worker(name, ended.into(), None);
    }

    /// Records an attempt of a result of workers, of which the worst counts. It is flaky with the outcome of a
    /// repeated test.
    fn record_of_worker(&self, name: &'static str, mut ended: Ran, repeated: Option<&Outcome>) {
        let id = [OF_WORKER, name, "@", self.device_id()].concat();
        let expectation = self.expectations_of_workers.get(name);
        let mut of_workers = self.of_workers.lock();
        let known = of_workers.entry(name).or_default();
        ended.attempt.number = known.len() as u32 + 1;
        let mut result = self.result(id, ended, expectation);
        if let Some(repeated) = repeated
            && result.verdict.is_failure()
        {
            self.make_flaky(&mut result, *repeated == Outcome::Passed);
        }
        self.limits.count(&result);
        let is_worse = known.iter().all(|before| result.verdict.is_worse_than(*before));
        known.push(result.verdict);
        if is_worse || known.len() <= MOST_OF_WORKERS {
            self.state.recorder.of_worker(&result, is_worse);
        }
    }

    /// Probes the device before its first test, unless no test is to be run or a probe has passed lately. The
    /// device is lost if the probe fails: no test could tell more.
    pub fn probe_before_tests(&self) {
        let RunState { run, .. } = self.state;
        let Some(device) = self.device else { return };
        let is_known = || run.answers.as_ref().is_some_and(|answers| answers.works(&device.run.id));
        let runs = |position| self.outcome_without_running(position).is_none();
        if !self.rounds.any(runs) || is_known() {
            return;
        }
        match self.probe_once(device, START_LIMIT, self.config.settings.first_probe_limit()) {
            None => {}
            Some(Ok(())) => {
                if let Some(answers) = &run.answers {
                    answers.note_works(&device.run.id);
                }
            }
            Some(Err(reason)) => {
                self.lose(device, reason, None);
            }
        }
    }

    /// Probes the device, each time in a worker of its own, until a probe passes or the device is lost.
    pub fn probe(&self, after: usize) {
        let Some(device) = self.device else { return };
        let Some(_turn) = self.limits.health.begin_probe() else { return };
        let mut last = String::new();
        for _ in 0..PROBES {
            let begin = Instant::now();
            match self.probe_once(device, PROBE_LIMIT, PROBE_LIMIT) {
                None => return,
                Some(Ok(())) => return self.limits.health.probe_passed(),
                Some(Err(reason)) => last = reason,
            }
            self.limits.hang_budget.add(begin.elapsed());
        }
        self.lose(device, last, Some(self.id(after)));
    }

    /// Makes the device lost after a test, or before the first one.
    fn lose(&self, device: &TestDevice, reason: String, after: Option<String>) {
        if let Some(lost) = self.limits.health.lose(&device.run.id, reason, after) {
            self.state.recorder.device_lost(lost);
        }
        if let Some(answers) = &self.state.run.answers {
            answers.forget(&device.run.id);
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
        let (time, begin) = (SystemTime::now(), Instant::now());
        let probed = Worker::probe(&self.config.commands, start_limit, limit, &stop.signal);
        let duration = begin.elapsed();
        let result = match probed.map_err(WorkerLost::reason) {
            Ok(worker) => {
                *self.probed.lock() = Some(worker);
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
        self.probed.lock().take()
    }

    /// Records the last result of a test in the round. A test that went wrong before a cut, and has not run since,
    /// keeps the result that it has.
    pub fn finished(&self, position: usize, result: &TestResult) {
        let RunState { run, recorder, stop, .. } = self.state;
        self.rounds.end(position, &result.outcome);
        if result.verdict == Verdict::NotRun
            && !stop.signal.is_set()
            && result.number == run.so_far.attempts[position] + 1
            && let Some(before) = self.before_cut(position).pop()
        {
            self.limits.count(&before);
            return recorder.tell(position, &before);
        }
        self.limits.count(result);
        if !run.repeat.is_on() {
            return recorder.finished(position, result);
        }
        // In a later round, the test has a result.
        if self.rounds.number() == 1 || result.verdict != Verdict::NotRun {
            recorder.record(Event::finished(result.clone()));
        }
        recorder.observer.finished_in_round(position, result);
    }
}
