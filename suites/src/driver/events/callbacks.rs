//! Callbacks of events (5.11, clSetEventCallback).

use super::*;

/// Sets a callback of an event for each of these statuses. The driver may pass another one before OpenCL 2.0, and to
/// callbacks of user events, which do not have all statuses.
fn set(bench: &Bench, of: &str, event: cl_event, statuses: &[Named<cl_int>]) -> Vec<Callback> {
    let queue = Subject::Event(event).handle(named!(CL_EVENT_COMMAND_QUEUE));
    let is_exact = bench.is(2, 0) && !queue.is_null();
    let one = |status: &Named<cl_int>| {
        let call = format!("clSetEventCallback({}) of {of}", status.name);
        let arguments = [event as usize, status.value as usize];
        set_one(call, status.value, of_event, &arguments[..if is_exact { 2 } else { 1 }])
    };
    statuses.iter().map(one).collect()
}

/// Checks that callbacks of an event that waits for a gate have not been called.
fn check_none(set: &[Callback], bench: &Bench) {
    set.iter().for_each(|callback| callback.check_none("before the event has the status", bench));
}

per_kind! {
    fn callbacks_set_before_the_end_are_called(bench, kind) {
        let of = format!("{}, which waits and has no other reference", kind.function());
        let queue = bench.new_queue(0);
        let (mut operands, event, gate) = gated(&bench, kind, queue);
        let all = set(&bench, &of, event.raw(), &[&STATUSES[..2], &STATUSES[..3]].concat());
        event.release();
        before_opening(&bench, &gate, || check_none(&all[..4], &bench));
        Callback::check_all(&all, &bench);
        kind.finish(&mut operands, queue);
    }
}

#[rstest]
#[case::complete(&STATUSES[..1])]
#[case::running_and_submitted(&STATUSES[1..3])]
#[clmatrix_harness::test]
fn callbacks_set_after_the_end_are_called(bench: Bench, #[case] statuses: &[Named<cl_int>]) {
    let gate = Gate::closed(bench.context);
    gate.open();
    let mut all = set(&bench, "a user event, which has ended", gate.raw(), statuses);
    for kind in bench.kinds() {
        let of = format!("{}, which has ended", kind.function());
        all.extend(set(&bench, &of, kind.run(&bench, bench.queue).raw(), statuses));
    }
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

// OpenCL names no limit, but programs let later commands run by callbacks.
#[clmatrix_harness::test]
fn a_callback_is_called_during_a_finish(bench: Bench) {
    let (mut operands, event, first) = gated(&bench, Kind::FillBuffer, bench.queue);
    let of = "clEnqueueFillBuffer, while clFinish waits for a later command";
    let all = set(&bench, of, event.raw(), &STATUSES[..1]);
    let (later, queue) = (Gate::closed(bench.context), bench.queue as usize);
    Kind::Marker.enqueue_without_event(&mut operands, Call::on(bench.queue).after(&[later.raw()]));
    thread::scope(|scope| {
        scope.spawn(move || finish(queue as *mut c_void));
        before_opening(&bench, &later, || {
            first.open();
            // Drivers may end both commands together: then there is nothing to check.
            let is_complete = |_| {
                thread::sleep(Duration::from_millis(1));
                status(event.raw()) == CL_COMPLETE
            };
            if (0..200).any(is_complete) {
                Callback::check_all(&all, &bench);
            }
        });
    });
}

/// The function of a callback, which may pass on another value in place of the status.
type Function = extern "C" fn(cl_event, cl_int, *mut c_void);

/// Sets a callback of an event for this status. Its function is to pass on these arguments, of which the event is the
/// first one.
fn set_one(call: String, status: cl_int, function: Function, arguments: &[usize]) -> Callback {
    let (callback, event) = (Callback::new(call, "5.11", arguments), arguments[0] as cl_event);
    // SAFETY: the event is valid; the function uses its arguments as numbers, and makes no call that blocks.
    unsafe { ok!(clSetEventCallback(event, status, Some(function), callback.data())) };
    callback
}

/// Passes on the sign of the status.
extern "C" fn sign(event: cl_event, status: cl_int, user_data: *mut c_void) {
    of_event(event, status.signum(), user_data);
}

#[rstest]
#[clmatrix_harness::test]
fn a_callback_gets_the_failure_of_its_event(bench: Bench, #[values(false, true)] is_user: bool) {
    let (_operands, command, gate) = gated(&bench, Kind::FillBuffer, bench.queue);
    let (event, of) =
        if is_user { (gate.raw(), "a user event") } else { (command.raw(), "a fill behind one") };
    let call = format!("clSetEventCallback(CL_COMPLETE) of {of}, which fails (status: its sign)");
    let callback = set_one(call, CL_COMPLETE, sign, &[event as usize, -1_i32 as usize]);
    gate.fail(CL_OUT_OF_RESOURCES);
    // The call may fail, as the command has.
    _ = wait(&[command.raw()]);
    Callback::check_all(&[callback], &bench);
}

/// Passes on the status, for which it asks.
extern "C" fn ask_status(event: cl_event, _: cl_int, user_data: *mut c_void) {
    let answer = Subject::Event(event).bytes(CL_EVENT_COMMAND_EXECUTION_STATUS);
    of_event(event, answer.map_or_else(|code| code, |bytes| bytes[0].into()), user_data);
}

/// Passes on the code of a query of the end.
extern "C" fn ask_end(event: cl_event, _: cl_int, user_data: *mut c_void) {
    let answer = Subject::Profile(event).bytes(CL_PROFILING_COMMAND_END);
    of_event(event, answer.err().unwrap_or(CL_SUCCESS), user_data);
}

#[rstest]
#[case::status(ask_status, "clGetEventInfo(CL_EVENT_COMMAND_EXECUTION_STATUS) is CL_COMPLETE")]
#[case::end(ask_end, "clGetEventProfilingInfo(CL_PROFILING_COMMAND_END) returns CL_SUCCESS")]
#[clmatrix_harness::test]
fn a_command_has_ended_in_its_callback(bench: Bench, #[case] ask: Function, #[case] query: &str) {
    let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
    for kind in [Kind::FillBuffer, Kind::ReadBuffer, Kind::Marker, Kind::UnmapBuffer] {
        let (mut operands, event, gate) = gated(&bench, kind, queue);
        let call = format!("{query} in the callback of {} for CL_COMPLETE", kind.function());
        // Both answers, CL_COMPLETE and CL_SUCCESS, are 0.
        let callback = set_one(call, CL_COMPLETE, ask, &[event.raw() as usize, 0]);
        gate.open();
        wait_for(&event);
        Callback::check_all(&[callback], &bench);
        kind.finish(&mut operands, queue);
    }
}
