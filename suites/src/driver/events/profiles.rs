//! The times of commands (5.14), and the timers of the host and the device (4.2).

use super::*;

/// The times of a command, in their order; the last one since OpenCL 2.0.
static TIMES: [Named<u32>; 5] = [
    named!(CL_PROFILING_COMMAND_QUEUED),
    named!(CL_PROFILING_COMMAND_SUBMIT),
    named!(CL_PROFILING_COMMAND_START),
    named!(CL_PROFILING_COMMAND_END),
    named!(CL_PROFILING_COMMAND_COMPLETE),
];

/// The time that a command is held, in nanoseconds, and a somewhat longer one, for which the tests sleep.
const HELD: u64 = 10_000_000;
const LONGER: Duration = Duration::from_millis(12);

/// The names of the times that a device has.
pub fn names(bench: &Bench) -> &'static [Named<u32>] {
    &TIMES[..if bench.is(2, 0) { 5 } else { 4 }]
}

/// The times of a command that has ended, in nanoseconds.
fn times(event: &Object, bench: &Bench) -> Vec<u64> {
    names(bench).iter().map(|query| Subject::Profile(event.raw()).value(*query)).collect()
}

/// An upper bound of the time that has passed on the device, in nanoseconds.
fn at_most(elapsed: Duration, bench: &Bench) -> u64 {
    let resolution: usize = bench.value(named!(CL_DEVICE_PROFILING_TIMER_RESOLUTION));
    // The clocks of host and device may differ by some parts of a million.
    elapsed.as_nanos() as u64 + 2 * resolution as u64 + 1_000_000
}

per_kind! {
    fn the_times_of_a_held_command_are_plausible(bench, kind) {
        if kind == Kind::SvmFree && !bench.is(3, 0) {
            skip!("the driver may have no times of clEnqueueSVMFree before OpenCL 3.0 (5.14)");
        }
        let of = kind.function();
        let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
        let begin = Instant::now();
        let before = Kind::FillBuffer.enqueue(&mut bench.operands(&[]), Call::on(queue));
        let (mut operands, held, gate) = gated(&bench, kind, queue);
        let after = Kind::FillBuffer.enqueue(&mut operands, Call::on(queue));
        thread::sleep(LONGER);
        gate.open();
        kind.finish(&mut operands, queue);
        let most = at_most(begin.elapsed(), &bench);
        let [before, held, after] = [before, held, after].map(|event| times(&event, &bench));
        let check = |of: &str, times: &[u64], n: usize, earlier: u64, rule: &str| {
            let call = format_args!("clGetEventProfilingInfo({}) of {of}", TIMES[n].name);
            let behind = earlier.wrapping_sub(times[n]);
            let answer = format_args!("{} ns, {behind} ns before {earlier}", times[n]);
            bench.check(times[n] >= earlier, call, format_args!("{rule} (5.14)"), answer);
        };
        check(of, &held, 0, 1, "a time of the device's timer, which is not 0");
        for n in 1..held.len() {
            check(of, &held, n, held[n - 1], &format!("not before {}", TIMES[n - 1].name));
        }
        for (of, earlier, later) in [(of, &before, &held), ("clEnqueueFillBuffer", &held, &after)] {
            let rule = "not before the CL_PROFILING_COMMAND_QUEUED of an earlier command";
            check(of, later, 0, earlier[0], rule);
            let rule = "not before the CL_PROFILING_COMMAND_END of an earlier command, in order";
            check(of, later, 2, earlier[3], rule);
        }
        let rule = "at least 10 ms after CL_PROFILING_COMMAND_QUEUED, in nanoseconds, for a user event \
                    held the command (5.11)";
        check(of, &held, 2, held[0] + HELD, rule);
        let all = after[3].wrapping_sub(before[0]);
        let call = format_args!("clGetEventProfilingInfo of three commands, {of} second");
        let rule = format_args!("at most {most} ns from the first to the last time (5.14)");
        bench.check(all <= most, call, rule, format_args!("{all} ns"));
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
        let call = "clGetHostTimer after clGetDeviceAndHostTimer";
        let rule = format!("from 0 to 1 s after its host_timestamp {host} (4.2)");
        let is_right = (*host..*host + 1_000_000_000).contains(host_alone);
        bench.check(is_right, call, rule, format!("{host_alone} ns"));
        thread::sleep(LONGER);
    }
    let most = at_most(begin.elapsed(), &bench);
    let calls =
        ["clGetDeviceAndHostTimer(device)", "clGetDeviceAndHostTimer(host)", "clGetHostTimer"];
    for (timer, call) in calls.into_iter().enumerate() {
        let passed = times[1][timer].wrapping_sub(times[0][timer]);
        let rule = format_args!("from {HELD} to {most} ns after an earlier call (4.2)");
        let is_right = (HELD..=most).contains(&passed);
        bench.check(is_right, call, rule, format_args!("{} ns", passed.cast_signed()));
    }
}
