//! Objects of another context. The library must refuse them: Oclgrind does not.
// quirk: OCLGRIND-9

use super::*;

#[clmatrix_harness::test]
fn buffers_of_another_context_are_refused(on_device: OnDevice, elsewhere: OnDevice) -> Result<()> {
    let (stranger, own) = (buffer_of(&elsewhere, &[1; 4])?, buffer_of(&on_device, &[1; 4])?);
    let mut data = counting(4);
    for refused in [
        stranger.read(&on_device.queue, &mut data),
        stranger.write(&on_device.queue, &counting(4)),
        enqueue_fill(&on_device.queue, &stranger, &1_u32, ..),
        enqueue_copy(&on_device.queue, &own, &stranger, Linear::default().byte_count(4)),
        enqueue_copy(&on_device.queue, &stranger, &own, Linear::default().byte_count(4)),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    }
    assert_eq!(refusal(stranger.map_read::<u32>(&on_device.queue, ..)), "CL_INVALID_CONTEXT");
    Ok(())
}

#[clmatrix_harness::test]
fn events_of_another_context_are_refused(on_device: OnDevice, elsewhere: OnDevice) -> Result<()> {
    let event = UserEvent::new(&elsewhere.context)?;
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
    assert_eq!(refusal(buffer.map_read::<u32>(queue.after(&event), ..)), "CL_INVALID_CONTEXT");
    let map = buffer.map_read::<u32>(queue, ..)?;
    assert_eq!(refusal(map.unmap_on(queue.after(&event))), "CL_INVALID_CONTEXT");
    buffer.write(queue, &counting(4))?;
    Ok(())
}
