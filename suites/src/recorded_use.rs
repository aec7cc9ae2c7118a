//! Commands that the library did not enqueue: what is recorded is waited for.

use clmatrix::cl3::command_queue::{enqueue_fill_buffer, enqueue_fill_image, enqueue_svm_mem_fill};
use clmatrix::cl3::types::cl_event;
use clmatrix::memory::{
    Buffer, Image, MemFlags, MemoryObject, SvmAllocation, SvmFlags, SvmPointer, enqueue_copy,
};
use clmatrix::{CommandQueue, Device, Event, Result, UserEvent, enqueue_marker};
use clmatrix_harness::CtxFactory;

use crate::buffer::{buffer_of, contents, refusal};
use crate::image::RGBA_U32;
use crate::support::gate::{fail, gate, meanwhile, open};
use crate::support::on_device::{OnDevice, region_offset};

const WAIT_LIST_FAILED: &str = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";

/// The value that the fills of this file write.
const NEW: u32 = 7;

/// The content of the memory before.
const OLD: u32 = 1;

/// The elements of the memory.
const LEN: usize = 1 << 12;

/// The event of a command of `queue` that cl3 enqueued.
fn event_of(queue: &CommandQueue, event: std::result::Result<cl_event, i32>) -> Event {
    // SAFETY: the driver has just created the event on this queue, with one reference.
    unsafe { queue.event_from_raw(event.expect("the driver accepts the command")) }
        .expect("an event")
}

/// Fills all of a buffer with `NEW` behind a gate.
fn fill_buffer(queue: &CommandQueue, buffer: &Buffer, gate: &UserEvent) -> Event {
    let (pattern, gate) = (NEW, gate.as_raw());
    // SAFETY: the handles are valid and of one context, the pattern is copied, and the buffer has
    // that many bytes. The test records the command.
    let event = unsafe {
        let (size, pattern) = (buffer.size(), (&raw const pattern).cast());
        enqueue_fill_buffer(queue.as_raw(), buffer.as_raw(), pattern, 4, 0, size, 1, &gate)
    };
    event_of(queue, event)
}

/// The same for shared virtual memory.
fn fill_svm(queue: &CommandQueue, svm: &SvmAllocation, gate: &UserEvent) -> Event {
    let (pattern, gate) = (NEW, gate.as_raw());
    // SAFETY: as in `fill_buffer`.
    let event = unsafe {
        let (size, pattern) = (svm.size(), (&raw const pattern).cast());
        enqueue_svm_mem_fill(queue.as_raw(), svm.svm_ptr(), pattern, 4, size, 1, &gate)
    };
    event_of(queue, event)
}

/// The same for an image of the shape 7, 5.
fn fill_image(queue: &CommandQueue, image: &Image, gate: &UserEvent) -> Event {
    let (color, gate) = ([NEW; 4], gate.as_raw());
    let (origin, region) = ([0_usize; 3], [7_usize, 5, 1]);
    // SAFETY: the handles are valid and of one context, the color is copied, and the image has
    // these pixels. The test records the command.
    let event = unsafe {
        let (color, origin, region) = (color.as_ptr().cast(), origin.as_ptr(), region.as_ptr());
        enqueue_fill_image(queue.as_raw(), image.as_raw(), color, origin, region, 1, &gate)
    };
    event_of(queue, event)
}

/// A fill behind a gate on a new queue, which has been recorded.
struct Filled {
    queue: CommandQueue,
    gate: UserEvent,
    event: Event,
}

fn fill_and_record(
    on: &OnDevice,
    fill: impl FnOnce(&CommandQueue, &UserEvent) -> Event,
    record: impl FnOnce(&Event) -> Result<()>,
) -> Result<Filled> {
    let (queue, gate) = (on.another_queue(), gate(&on.context));
    let event = fill(&queue, &gate);
    record(&event)?;
    Ok(Filled { queue, gate, event })
}

#[clmatrix_harness::test]
fn a_buffer_map_waits_for_recorded_commands(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; LEN])?;
    let filled = fill_and_record(
        on,
        |queue, gate| fill_buffer(queue, &buffer, gate),
        |event| buffer.record_use(event),
    )?;
    let map = meanwhile(&filled.gate, open, || buffer.map_read::<u32>(&on.queue, ..))?;
    assert_eq!(map[..], [NEW; LEN]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn an_svm_map_waits_for_recorded_commands(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let svm = SvmAllocation::new(&on.context, 4 * LEN, 0, SvmFlags::READ_WRITE)?;
    let filled = fill_and_record(
        on,
        |queue, gate| fill_svm(queue, &svm, gate),
        |event| svm.record_use(event),
    )?;
    let map = meanwhile(&filled.gate, open, || svm.map_read::<u32>(&on.queue, ..))?;
    assert_eq!(map[..], [NEW; LEN]);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_map_waits_for_recorded_commands(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let image = Image::new(&on.context, MemFlags::READ_WRITE, RGBA_U32, [7, 5])?;
    let filled = fill_and_record(
        on,
        |queue, gate| fill_image(queue, &image, gate),
        |event| image.record_use(event),
    )?;
    let map = meanwhile(&filled.gate, open, || image.map_read::<[u32; 4]>(&on.queue, ..))?;
    assert!(map.pixels().iter().all(|pixel| *pixel == [NEW; 4]));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_is_freed_after_recorded_commands(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let svm = SvmAllocation::new(&on.context, 4 * LEN, 0, SvmFlags::READ_WRITE)?;
    let filled = fill_and_record(
        on,
        |queue, gate| fill_svm(queue, &svm, gate),
        |event| svm.record_use(event),
    )?;
    let freed = svm.enqueue_release(&on.queue).map_err(|back| back.error)?;
    meanwhile(&filled.gate, open, || freed.wait())?;
    assert!(filled.event.status()?.has_ended(), "it was freed too early");
    filled.queue.finish()
}

/// The event of a marker covers all commands of its queue.
#[clmatrix_harness::test]
fn a_map_waits_for_a_recorded_marker(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; LEN])?;
    let (queue, gate) = (on.another_queue(), gate(&on.context));
    fill_buffer(&queue, &buffer, &gate);
    buffer.record_use(&enqueue_marker(&queue)?)?;
    let map = meanwhile(&gate, open, || buffer.map_read::<u32>(&on.queue, ..))?;
    assert_eq!(map[..], [NEW; LEN]);
    Ok(())
}

/// A use of a region covers its own bytes only.
#[clmatrix_harness::test]
fn a_map_does_not_wait_for_commands_on_other_bytes(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let (on, start) = (&on_device, region_offset(&device, 4 * LEN)?);
    let old = vec![OLD; start / 4];
    let buffer = buffer_of(on, &[&old[..], &[OLD; LEN][..]].concat())?;
    let region = buffer.sub_buffer(start..)?;
    let (queue, gate) = (on.another_queue(), gate(&on.context));
    let fill = fill_buffer(&queue, &region, &gate);
    region.record_use(&fill)?;
    let map = buffer.map_read_write::<u32>(&on.queue, ..LEN)?;
    assert_eq!(map[..], [OLD; LEN]);
    map.unmap()?.wait()?;
    let map = meanwhile(&gate, open, || buffer.map_read::<u32>(&on.queue, ..))?;
    assert_eq!(map[..], [&old[..], &[NEW; LEN][..]].concat());
    Ok(())
}

/// A driver may report a cancelled command as complete, and the library does not know its wait list.
// quirk: INTEL-1
#[clmatrix_harness::test]
fn the_event_of_a_cancelled_command_has_failed(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let (queue, closed) = (on.another_queue(), gate(&on.context));
    let fill = fill_buffer(&queue, &buffer, &closed);
    buffer.record_use(&fill)?;
    let elsewhere = buffer_of(on, &[OLD; 4])?;
    let read = enqueue_copy(on.another_queue().after(&fill), vec![NEW; 4], &elsewhere, ..)?;
    fail(&closed);
    assert_eq!(refusal(fill.wait()), WAIT_LIST_FAILED);
    assert_eq!(refusal(read.wait().map(drop).map_err(|back| back.error)), WAIT_LIST_FAILED);
    assert_eq!(contents(on, &buffer)?, [OLD; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn record_use_refuses_other_contexts_and_mapped_memory(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let on = &on_device;
    let elsewhere = ctx_factory()?;
    let foreign_event = gate(&elsewhere);
    let buffer = buffer_of(on, &[OLD; 4])?;
    assert_eq!(refusal(buffer.record_use(&foreign_event)), "CL_INVALID_CONTEXT");
    let marker = enqueue_marker(&on.queue)?;
    let map = buffer.map_read::<u32>(&on.queue, ..)?;
    assert_eq!(refusal(buffer.record_use(&marker)), "CL_INVALID_OPERATION");
    drop(map);
    buffer.record_use(&marker)
}
