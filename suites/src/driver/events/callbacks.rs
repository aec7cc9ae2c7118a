//! Callbacks of events (5.11, clSetEventCallback).

use std::thread;
use std::time::Duration;

use clmatrix::cl3::command_queue::CL_QUEUE_PROFILING_ENABLE;
use clmatrix::cl3::event::*;

use super::super::callback::{UserData, of_event};
use super::super::prelude::*;
use super::{STATUSES, gated, wait, while_flushed};

/// The function of a callback.
type Function = extern "C" fn(cl_event, cl_int, *mut c_void);

/// A callback of an event for a status.
#[derive(Clone, Copy)]
struct Callback {
    event: usize,
    status: Named<cl_int>,
    data: UserData,
}

impl Callback {
    /// Sets the callback.
    fn set(event: cl_event, status: Named<cl_int>, function: Function, data: UserData) -> Self {
        let pointer = data.pointer();
        // SAFETY: the event is valid, and the function makes no call that blocks.
        unsafe { ok!(clSetEventCallback(event, status.value, Some(function), pointer)) };
        Self { event: event as usize, status, data }
    }

    /// Sets a callback for each status that one may be for.
    fn set_each(event: cl_event) -> Vec<Self> {
        let one = |status: &Named<cl_int>| Self::set(event, *status, of_event, UserData::new());
        STATUSES[..3].iter().map(one).collect()
    }

    /// Waits for callbacks, and checks that each is called once.
    fn check_all<'a>(
        all: impl IntoIterator<Item = &'a (&'a str, Self)> + Clone,
        findings: &Findings,
    ) {
        UserData::wait(
            all.clone().into_iter().map(|(_, callback)| callback.data).collect::<Vec<_>>(),
        );
        for (of, Self { event, status, data }) in all {
            let reached = CL_COMPLETE as usize..=status.value as usize;
            let is_right = |call: &[usize]| call[0] == *event && reached.contains(&call[1]);
            let call = format_args!("clSetEventCallback({}) of {of}", status.name);
            let rule = format_args!(
                "one call, with event {event:x}, status {} or past it, user data {:?} (5.11)",
                status.value,
                data.pointer()
            );
            data.check_once(findings, is_right, call, rule);
        }
    }

    /// Checks that no callback for a status after CL_SUBMITTED has been called.
    fn check_none(all: &[(&str, Self)], findings: &Findings) {
        for (of, Self { status, data, .. }) in
            all.iter().filter(|(_, callback)| callback.status.value < CL_SUBMITTED)
        {
            let call = format_args!("clSetEventCallback({}) of {of}", status.name);
            data.check_none(findings, call, "no call before the event has the status (5.11)");
        }
    }
}

per_kind! {
    fn callbacks_set_before_the_end_are_called(bench, kind) {
        let findings = Findings::default();
        let (mut operands, event, gate) = gated(&bench, kind, bench.queue);
        let set = [(); 2].map(|()| Callback::set_each(event.raw()));
        let set: Vec<_> = set.concat().into_iter().map(|set| (kind.function(), set)).collect();
        while_flushed(bench.queue, gate, |_gate| {
            thread::sleep(Duration::from_millis(3));
            Callback::check_none(&set, &findings);
        });
        wait(&event);
        kind.finish(&mut operands, bench.queue);
        Callback::check_all(&set, &findings);
    }
}

#[rstest]
#[clmatrix_harness::test]
fn callbacks_set_after_the_end_are_called(bench: Bench) {
    let findings = Findings::default();
    let kinds: Vec<_> = bench.kinds().collect();
    let mut operands = bench.operands(&kinds);
    let mut events = Vec::new();
    for kind in kinds {
        kind.prepare(&mut operands, bench.queue);
        events.push((kind.function(), kind.enqueue(&mut operands, Call::on(bench.queue))));
        kind.finish(&mut operands, bench.queue);
    }
    let gate = Gate::closed(bench.context);
    gate.open();
    let user_event = ("a user event", gate.raw());
    let events = events.iter().map(|(of, event)| (*of, event.raw())).chain([user_event]);
    let set = events
        .flat_map(|(of, event)| Callback::set_each(event).into_iter().map(move |set| (of, set)));
    Callback::check_all(&set.collect::<Vec<_>>(), &findings);
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
    let set = [("a user event", Callback::set(gate.raw(), status, of_event, data))];
    Callback::check_none(&set, &findings);
    gate.open();
    Callback::check_all(&set, &findings);
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
    let set = Callback::set_each(event.raw());
    gate.open();
    wait(&event);
    UserData::wait(set.iter().map(|callback| callback.data));
    for Callback { status, data, .. } in set {
        let call = format_args!("clSetEventCallback({}) of clEnqueueFillBuffer", status.name);
        let rule = format_args!("one call, with event_command_status {} (5.11)", status.value);
        data.check_once(&findings, |call| call[1] == status.value as usize, call, rule);
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_callback_of_a_released_event_is_called(bench: Bench) {
    let findings = Findings::default();
    let (_operands, event, gate) = gated(&bench, Kind::FillBuffer, bench.queue);
    let set = Callback::set(event.raw(), named!(CL_COMPLETE), of_event, UserData::new());
    event.release();
    gate.open();
    super::finish(bench.queue);
    Callback::check_all(&[("an event without references", set)], &findings);
}

#[rstest]
#[clmatrix_harness::test]
fn callbacks_of_several_threads_are_called(bench: Bench) {
    let findings = Findings::default();
    let (_operands, event, gate) = gated(&bench, Kind::FillBuffer, bench.queue);
    let handle = event.raw() as usize;
    let set = while_flushed(bench.queue, gate, |gate| {
        thread::scope(|scope| {
            let set = move |_| Callback::set_each(handle as cl_event);
            let threads =
                [(); 2].map(|()| scope.spawn(move || (0..20).flat_map(set).collect::<Vec<_>>()));
            gate.open();
            threads.map(|thread| thread.join().expect("the calls are valid"))
        })
    });
    wait(&event);
    let of = "a command that ends meanwhile, by two threads";
    let set: Vec<_> = set.concat().into_iter().map(|set| (of, set)).collect();
    Callback::check_all(&set, &findings);
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
        let data = UserData::new();
        Callback::set(event.raw(), named!(CL_COMPLETE), function, data);
        gate.open();
        wait(&event);
        UserData::wait([data]);
        let call = format_args!("{query} in the callback of {} for CL_COMPLETE", kind.function());
        let rule = "CL_SUCCESS, and CL_COMPLETE as the status (5.11, 5.14)";
        data.check_once(&findings, |call| call[1] == 0, call, rule);
        kind.finish(&mut operands, queue);
    }
}
