//! Runs a plan: a thread per device and slot, each with a worker of its own.
//!
//! Devices never wait for each other. Within a device, each slot takes the next test and hands it
//! to its worker. A worker is used until a test goes wrong in it, or it has run as many as it may.
//!
//! A crash may come later than its cause: a thread of the driver crashes while the next test runs.
//! The scheduler therefore reruns a crashed test alone, in a fresh worker. If the test crashes again,
//! the crash is its own. If not, the test gets the verdict of the rerun, and the crash is attributed
//! to the test before it. A result is final only when the next test has ended.
// quirk: DRIVER-14

mod characterize;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::config::{DeviceSettings, Leftovers};
use crate::devices::TestDevice;
use crate::devices::selection::NO_DEVICE_FOUND;
use crate::log::events::{self, Charged, Started, TestName, TestResult};
use crate::log::recorder::Recorder;
use crate::registry::{Ignore, Test};
use crate::report::counted;
use crate::requirement;
use crate::run::health::Health;
use crate::run::interrupt::Stop;
use crate::run::plan::{Plan, Planned};
use crate::verdict::{Expectation, ExpectedStatus, Outcome, Verdict, judge};
use crate::worker::parent::{Attempt, KILLED_FROM_OUTSIDE, START_LIMIT, Worker, WorkerCommand};

/// After so many workers in a row that did not start, a device is given up. After so many in a row that
/// could not be prepared, workers are not prepared.
const START_TRIES: usize = 2;

/// After so many probes in a row that fail, a device is lost.
const PROBES: usize = 2;

/// A plan with all that is needed to run it.
pub struct Run<'a> {
    /// The tests on their devices.
    pub plan: &'a Plan,
    /// The configuration of the workers of each device of the plan.
    pub devices: Vec<WorkerConfig>,
    /// The configuration of the workers of tests that need no device.
    pub host: WorkerConfig,
    /// Looks up the expectation for an entry of the plan.
    pub expectation: &'a (dyn Fn(&Planned) -> Option<Expectation> + Sync),
    /// Run tests that are marked `#[ignore]`.
    pub include_ignored: bool,
    /// The number of unexpected results after which the run stops.
    pub max_fail: Option<usize>,
    /// The seed of the order of the tests on each device; `None`: the order of the sources.
    pub seed: Option<u64>,
    /// The time after which the run stops.
    pub deadline: Option<Duration>,
    /// Pass the output of running tests to the observer.
    pub echo: bool,
    /// Build kernels for the properties of devices that need that.
    pub characterize: bool,
}

/// The configuration of the workers of one device.
pub struct WorkerConfig {
    /// The command that starts a worker.
    pub command: WorkerCommand,
    /// Limits, slots and the driver's diagnostics.
    pub settings: DeviceSettings,
}

/// Returns the seed of a shuffled order: the given one, or a random one of few digits.
pub fn shuffle_seed(shuffle: bool, seed: Option<u64>) -> Option<u64> {
    seed.or_else(|| shuffle.then(|| fastrand::u64(..1_000_000)))
}

/// Runs everything; returns when each entry of the plan has a settled result.
pub fn execute(run: &Run<'_>, recorder: &Recorder<'_>, stop: &Stop) {
    let tests = &run.plan.test_positions()[..];
    let unexpected = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for device_run in device_runs(run) {
            let device_run = std::sync::Arc::new(device_run);
            let slots = device_run.config.settings.slots.min(device_run.entries.len());
            for number in 0..slots {
                let device_run = device_run.clone();
                scope.spawn(move || {
                    Slot::new(run, tests, &device_run, number as u32, recorder, stop, unexpected)
                        .work()
                });
            }
        }
    });
}

/// The tests of one device.
struct DeviceRun<'a> {
    config: &'a WorkerConfig,
    /// `None` for tests that need none.
    device: Option<&'a TestDevice>,
    /// True if the properties of the device are recorded.
    is_characterized: Mutex<bool>,
    /// Positions in the plan.
    entries: Vec<usize>,
    next: AtomicUsize,
    health: Health,
    failed_starts: AtomicUsize,
    /// Workers in a row that were lost when they made their first context.
    failed_preparations: AtomicUsize,
}

fn device_runs<'a>(run: &'a Run<'_>) -> Vec<DeviceRun<'a>> {
    let mut devices: Vec<DeviceRun<'a>> = run
        .devices
        .iter()
        .chain(std::iter::once(&run.host))
        .zip(run.plan.devices.iter().map(Some).chain([None]))
        .map(|(config, device)| DeviceRun {
            config,
            device,
            is_characterized: Mutex::new(false),
            entries: Vec::new(),
            next: AtomicUsize::new(0),
            health: Health::default(),
            failed_starts: AtomicUsize::new(0),
            failed_preparations: AtomicUsize::new(0),
        })
        .collect();
    let host = run.devices.len();
    for (position, entry) in run.plan.entries.iter().enumerate() {
        devices[entry.device.map_or(host, |device| device as usize)].entries.push(position);
    }
    if let Some(seed) = run.seed {
        let shuffle = |entries: &mut Vec<usize>| fastrand::Rng::with_seed(seed).shuffle(entries);
        devices.iter_mut().for_each(|device| shuffle(&mut device.entries));
    }
    devices
}

/// One worker's place and the thread that serves it.
struct Slot<'a> {
    run: &'a Run<'a>,
    /// The position of each entry's test in the log.
    tests: &'a [u32],
    device_run: &'a DeviceRun<'a>,
    /// The number of this slot of the device, from 0.
    number: u32,
    recorder: &'a Recorder<'a>,
    stop: &'a Stop,
    /// The number of unexpected results of the run.
    unexpected: &'a AtomicUsize,
    worker: Option<Worker>,
    /// The number of the last worker.
    worker_number: u32,
    /// The number of tests that this worker has run.
    tests_run: usize,
    /// The last result of this worker, which a delayed crash may still change.
    unsettled: Option<(usize, TestResult)>,
}

impl<'a> Slot<'a> {
    fn new(
        run: &'a Run<'a>,
        tests: &'a [u32],
        device_run: &'a DeviceRun<'a>,
        number: u32,
        recorder: &'a Recorder<'a>,
        stop: &'a Stop,
        unexpected: &'a AtomicUsize,
    ) -> Self {
        Self {
            run,
            tests,
            device_run,
            number,
            recorder,
            stop,
            unexpected,
            worker: None,
            worker_number: 0,
            tests_run: 0,
            unsettled: None,
        }
    }

    fn work(mut self) {
        while let Some(&position) =
            self.device_run.entries.get(self.device_run.next.fetch_add(1, Ordering::Relaxed))
        {
            self.take(position);
        }
        self.settle();
    }

    fn take(&mut self, position: usize) {
        let entry = &self.run.plan.entries[position];
        let started = SystemTime::now();
        let expectation = (self.run.expectation)(entry);
        if let Some(outcome) = self.outcome_without_running(entry, expectation.as_ref()) {
            let attempt = Attempt::without_running(outcome);
            let result = self.result(entry, started, attempt, expectation);
            self.recorder.finished(position, &result);
            self.settled(position, &result);
            return;
        }
        self.recorder.begun(position);
        let limit = self.device_run.config.settings.limit(entry.test.timeout);
        let attempt = self.attempt_with_crashes_attributed(position, started, limit);
        let worker_survived = attempt.worker_survived;
        let result = self.result(entry, started, attempt, expectation);
        self.recorder.finished(position, &result);
        let needs_probe = self.needs_probe(&result.test, &result.outcome);
        // Else the run would stop one test later.
        let counts = self.run.max_fail.is_some() && !result.verdict.is_as_expected();
        if let Some((position, previous)) = self.unsettled.replace((position, result)) {
            self.settled(position, &previous);
        }
        if !worker_survived || counts {
            self.settle();
        }
        if needs_probe {
            self.probe(position);
        }
    }

    /// Takes an outcome into account. Returns true if the worker was lost or a probe is due.
    fn needs_probe(&self, test: &str, outcome: &Outcome) -> bool {
        let is_due = self.device_run.health.note(test, outcome);
        is_due || matches!(outcome, Outcome::Crashed { .. } | Outcome::TimedOut { .. })
    }

    fn outcome_without_running(
        &self,
        entry: &Planned,
        expectation: Option<&Expectation>,
    ) -> Option<Outcome> {
        if self.stop.is_requested() {
            return Some(Outcome::NotRun { reason: self.stop.reason() });
        }
        if !self.run.include_ignored {
            match entry.test.ignore {
                Ignore::No => {}
                Ignore::Yes => return Some(Outcome::Ignored { reason: None }),
                Ignore::Because(reason) => {
                    return Some(Outcome::Ignored { reason: Some(reason.to_owned()) });
                }
            }
        }
        if let Some(lost) = self.device_run.health.lost() {
            return Some(Outcome::NotRun { reason: lost.not_run() });
        }
        if entry.lacks_device() {
            return Some(Outcome::NotRun { reason: NO_DEVICE_FOUND.to_owned() });
        }
        let device = self.run.plan.device(entry);
        let missing =
            |device: &TestDevice| requirement::missing(entry.test.requires, &device.run.info);
        if let Some(reason) = device.and_then(missing) {
            return Some(Outcome::Skipped { reason });
        }
        expectation
            .filter(|expectation| expectation.status == ExpectedStatus::Skip)
            .map(|expectation| Outcome::Skipped { reason: expectation.reason.clone() })
    }

    /// Runs a test; if it crashes after another one in the same worker, finds out whose crash it is.
    fn attempt_with_crashes_attributed(
        &mut self,
        position: usize,
        started: SystemTime,
        limit: Duration,
    ) -> Attempt {
        let attempt = self.attempt(position, 1, limit);
        let Some(crash @ Outcome::Crashed { how }) = &attempt.outcome else { return attempt };
        if how == KILLED_FROM_OUTSIDE || self.unsettled.is_none() {
            return attempt;
        }
        let entry = &self.run.plan.entries[position];
        self.device_run.health.note(&self.run.plan.id(entry), crash);
        self.probe(position);
        if self.device_run.health.lost().is_some() {
            return attempt;
        }
        let Some((previous, mut suspect)) = self.unsettled.take() else { return attempt };
        let expectation = (self.run.expectation)(entry);
        let crash = self.result(entry, started, attempt.clone(), expectation);
        self.recorder.repeated(position, crash);
        let rerun = self.attempt(position, 2, limit);
        match rerun.outcome {
            // Its own, then.
            Some(Outcome::Crashed { .. }) => {
                self.settled(previous, &suspect);
                rerun
            }
            // Unknown, so it is charged to no other test.
            None | Some(Outcome::NotRun { .. }) => {
                self.settled(previous, &suspect);
                attempt
            }
            Some(_) => {
                let victim = self.run.plan.id(&self.run.plan.entries[position]);
                suspect.outcome = Outcome::Crashed {
                    how: format!(
                        "{how}, delayed: it struck `{victim}`, which does not crash alone"
                    ),
                };
                self.recorder.charged(Charged {
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

    fn attempt(&mut self, position: usize, number: u32, limit: Duration) -> Attempt {
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => match self.start_prepared_worker() {
                Ok(worker) => worker,
                Err(mut reason) => {
                    self.probe(position);
                    if let Some(lost) = self.device_run.health.lost() {
                        reason = lost.not_run();
                    }
                    let outcome = Outcome::NotRun { reason };
                    return Attempt { number, ..Attempt::without_running(outcome) };
                }
            },
        };
        self.tests_run += 1;
        let entry = &self.run.plan.entries[position];
        let test = entry.test;
        self.recorder.started(Started {
            test: TestName::Position(self.tests[position]),
            device: Some(self.run.plan.device_id(entry).to_owned()),
            time: SystemTime::now(),
            attempt: number,
            worker: Some(self.worker_number),
            slot: Some(self.number),
            pid: Some(worker.process_id()),
        });
        let mut attempt = worker.run(test, limit, self.stop.signal(), &mut |from, bytes| {
            if self.run.echo {
                self.recorder.wrote(position, from, bytes);
            }
        });
        attempt.number = number;
        attempt.worker = Some(self.worker_number);
        let settings = &self.device_run.config.settings;
        if let Some(Outcome::Passed) = attempt.outcome {
            Self::fail_by_settings(settings, test, &mut attempt);
        }
        if settings.tests_per_worker.is_some_and(|most| self.tests_run >= most) {
            attempt.worker_survived = false;
        }
        // Any other is killed here: what went wrong in it must not touch the next test.
        if attempt.worker_survived {
            self.worker = Some(worker);
        }
        attempt
    }

    /// Fails a test that passed, if the driver complains of it, or if it has left something behind
    /// and the configuration makes that a failure.
    fn fail_by_settings(settings: &DeviceSettings, test: &Test, attempt: &mut Attempt) {
        if let Some(complaint) = settings.complaint_in(&attempt.stderr) {
            attempt.outcome = Some(Outcome::Failed {
                message: format!("the driver says: {complaint}"),
                location: None,
            });
            attempt.worker_survived = false;
        } else if settings.leftovers == Leftovers::Fail && !attempt.left_behind.is_empty() {
            let message = events::left_behind_text(&attempt.left_behind);
            attempt.outcome = Some(Outcome::Failed { message, location: Some(test.location()) });
        }
    }

    /// Starts a worker that has its baseline. If the driver fails at that, starts one without, so that
    /// the fault shows in the tests.
    fn start_prepared_worker(&mut self) -> Result<Worker, String> {
        let mut worker = self.start_worker()?;
        let failed = &self.device_run.failed_preparations;
        if failed.load(Ordering::Relaxed) >= START_TRIES {
            return Ok(worker);
        }
        if worker.prepare(self.stop.signal()).is_ok() {
            failed.store(0, Ordering::Relaxed);
            return Ok(worker);
        }
        failed.fetch_add(1, Ordering::Relaxed);
        drop(worker);
        self.start_worker()
    }

    /// Probes the device, each time in a worker of its own, until a probe passes or the device is lost.
    fn probe(&self, after: usize) {
        let DeviceRun { device, health, config, .. } = self.device_run;
        let Some(device) = device else { return };
        let Some(_turn) = health.begin_probe() else { return };
        let mut reason = String::new();
        for _ in 0..PROBES {
            match Worker::probe(&config.command, self.stop.signal()) {
                Ok(()) => return health.probe_passed(),
                Err(lost) => match lost.reason() {
                    Some(error) => reason = error,
                    None => return,
                },
            }
        }
        let after = self.run.plan.id(&self.run.plan.entries[after]);
        if let Some(lost) = health.lose(&device.run.id, reason, &after) {
            self.recorder.device_lost(lost);
        }
    }

    fn start_worker(&mut self) -> Result<Worker, String> {
        let failed = &self.device_run.failed_starts;
        if failed.load(Ordering::Relaxed) >= START_TRIES {
            return Err("the device was given up: its workers do not start any more".to_owned());
        }
        match Worker::start(&self.device_run.config.command, START_LIMIT, self.stop.signal()) {
            Ok(worker) => {
                failed.store(0, Ordering::Relaxed);
                self.tests_run = 0;
                self.worker_number = self.recorder.number_worker();
                // The worker may die while it is characterized; the next worker is not asked again.
                self.characterized(worker).map_or_else(|| self.start_worker(), Ok)
            }
            Err(lost) => Err(match lost.reason() {
                None => self.stop.reason(),
                Some(reason) => {
                    failed.fetch_add(1, Ordering::Relaxed);
                    format!("no worker could be started: {reason}")
                }
            }),
        }
    }

    /// Replaces a result that was good so far by the crash that it caused.
    fn charge(&self, position: usize, mut suspect: TestResult) {
        let expectation = (self.run.expectation)(&self.run.plan.entries[position]);
        suspect.verdict = judge(&suspect.outcome, expectation.as_ref());
        self.recorder.finished(position, &suspect);
        self.settled(position, &suspect);
    }

    fn settle(&mut self) {
        if let Some((position, result)) = self.unsettled.take() {
            self.settled(position, &result);
        }
    }

    /// Passes on a final result. Stops the run if it is the last unexpected result that may be.
    fn settled(&self, position: usize, result: &TestResult) {
        self.recorder.settled(position, result);
        if result.verdict == Verdict::NotRun || result.verdict.is_as_expected() {
            return;
        }
        let unexpected = self.unexpected.fetch_add(1, Ordering::Relaxed) + 1;
        if self.run.max_fail.is_some_and(|most| unexpected >= most) {
            self.stop.request(&format!("--max-fail: {}", counted(unexpected, "unexpected result")));
        }
    }

    fn result(
        &self,
        entry: &Planned,
        started: SystemTime,
        attempt: Attempt,
        expectation: Option<Expectation>,
    ) -> TestResult {
        let outcome =
            attempt.outcome.unwrap_or_else(|| Outcome::NotRun { reason: self.stop.reason() });
        TestResult {
            test: self.run.plan.id(entry),
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
