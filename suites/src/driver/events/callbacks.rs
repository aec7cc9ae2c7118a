//! Callbacks of events (5.11, clSetEventCallback).

use super::super::{callback::of_event, order::stage::before_opening};
use super::*;

/// Sets a callback of an event for each of these statuses. The driver may pass another one before OpenCL 2.0, and to
/// callbacks of user events, which do not have all statuses.
fn set(bench: &Bench, of: &str, event: cl_event, statuses: &[Named<cl_int>]) -> Vec<Callback> {
    let queue = Subject::Event(event).handle(named!(CL_EVENT_COMMAND_QUEUE));
    let is_exact = bench.is(2, 0) && !queue.is_null();
    let one = |status: &Named<cl_int>| {
        let call = format!("clSetEventCallback({}) of {of}", status.name);
        let arguments = [event as usize, status.value as usize];
        let callback = Callback::new(call, "5.11", &arguments[..if is_exact { 2 } else { 1 }]);
        let data = callback.data();
        // SAFETY: the event is valid, and the callback uses its arguments as numbers.
        unsafe { ok!(clSetEventCallback(event, status.value, Some(of_event), data)) };
        callback
    };
    statuses.iter().map(one).collect()
}

/// Checks that callbacks of an event that waits for a gate have not been called.
fn check_none(set: &[Callback], bench: &Bench) {
    set.iter().for_each(|callback| callback.check_none("before the event has the status", bench));
}

per_kind! {
    fn callbacks_set_before_the_end_are_called(bench, kind) {
        let of = &format!("{}, which waits", kind.function());
        let queue = bench.new_queue(0);
        let (mut operands, event, gate) = gated(&bench, kind, queue);
        let statuses = [&STATUSES[..2], &STATUSES[..3]].concat();
        let all = set(&bench, of, event.raw(), &statuses);
        before_opening(&bench, &gate, || check_none(&all[..4], &bench));
        wait_for(&event);
        kind.finish(&mut operands, queue);
        Callback::check_all(&all, &bench);
    }
}

#[rstest]
#[case::complete(&STATUSES[..1])]
#[case::running_and_submitted(&STATUSES[1..3])]
#[clmatrix_harness::test]
fn callbacks_set_after_the_end_are_called(bench: Bench, #[case] statuses: &[Named<cl_int>]) {
    let kinds: Vec<_> = bench.kinds().collect();
    let (mut operands, mut all) = (bench.operands(&kinds), Vec::new());
    for kind in kinds {
        kind.prepare(&mut operands, bench.queue);
        let event = kind.enqueue(&mut operands, Call::on(bench.queue));
        kind.finish(&mut operands, bench.queue);
        let of = format!("{}, which has ended", kind.function());
        all.extend(set(&bench, &of, event.raw(), statuses));
    }
    let gate = Gate::closed(bench.context);
    gate.open();
    all.extend(set(&bench, "a user event, which has ended", gate.raw(), statuses));
    Callback::check_all(&all, &bench);
}

#[rstest]
#[case::complete(&STATUSES[..1])]
#[case::running(&STATUSES[1..2])]
#[case::submitted(&STATUSES[2..3])]
#[clmatrix_harness::test]
fn a_callback_of_a_user_event_is_called(bench: Bench, #[case] statuses: &[Named<cl_int>]) {
    let gate = Gate::closed(bench.context);
    let set = set(&bench, "a user event, which is open", gate.raw(), statuses);
    if statuses[0].value < CL_SUBMITTED {
        check_none(&set, &bench);
    }
    gate.open();
    Callback::check_all(&set, &bench);
}

#[clmatrix_harness::test]
fn a_callback_of_a_released_event_is_called(bench: Bench) {
    let (_operands, event, gate) = gated(&bench, Kind::FillBuffer, bench.queue);
    let set = set(&bench, "an event without references", event.raw(), &STATUSES[..1]);
    event.release();
    gate.open();
    finish(bench.queue);
    Callback::check_all(&set, &bench);
}

/// A callback that keeps the sign of the status.
extern "C" fn of_failure(event: cl_event, status: cl_int, user_data: *mut c_void) {
    of_event(event, status.signum(), user_data);
}

#[rstest]
#[clmatrix_harness::test]
fn a_callback_gets_the_failure_of_its_event(bench: Bench, #[values(false, true)] is_user: bool) {
    let (_operands, command, gate) = gated(&bench, Kind::FillBuffer, bench.queue);
    let (event, of) =
        if is_user { (gate.raw(), "a user event") } else { (command.raw(), "a fill behind one") };
    let call = format!("clSetEventCallback(CL_COMPLETE) of {of}, which fails (status: its sign)");
    let callback = Callback::new(call, "5.11", &[event as usize, -1_isize as usize]);
    let data = callback.data();
    // SAFETY: the event is valid, and the callback uses its arguments as numbers.
    unsafe { ok!(clSetEventCallback(event, CL_COMPLETE, Some(of_failure), data)) };
    gate.fail(CL_OUT_OF_RESOURCES);
    // The call may fail, as the command has.
    _ = wait(&[command.raw()]);
    Callback::check_all(&[callback], &bench);
}

/// The function of a callback that asks the driver.
type Ask = extern "C" fn(cl_event, cl_int, *mut c_void);

/// A callback that asks for the status of its event.
extern "C" fn ask_status(event: cl_event, _: cl_int, user_data: *mut c_void) {
    let answer = Subject::Event(event).bytes(CL_EVENT_COMMAND_EXECUTION_STATUS);
    of_event(event, answer.map_or_else(|code| code, |bytes| bytes[0].into()), user_data);
}

/// A callback that asks when its event has ended.
extern "C" fn ask_end(event: cl_event, _: cl_int, user_data: *mut c_void) {
    let answer = Subject::Profile(event).bytes(CL_PROFILING_COMMAND_END);
    of_event(event, answer.err().unwrap_or(CL_COMPLETE), user_data);
}

#[rstest]
#[case::status(ask_status, "clGetEventInfo(CL_EVENT_COMMAND_EXECUTION_STATUS) is CL_COMPLETE")]
#[case::end(ask_end, "clGetEventProfilingInfo(CL_PROFILING_COMMAND_END) returns CL_SUCCESS")]
#[clmatrix_harness::test]
fn a_command_has_ended_in_its_callback(bench: Bench, #[case] ask: Ask, #[case] query: &str) {
    let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
    let kinds = [Kind::FillBuffer, Kind::ReadBuffer, Kind::Marker, Kind::UnmapBuffer];
    for kind in kinds {
        let (mut operands, event, gate) = gated(&bench, kind, queue);
        let call = format!("{query} in the callback of {} for CL_COMPLETE", kind.function());
        let callback = Callback::new(call, "5.11", &[event.raw() as usize, 0]);
        let data = callback.data();
        // SAFETY: the event is valid, and the function makes no call that blocks.
        unsafe { ok!(clSetEventCallback(event.raw(), CL_COMPLETE, Some(ask), data)) };
        gate.open();
        wait_for(&event);
        Callback::check_all(&[callback], &bench);
        kind.finish(&mut operands, queue);
    }
}
