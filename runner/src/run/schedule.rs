//! Runs a plan: a thread per device and slot, each with a worker of its own.
//!
//! Devices never wait for each other. A device is probed first. Then each of its `Slot`s takes the next test
//! and hands it to its worker.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::log::recorder::Recorder;
use crate::os::StopSignal;
use crate::permits::Permits;
use crate::run::slot::Slot;
use crate::run::{DeviceRun, Entry, Run, RunState};

/// Runs all tests; returns when each entry of the plan has a result. Returns whether some device repeated
/// its tests less often than it should.
pub fn execute(run: &Run<'_>, recorder: &Recorder<'_>, stop: &StopSignal) -> bool {
    let state = RunState {
        run,
        recorder,
        stop,
        permits: Permits::default(),
        attempts: run.so_far.attempts.iter().copied().map(AtomicU32::new).collect(),
        unexpected: AtomicUsize::new(0),
        started: Instant::now(),
    };
    let lacks_repeats = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for device_run in device_runs(&state) {
            let lacks_repeats = &lacks_repeats;
            scope.spawn(move || {
                device_run.probe_before_tests();
                recorder.observer.device_begins();
                lacks_repeats.fetch_or(run_tests(&device_run), Ordering::Relaxed);
            });
        }
    });
    recorder.observer.ended();
    lacks_repeats.into_inner()
}

/// Runs the tests of a device. Returns whether they were repeated less often than they should.
fn run_tests(device_run: &DeviceRun<'_>) -> bool {
    let mut slots: Vec<_> =
        (0..device_run.slots()).map(|number| Slot::new(device_run, number)).collect();
    std::thread::scope(|scope| {
        for slot in &mut slots {
            scope.spawn(|| slot.work());
        }
    });
    let lacks_repeats = device_run.lacks_repeats();
    std::thread::scope(|scope| {
        for slot in slots {
            scope.spawn(|| slot.end());
        }
    });
    lacks_repeats
}

/// Returns the tests of each device, and at last those that need none.
fn device_runs<'a>(state: &'a RunState<'a>) -> impl Iterator<Item = DeviceRun<'a>> {
    let run = state.run;
    let host = run.devices.len();
    let mut entries = vec![Vec::new(); host + 1];
    for (position, entry) in run.plan.positions() {
        entries[entry.device.map_or(host, |device| device as usize)].push(position);
    }
    entries.into_iter().enumerate().map(move |(at, mut entries)| {
        let config = run.devices.get(at).unwrap_or(&run.host);
        if run.seed.is_none() && config.settings.slots.count() > 1 {
            order_longest_first(&mut entries, run);
        }
        DeviceRun::new(state, at, entries)
    })
}

/// Orders tests for several slots, so that no long test is left to one of them at the end: those of unknown duration,
/// which may be long, then the longest first. Tests that run alone come last, so that the slots wait for each other
/// only once.
fn order_longest_first(entries: &mut [Entry], run: &Run<'_>) {
    entries.sort_by_cached_key(|position| {
        let entry = &run.plan.entries[*position];
        let duration = run.durations.get(&run.plan.id(entry)).copied();
        (run.is_alone(*position), Reverse(duration.unwrap_or(Duration::MAX)))
    });
}
