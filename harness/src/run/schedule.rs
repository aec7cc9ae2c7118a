//! Runs a plan: a thread per device and slot, each with a worker of its own.
//!
//! Devices never wait for each other. A device is probed first. Then each of its `Slot`s takes the next test
//! and hands it to its worker.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::log::recorder::Recorder;
use crate::permits::Permits;
use crate::run::device_run::DeviceRun;
use crate::run::interrupt::Stop;
use crate::run::slot::Slot;
use crate::run::state::{Run, RunState};

/// Runs everything; returns when each entry of the plan has a result. Returns whether some device made fewer rounds
/// than it should.
pub fn execute(run: &Run<'_>, recorder: &Recorder<'_>, stop: &Stop) -> bool {
    let state = RunState {
        run,
        recorder,
        stop,
        permits: Permits::default(),
        attempts: run.so_far.attempts.iter().copied().map(AtomicU32::new).collect(),
        unexpected: AtomicUsize::new(0),
        started: Instant::now(),
    };
    let lacks_rounds = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for device_run in device_runs(&state) {
            let lacks_rounds = &lacks_rounds;
            scope.spawn(move || {
                device_run.probe_before_tests();
                recorder.observer.device_begins();
                lacks_rounds.fetch_or(run_rounds(&device_run), Ordering::Relaxed);
            });
        }
    });
    recorder.observer.ended();
    lacks_rounds.into_inner()
}

/// Runs the rounds of a device. The slots and their workers live on from round to round. Returns whether there were
/// fewer than there should be.
fn run_rounds(device_run: &DeviceRun<'_>) -> bool {
    let mut slots: Vec<_> =
        (0..device_run.slots()).map(|number| Slot::new(device_run, number)).collect();
    while device_run.begin_round() {
        std::thread::scope(|scope| {
            for slot in &mut slots {
                scope.spawn(|| slot.work());
            }
        });
    }
    let lacks_rounds = device_run.lacks_rounds();
    std::thread::scope(|scope| {
        for slot in slots {
            scope.spawn(|| slot.end());
        }
    });
    device_run.end_rounds();
    lacks_rounds
}

/// The tests of each device, and at last those that need none.
fn device_runs<'a>(state: &'a RunState<'a>) -> impl Iterator<Item = DeviceRun<'a>> {
    let run = state.run;
    let host = run.devices.len();
    let mut entries = vec![Vec::new(); host + 1];
    for (position, entry) in run.plan.entries.iter().enumerate() {
        entries[entry.device.map_or(host, |device| device as usize)].push(position);
    }
    entries.into_iter().enumerate().map(move |(at, mut entries)| {
        let config = run.devices.get(at).unwrap_or(&run.host);
        if run.seed.is_none() && config.settings.slots.count() > 1 {
            order_longest_first(&mut entries, run);
        }
        let expectations = &run.expectations.of_workers[at];
        DeviceRun::new(state, config, run.plan.devices.get(at), expectations, entries)
    })
}

/// Orders tests for several slots, so that no long test is left to one of them at the end: those of
/// unknown duration, which may be long, then the longest first. Tests that run alone come last, and make
/// the slots wait for each other once only.
fn order_longest_first(entries: &mut [usize], run: &Run<'_>) {
    entries.sort_by_cached_key(|position| {
        let entry = &run.plan.entries[*position];
        let duration = run.durations.get(&run.plan.id(entry)).copied();
        (run.is_alone(*position), Reverse(duration.unwrap_or(Duration::MAX)))
    });
}
