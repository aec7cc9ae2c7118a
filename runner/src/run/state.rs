//! A run: its plan and settings, and its state while it is in progress.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use crate::config::{DeviceSettings, Expectation, FlakyResult, UnexpectedPass};
use crate::devices::cache::MachineCache;
use crate::log::recorder::Recorder;
use crate::os::StopSignal;
use crate::permits::Permits;
use crate::result::{NotRunReason, TestId, WorkerEnd};
use crate::run::{Entry, Plan, SoFar};
use crate::worker::{JobCall, WorkerCommands};

/// A plan with its settings.
pub struct Run<'a> {
    /// The tests on their devices.
    pub plan: &'a Plan,
    /// The settings of each entry of the plan.
    pub settings: Vec<Arc<DeviceSettings>>,
    /// The configuration of the workers of each device of the plan.
    pub devices: Vec<WorkerConfig>,
    /// The configuration of the workers of tests that need no device.
    pub host: WorkerConfig,
    /// The expectations for the entries of the plan, and for the results of workers.
    pub expectations: PlanExpectations,
    /// The answers of recent runs: devices that work are not probed before their first test.
    pub answers: Option<MachineCache>,
    /// True if tests are run that are marked `#[ignore]`.
    pub include_ignored: bool,
    /// True if tests are run that only an expectation skips.
    pub run_skipped: bool,
    /// The number of unexpected results after which the run stops.
    pub max_fail: Option<usize>,
    /// The seed of the order of the tests on each device; `None`: the order of the sources.
    pub seed: Option<u64>,
    /// The repetition of the tests of each device.
    pub repeat: Repeat,
    /// The part of the run that has ended before.
    pub so_far: SoFar,
    /// The durations of tests in an earlier run, by their ids, if the order depends on them.
    pub durations: HashMap<TestId, Duration>,
    /// The time after which the run stops.
    pub deadline: Option<Duration>,
    /// The effect of a flaky result.
    pub flaky_result: FlakyResult,
    /// The effect of an unexpected pass.
    pub unexpected_pass: UnexpectedPass,
    /// True if the observer gets the output of running tests.
    pub echo: bool,
    /// The reason why no test is run, if there is one.
    pub not_run: Option<NotRunReason>,
    /// The query of the properties of devices, if they are recorded.
    pub device_query: Option<DeviceQuery>,
}

impl Run<'_> {
    /// Returns whether no other test runs on the device of an entry of the plan at the same time.
    pub fn is_alone(&self, position: Entry) -> bool {
        self.settings[position].alone || self.plan.entries[position].test.alone()
    }

    /// Returns the time limit of an entry of the plan.
    pub fn limit(&self, position: Entry) -> Duration {
        let settings = &self.settings[position];
        let own = settings.test_timeout.or_else(|| self.plan.entries[position].test.timeout());
        let expectation = self.expectations.tests.get(&position);
        settings.limit(own.into_iter().chain(expectation.and_then(|known| known.timeout)))
    }

    /// Returns whether the order of tests depends on their durations in an earlier run.
    pub fn has_order_by_durations(&self) -> bool {
        let mut configs = self.devices.iter().chain([&self.host]);
        self.seed.is_none() && configs.any(|config| config.settings.slots.count() > 1)
    }
}

/// The expectations for a plan.
pub struct PlanExpectations {
    /// For the entries of the plan that have one.
    pub tests: HashMap<Entry, Expectation, RandomState>,
    /// For the results of the workers of each device and of the host.
    pub of_workers: Vec<HashMap<WorkerEnd, Expectation>>,
}

/// The repetition of the tests of each device; by default none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeat {
    /// The number of times that each test runs; `None`: once, or as often as the other conditions allow.
    pub times: Option<u32>,
    /// The time after which no test is repeated.
    pub time: Option<Duration>,
    /// True if a device ends with its first unexpected result.
    pub until_fail: bool,
}

impl Repeat {
    /// Returns whether tests may run more than once.
    pub fn is_on(&self) -> bool {
        self.most() > 1
    }

    /// Returns the most times that a test runs.
    pub(super) fn most(&self) -> u32 {
        let is_endless = self.time.is_some() || self.until_fail;
        self.times.unwrap_or(if is_endless { u32::MAX } else { 1 })
    }
}

/// The query of the properties of each device that has tests, which the log records.
#[derive(Clone, Debug)]
pub struct DeviceQuery {
    /// A job whose output is a map of texts.
    pub call: JobCall,
    /// True if no test runs in the worker of the query, so that the first test has a fresh driver.
    pub ends_worker: bool,
}

/// The configuration of the workers of one device.
pub struct WorkerConfig {
    /// The commands that start a worker.
    pub commands: WorkerCommands,
    /// Limits, slots and the driver's diagnostics.
    pub settings: DeviceSettings,
}

/// Returns the seed of a shuffled order: the given one, or a random one of few digits.
pub fn shuffle_seed(shuffle: bool, seed: Option<u64>) -> Option<u64> {
    seed.or_else(|| shuffle.then(|| fastrand::u64(..1_000_000)))
}

/// A run in progress: the parts that all devices share.
pub(super) struct RunState<'a> {
    pub run: &'a Run<'a>,
    pub recorder: &'a Recorder<'a>,
    pub stop: &'a StopSignal,
    pub permits: Permits,
    /// The number of attempts of each entry so far.
    pub attempts: Vec<AtomicU32>,
    /// The number of unexpected results.
    pub unexpected: AtomicUsize,
    pub started: Instant,
}
