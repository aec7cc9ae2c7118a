//! Objects of another context. The library must refuse them: Oclgrind does not.
// quirk: OCLGRIND-9

use clmatrix::Result;
use clmatrix::memory::{Linear, enqueue_copy, enqueue_fill};
use clmatrix::{CommandQueue, UserEvent};
use clmatrix_harness::CtxFactory;

use super::{buffer_of, counting, refusal};
use crate::support::on_device::OnDevice;

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
        stranger.read(queue, &mut data),
        stranger.write(queue, &counting(4)),
        enqueue_fill(queue, &stranger, &1_u32, ..),
        enqueue_copy(queue, &own, &stranger, Linear::default().byte_count(4)),
        enqueue_copy(queue, &stranger, &own, Linear::default().byte_count(4)),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    }
    let map = stranger.map_read::<u32>(queue, ..);
    assert_eq!(refusal(map), "CL_INVALID_CONTEXT");
    Ok(())
}

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
        buffer.read(queue.after(&event), &mut data),
        buffer.write(queue.after(&event), &counting(4)),
        enqueue_fill(queue.after(&event), &buffer, &1_u32, ..),
        enqueue_copy(queue.after(&event), &other, &buffer, Linear::default().byte_count(4)),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    }
    let map = buffer.map_read::<u32>(queue.after(&event), ..);
    assert_eq!(refusal(map), "CL_INVALID_CONTEXT");
    let map = buffer.map_read::<u32>(queue, ..)?;
    assert_eq!(refusal(map.unmap_on(queue.after(&event))), "CL_INVALID_CONTEXT");
    buffer.write(queue, &counting(4))?;
    Ok(())
}
