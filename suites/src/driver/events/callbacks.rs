//! Callbacks of events (5.11, clSetEventCallback).

use std::thread;
use std::time::Duration;

use clmatrix::cl3::command_queue::CL_QUEUE_PROFILING_ENABLE;

use super::super::callback::{UserData, of_event};
use super::*;

/// The function of a callback.
type Function = extern "C" fn(cl_event, cl_int, *mut c_void);

/// A callback of an event for a status.
struct Callback {
    of: &'static str,
    event: usize,
    status: Named<cl_int>,
    data: UserData,
}

impl Callback {
    /// Sets the callback.
    fn set(
        of: &'static str,
        event: cl_event,
        status: Named<cl_int>,
        function: Function,
        data: UserData,
    ) -> Self {
        let pointer = data.pointer();
        // SAFETY: the event is valid, and the function makes no call that blocks.
        unsafe { ok!(clSetEventCallback(event, status.value, Some(function), pointer)) };
        Self { of, event: event as usize, status, data }
    }

    /// Sets a callback for each status that one may be for.
    fn set_each(of: &'static str, event: cl_event) -> [Self; 3] {
        let statuses = [named!(CL_COMPLETE), named!(CL_RUNNING), named!(CL_SUBMITTED)];
        statuses.map(|status| Self::set(of, event, status, of_event, UserData::new()))
    }

    /// The call in words.
    fn call(&self) -> String {
        format!("clSetEventCallback({}) of {}", self.status.name, self.of)
    }

    /// Waits for callbacks, and checks that each is called once, with the status that it was set for
    /// (`is_exact`) or past it.
    fn check_all(all: &[Self], is_exact: bool, bench: &Bench, findings: &Findings) {
        UserData::wait(bench, &all.iter().map(|callback| callback.data).collect::<Vec<_>>());
        for callback in all {
            let Self { event, status, data, .. } = callback;
            let (status, or_past) =
                (status.value as usize, if is_exact { "" } else { " or past it" });
            let reached = if is_exact { status } else { 0 }..=status;
            let is_right = |call: &[usize]| call[0] == *event && reached.contains(&call[1]);
            let data_of = data.pointer();
            let rule = format_args!(
                "one call, with event {event:x}, status {status}{or_past}, user data {data_of:?} (5.11)"
            );
            data.check_once(findings, is_right, callback.call(), rule);
        }
    }

    /// Checks that no callback for a status after CL_SUBMITTED has been called.
    fn check_none(all: &[Self], findings: &Findings) {
        for callback in all.iter().filter(|callback| callback.status.value < CL_SUBMITTED) {
            let rule = "no call before the event has the status (5.11)";
            callback.data.check_none(findings, callback.call(), rule);
        }
    }
}

per_kind! {
    fn callbacks_set_before_the_end_are_called(bench, kind) {
        let findings = Findings::default();
        let (mut operands, event, gate) = gated(&bench, kind, bench.queue);
        let set = [(); 2].map(|()| Callback::set_each(kind.function(), event.raw()));
        let set: Vec<_> = set.into_iter().flatten().collect();
        while_flushed(bench.queue, gate, |_gate| {
            thread::sleep(Duration::from_millis(3));
            Callback::check_none(&set, &findings);
        });
        wait(&event);
        kind.finish(&mut operands, bench.queue);
        Callback::check_all(&set, false, &bench, &findings);
    }
}

#[rstest]
#[clmatrix_harness::test]
fn callbacks_set_after_the_end_are_called(bench: Bench) {
    let findings = Findings::default();
    let kinds: Vec<_> = bench.kinds().collect();
    let (mut operands, mut set) = (bench.operands(&kinds), Vec::new());
    for kind in kinds {
        kind.prepare(&mut operands, bench.queue);
        let event = kind.enqueue(&mut operands, Call::on(bench.queue));
        kind.finish(&mut operands, bench.queue);
        set.extend(Callback::set_each(kind.function(), event.raw()));
    }
    let gate = Gate::closed(bench.context);
    gate.open();
    set.extend(Callback::set_each("a user event", gate.raw()));
    Callback::check_all(&set, false, &bench, &findings);
}

#[rstest]
#[case::submitted(named!(CL_SUBMITTED), UserData::new())]
#[case::running(named!(CL_RUNNING), UserData::new())]
#[case::complete(named!(CL_COMPLETE), UserData::new())]
#[case::null_user_data(named!(CL_COMPLETE), UserData::null())]
#[clmatrix_harness::test]
fn a_callback_of_a_user_event_is_called(
    bench: Bench,
    #[case] status: Named<cl_int>,
    #[case] data: UserData,
) {
    let findings = Findings::default();
    let gate = Gate::closed(bench.context);
    let set = [Callback::set("a user event", gate.raw(), status, of_event, data)];
    Callback::check_none(&set, &findings);
    gate.open();
    Callback::check_all(&set, false, &bench, &findings);
}

#[rstest]
#[case::before_the_end(false)]
#[case::after_the_end(true)]
#[clmatrix_harness::test(requires(opencl = "2.0"))]
fn a_callback_gets_the_status_that_it_was_set_for(bench: Bench, #[case] has_ended: bool) {
    let findings = Findings::default();
    let (_operands, event, gate) = gated(&bench, Kind::FillBuffer, bench.queue);
    if has_ended {
        gate.open();
        wait(&event);
    }
    let set = Callback::set_each("clEnqueueFillBuffer", event.raw());
    gate.open();
    wait(&event);
    Callback::check_all(&set, true, &bench, &findings);
}

#[rstest]
#[clmatrix_harness::test]
fn a_callback_of_a_released_event_is_called(bench: Bench) {
    let findings = Findings::default();
    let (_operands, event, gate) = gated(&bench, Kind::FillBuffer, bench.queue);
    let (of, data) = ("an event without references", UserData::new());
    let set = Callback::set(of, event.raw(), named!(CL_COMPLETE), of_event, data);
    event.release();
    gate.open();
    finish(bench.queue);
    Callback::check_all(&[set], false, &bench, &findings);
}

/// A callback that asks for the status of its event.
extern "C" fn asks_for_the_status(event: cl_event, _: cl_int, user_data: *mut c_void) {
    let answer = Subject::Event(event).bytes(CL_EVENT_COMMAND_EXECUTION_STATUS);
    of_event(event, answer.map_or_else(|code| code, |bytes| bytes[0].into()), user_data);
}

/// A callback that asks when its event has ended.
extern "C" fn asks_for_the_end(event: cl_event, _: cl_int, user_data: *mut c_void) {
    of_event(event, super::profiles::code(event, CL_PROFILING_COMMAND_END), user_data);
}

#[rstest]
#[case::status(asks_for_the_status, "clGetEventInfo(CL_EVENT_COMMAND_EXECUTION_STATUS)")]
#[case::end(asks_for_the_end, "clGetEventProfilingInfo(CL_PROFILING_COMMAND_END)")]
#[clmatrix_harness::test]
fn a_command_has_ended_in_its_callback(
    bench: Bench,
    #[case] function: Function,
    #[case] query: &str,
) {
    let findings = Findings::default();
    let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
    for kind in [Kind::FillBuffer, Kind::ReadBuffer, Kind::Marker, Kind::UnmapBuffer] {
        let (mut operands, event, gate) = gated(&bench, kind, queue);
        let (of, data) = (kind.function(), UserData::new());
        Callback::set(of, event.raw(), named!(CL_COMPLETE), function, data);
        gate.open();
        wait(&event);
        UserData::wait(&bench, &[data]);
        let call = format_args!("{query} in the callback of {of} for CL_COMPLETE");
        let rule = "CL_SUCCESS, and CL_COMPLETE as the status (5.11, 5.14)";
        let answer = data.answer().map(|answer| answer as cl_int);
        let name = answer.map_or("has not called it", status_name);
        findings.check(answer == Some(0), call, rule, name);
        kind.finish(&mut operands, queue);
    }
}
