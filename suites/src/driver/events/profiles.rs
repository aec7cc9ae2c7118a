//! The times of commands (5.14), and the timers of the host and the device (4.2).

use std::thread;
use std::time::{Duration, Instant};

use clmatrix::cl3::command_queue::*;
use clmatrix::cl3::device::*;
use clmatrix::cl3::error_codes::{CL_INVALID_OPERATION, CL_PROFILING_INFO_NOT_AVAILABLE};
use clmatrix::cl3::event::*;
use clmatrix::cl3::memory::CL_MEM_READ_WRITE;
use clmatrix::cl3::platform::CL_PLATFORM_HOST_TIMER_RESOLUTION;
use clmatrix::cl3::types::{cl_event, cl_int};
use clmatrix_harness::skip;

use super::super::prelude::*;
use super::{check_complete, finish, gated, wait};

/// The times of a command, in their order; the last one since OpenCL 2.0.
static TIMES: [Named<u32>; 5] = [
    named!(CL_PROFILING_COMMAND_QUEUED),
    named!(CL_PROFILING_COMMAND_SUBMIT),
    named!(CL_PROFILING_COMMAND_START),
    named!(CL_PROFILING_COMMAND_END),
    named!(CL_PROFILING_COMMAND_COMPLETE),
];

/// The time that a command is held, in nanoseconds. The tests sleep for somewhat longer.
const HELD: u64 = 10_000_000;

/// The names of the times that a device has.
fn names(bench: &Bench) -> &'static [Named<u32>] {
    &TIMES[..if bench.is(2, 0) { 5 } else { 4 }]
}

/// The times of a command that has ended, in nanoseconds.
fn times(event: &Object, bench: &Bench) -> Vec<u64> {
    names(bench).iter().map(|query| Subject::Profile(event.raw()).value(*query)).collect()
}

/// Checks that time `later` of a command is not before another time.
fn check_after(
    (later, time): (usize, u64),
    earlier: u64,
    (of, rule): (&str, &str),
    findings: &Findings,
) {
    let call = format_args!("clGetEventProfilingInfo({}) of {of}", TIMES[later].name);
    let answer = format_args!("{time} ns, {} ns before {earlier}", earlier.wrapping_sub(time));
    findings.check(time >= earlier, call, rule, answer);
}

/// Checks the order of the times of a command.
fn check_order(times: &[u64], of: &str, findings: &Findings) {
    let rule = "a time of the device's timer, which is not 0 (5.14)";
    check_after((0, times[0]), 1, (of, rule), findings);
    for index in 1..times.len() {
        let rule = format!("not before {} (5.14)", TIMES[index - 1].name);
        check_after((index, times[index]), times[index - 1], (of, &rule), findings);
    }
}

/// An upper bound of the time that has passed on the device, in nanoseconds.
fn at_most(elapsed: Duration, bench: &Bench) -> u64 {
    let query = named!(CL_DEVICE_PROFILING_TIMER_RESOLUTION);
    let resolution: usize = Subject::Device(bench.device).value(query);
    // The clocks of host and device may differ by some parts of a million.
    elapsed.as_nanos() as u64 + 2 * resolution as u64 + 1_000_000
}

/// Sleeps for somewhat longer than [`HELD`].
fn hold() {
    thread::sleep(Duration::from_nanos(HELD + HELD / 5));
}

per_kind! {
    fn the_times_of_a_held_command_are_plausible(bench, kind) {
        let findings = Findings::default();
        let of = kind.function();
        let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
        let begin = Instant::now();
        let before = Kind::FillBuffer.enqueue(&mut bench.operands(&[]), Call::on(queue));
        let (mut operands, held, gate) = gated(&bench, kind, queue);
        let after = Kind::FillBuffer.enqueue(&mut operands, Call::on(queue));
        hold();
        gate.open();
        kind.finish(&mut operands, queue);
        let most = at_most(begin.elapsed(), &bench);
        let [before, held, after] = [before, held, after].map(|event| times(&event, &bench));
        check_order(&held, of, &findings);
        for (of, earlier, later) in [(of, &before, &held), ("clEnqueueFillBuffer", &held, &after)] {
            let rule = "not before the CL_PROFILING_COMMAND_QUEUED of an earlier command (5.14)";
            check_after((0, later[0]), earlier[0], (of, rule), &findings);
            let rule = "not before the CL_PROFILING_COMMAND_END of an earlier command, in order (5.14)";
            check_after((2, later[2]), earlier[3], (of, rule), &findings);
        }
        let rule = "at least 10 ms after CL_PROFILING_COMMAND_QUEUED, in nanoseconds, for a user event \
                    held the command (5.11, 5.14)";
        check_after((2, held[2]), held[0] + HELD, (of, rule), &findings);
        let all = after[3].wrapping_sub(before[0]);
        let call = format_args!("clGetEventProfilingInfo of three commands, {of} second");
        let rule = format_args!("at most {most} ns from the first to the last time (5.14)");
        findings.check(all <= most, call, rule, format_args!("{all} ns"));
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_long_command_ends_after_it_starts(bench: Bench) {
    const LONG: usize = 16 << 20;
    let findings = Findings::default();
    let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
    let [from, to] = [(); 2].map(|()| bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, LONG)));
    let mut event: cl_event = ptr::null_mut();
    let place = &raw mut event;
    // SAFETY: queue and buffers are valid, and the bench keeps them until the queue has finished.
    unsafe { ok!(clEnqueueCopyBuffer(queue, from, to, 0, 0, LONG, 0, ptr::null(), place)) };
    // SAFETY: the driver has just created the event.
    let event = unsafe { Object::new(Class::Event, event) };
    wait(&event);
    let times = times(&event, &bench);
    let rule = ("clEnqueueCopyBuffer of 16 MiB", "after CL_PROFILING_COMMAND_START (5.14)");
    check_after((3, times[3]), times[2] + 1, rule, &findings);
}

#[rstest]
#[case::marker(Kind::Marker, 0)]
#[case::barrier(Kind::Barrier, 0)]
#[case::marker_out_of_order(Kind::Marker, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)]
#[case::barrier_out_of_order(Kind::Barrier, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)]
#[clmatrix_harness::test]
fn a_marker_ends_after_what_it_waits_for(bench: Bench, #[case] kind: Kind, #[case] order: u64) {
    let findings = Findings::default();
    if !bench.has_queues(order) {
        skip!("the device has no out-of-order queues");
    }
    let queue = bench.new_queue(order | CL_QUEUE_PROFILING_ENABLE);
    let (mut operands, fill, gate) = gated(&bench, Kind::FillBuffer, queue);
    let marker = kind.enqueue(&mut operands, Call::on(queue));
    gate.open();
    finish(queue);
    let [fill, marker] = [fill, marker].map(|event| times(&event, &bench));
    let rule = "not before the CL_PROFILING_COMMAND_END of the command before it (5.12, 5.14)";
    check_after((3, marker[3]), fill[3], (kind.function(), rule), &findings);
}

/// The code of a query of a time.
pub fn code(event: cl_event, query: u32) -> cl_int {
    let mut time = 0_u64;
    let place = (&raw mut time).cast();
    // SAFETY: the event is valid, and the place has the size of a time.
    unsafe { Subject::Profile(event).call(query, 8, place, ptr::null_mut()) }
}

/// Checks that the driver refuses to tell the times of an event.
fn check_unavailable(event: cl_event, of: &str, bench: &Bench, findings: &Findings) {
    for query in names(bench) {
        let code = code(event, query.value);
        let call = format_args!("clGetEventProfilingInfo({}) of {of}", query.name);
        let is_right = code == CL_PROFILING_INFO_NOT_AVAILABLE;
        findings.check(is_right, call, "CL_PROFILING_INFO_NOT_AVAILABLE (5.14)", code_name(code));
    }
}

#[rstest]
#[case::without_profiling(Kind::FillBuffer, 0, true, "a fill on a queue without profiling")]
#[case::marker_without_profiling(Kind::Marker, 0, true, "a marker on a queue without profiling")]
#[case::held(Kind::FillBuffer, CL_QUEUE_PROFILING_ENABLE, false, "a fill that has not ended")]
#[case::held_marker(Kind::Marker, CL_QUEUE_PROFILING_ENABLE, false, "a marker that has not ended")]
#[clmatrix_harness::test]
fn a_command_has_no_times(
    bench: Bench,
    #[case] kind: Kind,
    #[case] properties: u64,
    #[case] has_ended: bool,
    #[case] of: &str,
) {
    let findings = Findings::default();
    let queue = bench.new_queue(properties);
    let (_operands, event, gate) = gated(&bench, kind, queue);
    if has_ended {
        gate.open();
        finish(queue);
    }
    check_unavailable(event.raw(), of, &bench, &findings);
}

#[rstest]
#[clmatrix_harness::test]
fn a_user_event_has_no_times(bench: Bench) {
    let findings = Findings::default();
    let gate = Gate::closed(bench.context);
    check_unavailable(gate.raw(), "a user event", &bench, &findings);
    gate.open();
    check_unavailable(gate.raw(), "a user event that has ended", &bench, &findings);
}

/// The times of the device and of the host, in nanoseconds.
fn timers(bench: &Bench) -> [u64; 2] {
    let [mut device, mut host] = [0, 0];
    // SAFETY: the device and the places are valid.
    unsafe { ok!(clGetDeviceAndHostTimer(bench.device, &raw mut device, &raw mut host)) };
    [device, host]
}

#[rstest]
#[clmatrix_harness::test(requires(opencl = "2.1"))]
fn the_timers_of_host_and_device_go_on(bench: Bench) {
    let findings = Findings::default();
    let platform = Subject::Device(bench.device).handle(named!(CL_DEVICE_PLATFORM));
    let resolution = named!(CL_PLATFORM_HOST_TIMER_RESOLUTION);
    if Subject::Platform(platform).value::<u64>(resolution) == 0 {
        let mut time = 0_u64;
        // SAFETY: the device and the place are valid.
        let code = unsafe { cl!(clGetHostTimer(bench.device, &raw mut time)) };
        let rule = "CL_INVALID_OPERATION, for CL_PLATFORM_HOST_TIMER_RESOLUTION is 0 (4.1, 4.2)";
        findings.check(code == CL_INVALID_OPERATION, "clGetHostTimer", rule, code_name(code));
        return;
    }
    let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
    let begin = Instant::now();
    let [device, host] = timers(&bench);
    let event = Kind::FillBuffer.enqueue(&mut bench.operands(&[]), Call::on(queue));
    finish(queue);
    hold();
    let mut alone = 0_u64;
    // SAFETY: the device and the place are valid.
    unsafe { ok!(clGetHostTimer(bench.device, &raw mut alone)) };
    let [device_end, host_end] = timers(&bench);
    let most = at_most(begin.elapsed(), &bench);
    for (timer, passed) in [
        ("clGetHostTimer", alone.wrapping_sub(host)),
        ("clGetDeviceAndHostTimer(host_timestamp)", host_end.wrapping_sub(host)),
        ("clGetDeviceAndHostTimer(device_timestamp)", device_end.wrapping_sub(device)),
    ] {
        let rule = format_args!("from {HELD} to {most} ns after clGetDeviceAndHostTimer (4.2)");
        let answer = format_args!("{} ns", passed.cast_signed());
        findings.check((HELD..=most).contains(&passed), timer, rule, answer);
    }
    let times = times(&event, &bench);
    let is_between = times.iter().all(|time| (device..=device_end).contains(time));
    let call =
        format_args!("clGetEventProfilingInfo of a command between {device} and {device_end} ns");
    let rule = "a time between those of clGetDeviceAndHostTimer around the command (4.2)";
    findings.check(is_between, call, rule, format_args!("{times:?}"));
}

#[rstest]
#[case::fill(Kind::FillBuffer)]
#[case::marker(Kind::Marker)]
#[clmatrix_harness::test]
fn an_event_outlives_its_queue_and_objects(bench: Bench, #[case] kind: Kind) {
    let findings = Findings::default();
    let queue = bench.own_queue(bench.device, CL_QUEUE_PROFILING_ENABLE);
    let event = kind.enqueue(&mut bench.operands(&[kind]), Call::on(queue.raw()));
    finish(queue.raw());
    let before = times(&event, &bench);
    queue.release();
    bench.release_objects();
    wait(&event);
    let of = format!("{} after the release of its queue", kind.function());
    check_complete(&event, &of, "CL_COMPLETE (5.11)", &findings);
    let (query, expected) = (named!(CL_EVENT_COMMAND_TYPE), kind.command_type());
    let found: u32 = Subject::Event(event.raw()).value(query);
    let call = format_args!("clGetEventInfo({}) of {of}", query.name);
    findings.check(found == expected.value, call, expected.name, format_args!("{found:#x}"));
    let found = Subject::Event(event.raw()).handle(named!(CL_EVENT_CONTEXT));
    let call = format_args!("clGetEventInfo(CL_EVENT_CONTEXT) of {of}");
    findings.check(found == bench.context, call, "its context (5.11)", format_args!("{found:?}"));
    let found = times(&event, &bench);
    let (call, rule) =
        (format_args!("clGetEventProfilingInfo of {of}"), format!("{before:?} (5.14)"));
    findings.check(found == before, call, rule, format_args!("{found:?}"));
}
