//! Objects of another context. The library must refuse them: Oclgrind does not.
// quirk: OCLGRIND-9

use clmatrix::Result;
use clmatrix::memory::{
    MapRead, enqueue_copy_buffer, enqueue_fill_buffer, enqueue_map_buffer, enqueue_read_buffer,
    enqueue_write_buffer,
};
use clmatrix::{CommandQueue, UserEvent};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::{buffer_of, counting, refusal};
use crate::support::on_device::{OnDevice, on_device};

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
