//! Runs a plan: a thread per device and slot, each with a worker of its own.
//!
//! Devices never wait for each other. Within a device, each `Slot` takes the next test and hands it to
//! its worker.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::{Duration, Instant};

use crate::config::{DeviceSettings, FlakyResult, UnexpectedPass};
use crate::log::recorder::Recorder;
use crate::run::characterize::Characterize;
use crate::run::device_run::DeviceRun;
use crate::run::interrupt::Stop;
use crate::run::plan::{Plan, Planned};
use crate::run::repeat::Repeat;
use crate::run::slot::Slot;
use crate::run::so_far::SoFar;
use crate::verdict::Expectation;
use crate::worker::commands::WorkerCommands;

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
    /// Run tests that only an expectation skips.
    pub run_skipped: bool,
    /// The number of unexpected results after which the run stops.
    pub max_fail: Option<usize>,
    /// The seed of the order of the tests on each device; `None`: the order of the sources.
    pub seed: Option<u64>,
    /// The rounds of each device over its tests.
    pub repeat: Repeat,
    /// The part of the run that has ended before.
    pub so_far: SoFar,
    /// The durations of tests in an earlier run, by their ids, if the order depends on them.
    pub durations: HashMap<String, Duration>,
    /// The time after which the run stops.
    pub deadline: Option<Duration>,
    /// Look for the test that breaks an order-dependent test.
    pub bisect: bool,
    /// The effect of a flaky result.
    pub flaky_result: FlakyResult,
    /// The effect of an unexpected pass.
    pub unexpected_pass: UnexpectedPass,
    /// Pass the output of running tests to the observer.
    pub echo: bool,
    /// The properties of devices that are queried beyond the usual ones.
    pub characterize: Option<Characterize>,
}

impl Run<'_> {
    /// Returns whether the order of tests depends on their durations in an earlier run.
    pub fn has_order_by_durations(&self) -> bool {
        let mut configs = self.devices.iter().chain([&self.host]);
        self.seed.is_none() && configs.any(|config| config.settings.slots > 1)
    }
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
    pub stop: &'a Stop,
    /// The number of attempts of each entry so far.
    pub attempts: Vec<AtomicU32>,
    /// The number of unexpected results.
    pub unexpected: AtomicUsize,
    pub started: Instant,
}

/// Runs everything; returns when each entry of the plan has a settled result.
pub fn execute(run: &Run<'_>, recorder: &Recorder<'_>, stop: &Stop) {
    let state = RunState {
        run,
        recorder,
        stop,
        attempts: run.so_far.attempts.iter().copied().map(AtomicU32::new).collect(),
        unexpected: AtomicUsize::new(0),
        started: Instant::now(),
    };
    std::thread::scope(|scope| {
        for device_run in device_runs(&state) {
            let device_run = Arc::new(device_run);
            for number in 0..device_run.slots() {
                let device_run = device_run.clone();
                scope.spawn(move || Slot::new(&device_run, number).work());
            }
        }
    });
    if run.repeat.is_on() {
        for (position, entry) in run.plan.entries.iter().enumerate() {
            recorder.settled_after_rounds(position, &run.plan.id(entry));
        }
    }
}

fn device_runs<'a>(state: &'a RunState<'a>) -> Vec<DeviceRun<'a>> {
    let run = state.run;
    let configs = run.devices.iter().chain([&run.host]);
    let devices = run.plan.devices.iter().map(Some).chain([None]);
    let host = run.devices.len();
    let mut entries = vec![Vec::new(); host + 1];
    for (position, entry) in run.plan.entries.iter().enumerate() {
        entries[entry.device.map_or(host, |device| device as usize)].push(position);
    }
    let device_run = |((config, device), mut entries): ((&'a WorkerConfig, _), Vec<usize>)| {
        if run.seed.is_none() && config.settings.slots > 1 {
            order_longest_first(&mut entries, run);
        }
        DeviceRun::new(state, config, device, entries)
    };
    configs.zip(devices).zip(entries).map(device_run).collect()
}

/// Orders tests for several slots, so that no long test is left to one of them at the end: those of
/// unknown duration, which may be long, then the longest first. Tests that run alone come last, and make
/// the slots wait for each other once only.
fn order_longest_first(entries: &mut [usize], run: &Run<'_>) {
    entries.sort_by_cached_key(|position| {
        let entry = &run.plan.entries[*position];
        let duration = run.durations.get(&run.plan.id(entry)).copied();
        (entry.test.alone(), Reverse(duration.unwrap_or(Duration::MAX)))
    });
}
