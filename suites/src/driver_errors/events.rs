//! Events: user events, waits and queries (5.11).

use super::prelude::*;
use super::query::{UNKNOWN, check_query};

/// The event of a command that has completed.
fn event_of_a_command(bench: &Bench) -> Object {
    let marker = Kind::Marker.enqueue(&mut bench.no_operands(), Call::on(bench.queue));
    finish(bench.queue);
    marker
}

/// Waits for events, and checks the code.
#[track_caller]
fn check_wait(events: &[cl_event], rule: &str, named: cl_int) {
    assert_code(("clWaitForEvents", wait(events)), rule, &[named]);
}

#[clmatrix_harness::test]
fn a_user_event_cannot_begin(bench: Bench) {
    let event = Gate::closed(bench.context);
    let answer = answer!(clSetUserEventStatus(event.raw(), CL_RUNNING));
    // A driver may wait for the event when the context is released.
    event.open();
    assert_code(answer, "only the end of a user event is set", &[CL_INVALID_VALUE]);
}

#[rstest]
#[case::complete(CL_COMPLETE)]
#[case::failed(-5)]
#[clmatrix_harness::test]
fn a_user_event_cannot_end_twice(bench: Bench, #[case] status: cl_int) {
    let event = Gate::closed(bench.context);
    event.open();
    let answer = answer!(clSetUserEventStatus(event.raw(), status));
    assert_code(answer, format_args!("the second status is {status}"), &[CL_INVALID_OPERATION]);
}

#[clmatrix_harness::test]
fn the_status_of_a_command_cannot_be_set(bench: Bench) {
    let event = event_of_a_command(&bench);
    let answer = answer!(clSetUserEventStatus(event.raw(), CL_COMPLETE));
    assert_code(answer, "the event is that of a command", &[CL_INVALID_EVENT]);
}

#[rstest]
#[clmatrix_harness::test]
fn a_wait_for_no_events_is_refused(#[from(on_device)] _on_device: OnDevice) {
    check_wait(&[], "no events", CL_INVALID_VALUE);
}

#[clmatrix_harness::test]
fn a_wait_for_a_null_event_is_refused(bench: Bench) {
    let event = event_of_a_command(&bench);
    check_wait(&[event.raw(), NULL], "the second event is null", CL_INVALID_EVENT);
}

#[clmatrix_harness::test]
fn a_wait_for_events_of_two_contexts_is_refused(
    bench: Bench,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let elsewhere = ctx_factory()?;
    let events = [bench.context, elsewhere.as_raw()].map(Gate::closed);
    events.iter().for_each(Gate::open);
    check_wait(&events.each_ref().map(Gate::raw), "events of two contexts", CL_INVALID_CONTEXT);
    Ok(())
}

#[clmatrix_harness::test]
fn an_unknown_query_is_refused(bench: Bench) {
    let event = event_of_a_command(&bench);
    check_query(Subject::Event(event.raw()), UNKNOWN, CL_INVALID_VALUE);
}
