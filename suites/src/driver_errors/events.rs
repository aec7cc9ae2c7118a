//! Events: user events, waits and queries (5.11).

use super::prelude::*;

/// The event of a command that has completed.
fn event_of_a_command(on_device: &OnDevice) -> Event {
    let queue = &on_device.queue;
    // SAFETY: the wait list is empty.
    let marker = unsafe { enqueue_marker_with_wait_list(queue.as_raw(), 0, ptr::null()) };
    queue.finish().expect("the marker completes");
    // SAFETY: the driver has just created the event on this queue, with one reference.
    unsafe { queue.event_from_raw(marker.expect("a marker")) }.expect("an event")
}

#[clmatrix_harness::test]
fn a_user_event_cannot_begin(on_device: OnDevice) {
    let event = gate(&on_device.context);
    let found = code(set_user_event_status(event.as_raw(), CL_RUNNING));
    // A driver may wait for the event when the context is released.
    open(&event);
    assert_code(found, CL_INVALID_VALUE);
}

#[rstest]
#[case::complete(CL_COMPLETE)]
#[case::failed(-5)]
#[clmatrix_harness::test]
fn a_user_event_cannot_end_twice(on_device: OnDevice, #[case] status: cl_int) {
    let event = gate(&on_device.context);
    open(&event);
    assert_code(code(set_user_event_status(event.as_raw(), status)), CL_INVALID_OPERATION);
}

#[clmatrix_harness::test]
fn the_status_of_a_command_cannot_be_set(on_device: OnDevice) {
    let event = event_of_a_command(&on_device);
    assert_code(code(set_user_event_status(event.as_raw(), CL_COMPLETE)), CL_INVALID_EVENT);
}

#[rstest]
#[clmatrix_harness::test]
fn a_wait_for_no_events_is_refused(#[from(on_device)] _on_device: OnDevice) {
    assert_code(code(wait_for_events(&[])), CL_INVALID_VALUE);
}

#[clmatrix_harness::test]
fn a_wait_for_a_null_event_is_refused(on_device: OnDevice) {
    let event = event_of_a_command(&on_device);
    assert_code(code(wait_for_events(&[event.as_raw(), ptr::null_mut()])), CL_INVALID_EVENT);
}

#[clmatrix_harness::test]
fn a_wait_for_events_of_two_contexts_is_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let elsewhere = ctx_factory()?;
    let events = [gate(&on_device.context), gate(&elsewhere)];
    events.iter().for_each(open);
    let found = wait_for_events(&events.each_ref().map(|event| event.as_raw()));
    assert_code(code(found), CL_INVALID_CONTEXT);
    Ok(())
}

#[clmatrix_harness::test]
fn an_unknown_query_is_refused(on_device: OnDevice) {
    let event = event_of_a_command(&on_device);
    assert_code(code(get_event_data(event.as_raw(), 0x1234)), CL_INVALID_VALUE);
}
