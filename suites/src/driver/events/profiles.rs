//! The times of commands (5.14), and the timers of the host and the device (4.2).

use std::time::Instant;

use super::*;

/// The times of a command, in their order; the last one since OpenCL 2.0.
static TIMES: [Named<u32>; 5] = named![CL_PROFILING_COMMAND_QUEUED; CL_PROFILING_COMMAND_SUBMIT;
    CL_PROFILING_COMMAND_START; CL_PROFILING_COMMAND_END; CL_PROFILING_COMMAND_COMPLETE];

/// The time that a command is held, in nanoseconds, and a somewhat longer one, for which the tests sleep.
const HELD: i64 = 10_000_000;
const LONGER: Duration = Duration::from_millis(12);

/// The names of the times that a device has.
pub fn names(bench: &Bench) -> &'static [Named<u32>] {
    &TIMES[..if bench.is(2, 0) { 5 } else { 4 }]
}

/// An upper bound of the time that has passed on the device, in nanoseconds.
fn at_most(elapsed: Duration, bench: &Bench) -> i64 {
    let resolution: usize = bench.value(named!(CL_DEVICE_PROFILING_TIMER_RESOLUTION));
    // The clocks of host and device may differ by some parts of a million.
    elapsed.as_nanos() as i64 + 2 * resolution as i64 + 1_000_000
}

/// Checks that as many nanoseconds have passed between two times as a range has.
fn check_passed(bench: &Bench, call: impl Display, times: [u64; 2], range: [i64; 2], after: &str) {
    let (passed, [least, most]) = (times[1].wrapping_sub(times[0]).cast_signed(), range);
    let rule = format_args!("from {least} to {most} ns after {after}");
    bench.check((least..=most).contains(&passed), call, rule, format_args!("{passed} ns"));
}

per_kind! {
    fn the_times_of_a_command_are_plausible(bench, kind) {
        if kind == Kind::SvmFree && !bench.is(3, 0) {
            skip!("the driver may have no times of clEnqueueSVMFree before OpenCL 3.0 (5.14)");
        }
        let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
        let begin = Instant::now();
        let before = kind.run(&bench, queue);
        let (mut operands, held, gate) = gated(&bench, kind, queue);
        let after = Kind::FillBuffer.enqueue(&mut operands, Call::on(queue));
        thread::sleep(LONGER);
        gate.open();
        kind.finish(&mut operands, queue);
        let most = at_most(begin.elapsed(), &bench);
        let times = [before, held, after].map(|event| -> Vec<u64> {
            names(&bench).iter().map(|query| Subject::Profile(event.raw()).value(*query)).collect()
        });
        let function = kind.function();
        let of = [function, &format!("{function} behind a user event"), "a later command"];
        // A command and its time, and an earlier one and its time. In the first row, the user event is between.
        let own = |n: usize| (1..times[n].len()).map(move |time| (n, time, n, time - 1));
        let others = [(1, 2, 1, 0), (1, 0, 0, 0), (1, 2, 0, 3), (2, 0, 1, 0), (2, 2, 1, 3)];
        for (n, time, m, old) in others.into_iter().chain(own(0)).chain(own(1)) {
            let least = if (n, time, m, old) == others[0] { HELD } else { 0 };
            let call = format_args!("clGetEventProfilingInfo({}) of {}", TIMES[time].name, of[n]);
            let after = format!("{} of {} (5.11, 5.14)", TIMES[old].name, of[m]);
            check_passed(&bench, call, [times[m][old], times[n][time]], [least, most], &after);
        }
    }
}

#[rstest]
#[case::without_profiling(Some(Kind::FillBuffer), 0)]
#[case::marker_without_profiling(Some(Kind::Marker), 0)]
#[case::held(Some(Kind::FillBuffer), CL_QUEUE_PROFILING_ENABLE)]
#[case::held_marker(Some(Kind::Marker), CL_QUEUE_PROFILING_ENABLE)]
#[case::user_event(None, 0)]
#[clmatrix_harness::test]
fn a_command_has_no_times(bench: Bench, #[case] kind: Option<Kind>, #[case] properties: u64) {
    let (of, has_ended) = (kind.map_or("a user event", Kind::function), properties == 0);
    let state = if has_ended { "without profiling" } else { "which has not ended" };
    let queue = bench.new_queue(properties);
    let (_operands, event, gate) = gated(&bench, kind.unwrap_or(Kind::Marker), queue);
    if has_ended {
        gate.open();
        finish(queue);
    }
    let event = if kind.is_some() { event.raw() } else { gate.raw() };
    for query in names(&bench) {
        let code = Subject::Profile(event).bytes(query.value).err().unwrap_or(CL_SUCCESS);
        let call = format_args!("clGetEventProfilingInfo({}) of {of}, {state}", query.name);
        bench.check_code(code, CL_PROFILING_INFO_NOT_AVAILABLE, call, "it has no times (5.14)");
    }
}

#[clmatrix_harness::test(requires(opencl = "2.1"))]
fn the_timers_of_host_and_device_go_on(bench: Bench) {
    let resolution = named!(CL_PLATFORM_HOST_TIMER_RESOLUTION);
    if Subject::Platform(bench.platform()).value::<u64>(resolution) == 0 {
        skip!("the platform has no host timer: {} is 0", resolution.name);
    }
    let begin = Instant::now();
    let mut times = [[0_u64; 3]; 2];
    for [device, host, host_alone] in &mut times {
        // SAFETY: the device and the places are valid.
        unsafe {
            ok!(clGetDeviceAndHostTimer(bench.device, device, host));
            ok!(clGetHostTimer(bench.device, host_alone));
        }
        thread::sleep(LONGER);
    }
    let most = at_most(begin.elapsed(), &bench);
    // Both functions have the same timer of the host.
    let of = ["clGetDeviceAndHostTimer(device)", "clGetDeviceAndHostTimer(host)", "clGetHostTimer"];
    for (n, call) in of.into_iter().enumerate() {
        let after = format!("an earlier {} (4.2)", of[n.min(1)]);
        check_passed(&bench, call, [times[0][n.min(1)], times[1][n]], [HELD, most], &after);
    }
}
