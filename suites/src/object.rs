//! The common queries of all memory objects (`clGetMemObjectInfo`; `pyopencl.MemoryObject`).

use std::collections::HashSet;
use std::sync::mpsc;

use clmatrix::cl3::device::{CL_DEVICE_MAX_COMPUTE_UNITS, get_device_info};
use clmatrix::cl3::event::wait_for_events;
use clmatrix::memory::{
    Buffer, Linear, MemFlags, MemoryObject, ObjectType, enqueue_copy, enqueue_fill,
};
use clmatrix::{CommandQueue, Context, Device, Partition, Result, Status, enqueue_marker};
use clmatrix_harness::{CtxFactory, device};
use rstest::rstest;

use crate::support::gate::{gate, open};
use crate::support::on_device::{OnDevice, region_offset, soon};
use crate::support::parts::parts;

#[clmatrix_harness::test]
fn queries_return_the_properties_of_a_buffer(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_ONLY, 64)?;
    assert_eq!(buffer.object_type()?, ObjectType::Buffer, "CL_MEM_TYPE");
    assert_eq!(buffer.flags(), MemFlags::READ_ONLY, "CL_MEM_FLAGS");
    assert_eq!(buffer.size(), 64, "CL_MEM_SIZE");
    assert!(buffer.host_ptr()?.is_null(), "CL_MEM_HOST_PTR of a buffer without one is not null");
    assert_eq!(buffer.map_count()?, 0, "CL_MEM_MAP_COUNT without a map");
    assert_eq!(buffer.reference_count()?, 1, "CL_MEM_REFERENCE_COUNT of a new buffer");
    assert_eq!(buffer.context(), on_device.context, "CL_MEM_CONTEXT");
    assert_eq!(buffer.associated_memory_object()?, None, "CL_MEM_ASSOCIATED_MEMOBJECT");
    assert_eq!(buffer.offset(), 0, "CL_MEM_OFFSET");
    Ok(())
}

#[clmatrix_harness::test]
fn queries_return_the_parent_and_offset_of_a_sub_buffer(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 2 * part)?;
    let region = buffer.sub_buffer_with_flags(part..2 * part, MemFlags::READ_ONLY)?;
    assert_eq!(region.object_type()?, ObjectType::Buffer, "CL_MEM_TYPE");
    assert_eq!((region.size(), region.offset()), (part, part), "CL_MEM_SIZE, CL_MEM_OFFSET");
    assert_eq!(region.flags(), MemFlags::READ_ONLY, "CL_MEM_FLAGS");
    let parent = Some(buffer.as_raw());
    assert_eq!(region.associated_memory_object()?, parent, "CL_MEM_ASSOCIATED_MEMOBJECT");
    assert_eq!(region.context(), buffer.context(), "CL_MEM_CONTEXT");
    assert_ne!(region.as_raw(), buffer.as_raw(), "clCreateSubBuffer returned the whole buffer");
    Ok(())
}

#[clmatrix_harness::test]
fn a_queue_keeps_its_sub_device(device: Device) -> Result<()> {
    let sub_devices = parts(&device, Partition::Equally(1))?;
    let context = Context::new(&sub_devices[..1])?;
    let queue = CommandQueue::new(&context)?;
    let raw = sub_devices[0].as_raw();
    drop((context, sub_devices));
    assert_eq!(queue.device().as_raw(), raw);
    let units = get_device_info(raw, CL_DEVICE_MAX_COMPUTE_UNITS).map(u32::from);
    assert_eq!(units, Ok(1), "CL_DEVICE_MAX_COMPUTE_UNITS of a sub-device of one unit");
    Ok(())
}

/// PoCL reads the device that a sub-device is a part of.
#[clmatrix_harness::test]
fn a_sub_device_keeps_the_one_that_it_is_a_part_of(device: Device) -> Result<()> {
    let mut halves = parts(&device, Partition::ByCounts(&[2]))?;
    let quarter = parts(&halves[0], Partition::Equally(1))?.remove(0);
    halves.clear();
    assert_eq!(Context::new([&quarter])?.default_device(), &quarter);
    Ok(())
}

/// PoCL uses the sub-device of a command shortly after its end.
#[clmatrix_harness::test]
fn sub_devices_may_be_dropped_while_their_commands_run(device: Device) -> Result<()> {
    for _ in 0..500 {
        let sub_device = parts(&device, Partition::Equally(1))?.remove(0);
        let context = Context::new([&sub_device])?;
        let queue = CommandQueue::new(&context)?;
        let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 1 << 16)?;
        for byte in 0..8_u8 {
            enqueue_fill(&queue, &buffer, &byte, ..)?;
        }
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_context_has_each_device_once(device: Device) -> Result<()> {
    assert_eq!(Context::new([&device, &device])?.devices(), [device]);
    Ok(())
}

#[rstest]
#[case::parts_of_nothing(Partition::Equally(0))]
#[case::no_parts(Partition::ByCounts(&[]))]
#[case::an_empty_part(Partition::ByCounts(&[1, 0, 1]))]
#[clmatrix_harness::test]
fn parts_have_compute_units(device: Device, #[case] partition: Partition<'_>) {
    let error = device.partition(partition).unwrap_err();
    assert_eq!(error.code_name(), "CL_INVALID_DEVICE_PARTITION_COUNT");
}

#[clmatrix_harness::test]
fn a_buffer_keeps_the_sub_devices_of_its_context(device: Device) -> Result<()> {
    let sub_devices = parts(&device, Partition::Equally(1))?;
    let raw = sub_devices[0].as_raw();
    let context = Context::new(&sub_devices[..1])?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2])?;
    drop((context, sub_devices));
    let units = get_device_info(raw, CL_DEVICE_MAX_COMPUTE_UNITS).map(u32::from);
    assert_eq!(units, Ok(1), "CL_DEVICE_MAX_COMPUTE_UNITS of a sub-device of one unit");
    drop(buffer);
    Ok(())
}

#[clmatrix_harness::test(requires(opencl = "2.0"))]
fn a_buffer_does_not_use_svm_by_default(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    assert!(!buffer.uses_svm_pointer()?, "CL_MEM_USES_SVM_POINTER of a buffer without one");
    Ok(())
}

#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn a_buffer_has_no_properties_by_default(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    assert_eq!(buffer.properties()?, Vec::<u64>::new(), "CL_MEM_PROPERTIES of clCreateBuffer");
    Ok(())
}

#[clmatrix_harness::test]
fn the_map_count_includes_active_maps(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    let map = buffer.map_read::<u8>(&on_device.queue, ..)?;
    assert_eq!(buffer.map_count()?, 1, "CL_MEM_MAP_COUNT of a buffer with a map");
    drop(map);
    on_device.queue.finish()?;
    let has_none = soon(|| Ok(buffer.map_count()? == 0))?;
    assert!(has_none, "CL_MEM_MAP_COUNT after the unmap is {}", buffer.map_count()?);
    Ok(())
}

#[clmatrix_harness::test]
fn handles_are_compared_by_the_handle_of_the_driver(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 2 * part)?;
    let other = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 2 * part)?;
    let region = buffer.sub_buffer(part..)?;
    let handles = [buffer.clone(), other.clone(), region.clone(), region.clone(), buffer.clone()];
    assert_eq!(handles[0], buffer);
    assert_eq!(handles[2], region);
    assert_ne!(buffer, other);
    assert_ne!(buffer, region);
    assert_eq!(handles.into_iter().collect::<HashSet<_>>().len(), 3);
    Ok(())
}

#[clmatrix_harness::test]
fn release_drops_a_reference(on_device: OnDevice, device: Device) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 2 * part)?;
    let region = buffer.sub_buffer(part..)?;
    assert!(buffer.reference_count()? >= 1, "CL_MEM_REFERENCE_COUNT of a buffer is 0");
    // Clones share a reference.
    let region_again = region.clone();
    assert_eq!(region.reference_count()?, 1, "CL_MEM_REFERENCE_COUNT of a sub-buffer");
    drop(region_again);
    assert_eq!(region.reference_count()?, 1, "CL_MEM_REFERENCE_COUNT of a sub-buffer");
    drop(region);
    let is_alone = soon(|| Ok(buffer.reference_count()? == 1))?;
    assert!(is_alone, "CL_MEM_REFERENCE_COUNT of the only handle is {}", buffer.reference_count()?);
    Ok(())
}

#[clmatrix_harness::test]
fn objects_outlive_their_context_and_queue(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32; 16])?;
    let copy = Buffer::new(&context, MemFlags::READ_WRITE, 64)?;
    let other_queue = CommandQueue::new(&context)?;
    enqueue_fill(&queue, &buffer, &7_u32, ..32)?;
    queue.finish()?;
    drop(queue);
    drop(context);
    enqueue_copy(&other_queue, &copy, &buffer, Linear::default().byte_count(64))?;
    drop(buffer);
    let mut found = [0_u32; 16];
    copy.read(&other_queue, &mut found)?;
    assert_eq!(found, [7, 7, 7, 7, 7, 7, 7, 7, 1, 1, 1, 1, 1, 1, 1, 1]);
    let map = copy.map_read_write::<u32>(&other_queue, ..)?;
    drop(other_queue);
    drop(copy);
    assert_eq!(map[0], 7);
    map.unmap()?.wait()?;
    Ok(())
}

fn references(context: &Context) -> Result<u32> {
    context.reference_count()
}

#[clmatrix_harness::test]
fn released_objects_release_their_context(ctx_factory: CtxFactory, device: Device) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let context = ctx_factory()?;
    let before = references(&context)?;
    {
        let queue = CommandQueue::new(&context)?;
        let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 2 * part)?;
        let region = buffer.sub_buffer(part..)?;
        enqueue_fill(&queue, &buffer, &1_u32, ..)?;
        region.map_read_write::<u32>(&queue, ..)?.fill(2);
        let other_queue = CommandQueue::new(&context)?;
        drop(buffer.map_read::<u32>(&other_queue, ..)?);
        queue.finish()?;
        other_queue.finish()?;
    }
    let is_released = soon(|| Ok(references(&context)? == before))?;
    let found = references(&context)?;
    assert!(is_released, "CL_CONTEXT_REFERENCE_COUNT is {found}, and was {before}");
    Ok(())
}

/// Buffers keep the queues that they were used with for a while, but not all of them.
#[clmatrix_harness::test]
fn a_buffer_releases_old_queues(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    let first = on_device.another_queue();
    let before = first.reference_count()?;
    enqueue_fill(&first, &buffer, &1_u32, ..)?;
    first.finish()?;
    for value in 0..20_u32 {
        let queue = on_device.another_queue();
        enqueue_fill(&queue, &buffer, &value, ..)?;
        queue.finish()?;
    }
    let map = buffer.map_read_write::<u32>(&on_device.queue, ..)?;
    assert_eq!(map[0], 19, "the first number after fills with 0 to 19 that were waited for");
    drop(map);
    on_device.queue.finish()?;
    let is_released = soon(|| Ok(first.reference_count()? <= before))?;
    let found = first.reference_count()?;
    assert!(is_released, "CL_QUEUE_REFERENCE_COUNT is {found}, and was {before}");
    Ok(())
}

#[clmatrix_harness::test]
fn a_callback_of_a_command_that_has_ended_is_called_once(on_device: OnDevice) -> Result<()> {
    let ended = enqueue_marker(&on_device.queue)?;
    // The library does not know it.
    wait_for_events(&[ended.as_raw()]).expect("the marker ends");
    let (call, calls) = mpsc::channel();
    ended.on_complete(move |status| call.send(status).expect("the test waits"))?;
    assert_eq!(calls.recv(), Ok(Status::Complete));
    assert!(calls.recv().is_err(), "the callback is gone");
    Ok(())
}

#[clmatrix_harness::test]
fn a_callback_may_drop_the_last_handle_to_its_event(on_device: OnDevice) -> Result<()> {
    let queue = on_device.another_queue();
    for _ in 0..20 {
        let gate = gate(&on_device.context);
        let event = enqueue_marker(queue.after(&gate))?;
        let (handle, (call, calls)) = (event.clone(), mpsc::channel());
        event.on_complete(move |status| {
            drop(handle);
            call.send(status).expect("the test waits");
        })?;
        drop(event);
        open(&gate);
        queue.finish()?;
        assert_eq!(calls.recv(), Ok(Status::Complete));
    }
    Ok(())
}
