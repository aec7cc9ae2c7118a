//! Objects of another context. The library must refuse them: Oclgrind does not.
// quirk: OCLGRIND-9

use clmatrix::memory::{
    MapRead, WaitList, enqueue_copy, enqueue_copy_buffer, enqueue_fill_buffer, enqueue_map_buffer,
    enqueue_read_buffer, enqueue_write_buffer,
};
use clmatrix::{CommandQueue, Event, Result, UserEvent};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::{buffer_of, counting, refusal};
use crate::on_device::{OnDevice, on_device};

#[rstest]
#[clmatrix_harness::test]
fn buffers_of_another_context_are_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let elsewhere = OnDevice { context, queue };
    let (stranger, own) = (buffer_of(&elsewhere, &[1; 4])?, buffer_of(&on_device, &[1; 4])?);
    let queue = &on_device.queue;
    let mut data = counting(4);
    for refused in [
        enqueue_read_buffer(queue, &stranger, 0, &mut data, []),
        enqueue_write_buffer(queue, &stranger, 0, &counting(4), []),
        enqueue_fill_buffer(queue, &stranger, &1_u32, .., []),
        enqueue_copy_buffer(queue, &stranger, 0, &own, 0, 4, []),
        enqueue_copy_buffer(queue, &own, 0, &stranger, 0, 4, []),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    }
    let map = enqueue_map_buffer::<u32, _>(queue, &stranger, MapRead, .., []);
    assert_eq!(refusal(map), "CL_INVALID_CONTEXT");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn events_of_another_context_are_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let elsewhere = ctx_factory()?;
    let event = UserEvent::new(&elsewhere)?;
    event.set_complete()?;
    let (buffer, other) = (buffer_of(&on_device, &[1; 4])?, buffer_of(&on_device, &[1; 4])?);
    let queue = &on_device.queue;
    let mut data = counting(4);
    for refused in [
        enqueue_read_buffer(queue, &buffer, 0, &mut data, &event),
        enqueue_write_buffer(queue, &buffer, 0, &counting(4), &event),
        enqueue_fill_buffer(queue, &buffer, &1_u32, .., &event),
        enqueue_copy_buffer(queue, &buffer, 0, &other, 0, 4, &event),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    }
    let map = enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, .., &event);
    assert_eq!(refusal(map), "CL_INVALID_CONTEXT");
    let map = enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, .., [])?;
    assert_eq!(refusal(map.unmap(&event)), "CL_INVALID_CONTEXT");
    enqueue_write_buffer(queue, &buffer, 0, &counting(4), [])?;
    Ok(())
}

/// The forms of a wait list, each with an event of another context. The refusal names its position.
#[rstest]
#[clmatrix_harness::test]
fn every_form_of_a_wait_list_has_its_events(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let elsewhere = OnDevice { context, queue };
    let stranger = buffer_of(&elsewhere, &[1; 4])?;
    let transfer = enqueue_copy(&elsewhere.queue, vec![0_u32; 4], &stranger, .., [])?;
    let (own, user) = (UserEvent::new(&on_device.context)?, UserEvent::new(&elsewhere.context)?);
    own.set_complete()?;
    user.set_complete()?;
    let events: Vec<Event> = vec![own.clone(), user.clone()];
    let [first, second] = [&events[0], &events[1]];
    let buffer = buffer_of(&on_device, &[1; 4])?;
    let fill = |wait_for: WaitList<'_>| {
        enqueue_fill_buffer(&on_device.queue, &buffer, &7_u32, .., wait_for)
    };
    for (position, wait_for) in [
        (0, WaitList::from(second)),
        (0, WaitList::from(Some(second))),
        (0, WaitList::from(&user)),
        (0, WaitList::from(&transfer)),
        (1, WaitList::from([first, second])),
        (1, WaitList::from(&events[..])),
        (1, WaitList::from(&[first, second][..])),
        (1, WaitList::from(&events)),
        (1, events.iter().collect()),
    ] {
        let error = fill(wait_for).expect_err("an event is of another context");
        assert_eq!(error.code_name(), "CL_INVALID_CONTEXT");
        let expected = format!("event {position} of the wait list belongs to another context");
        assert_eq!(error.detail(), expected);
    }
    for empty in [WaitList::from([]), WaitList::from(None), WaitList::from(&events[..0])] {
        fill(empty)?.wait()?;
    }
    transfer.wait()?;
    Ok(())
}
