//! Memory that exists when it has been allocated, whatever the queue is doing.

use std::fs;

use clmatrix::cl3::device::CL_DEVICE_TYPE_CPU;

use super::*;
use crate::support::excuse::Excuse;

/// The bytes of the allocations whose memory is looked for.
const SIZE: usize = 256 << 20;

/// Pages of this process, on Linux: all that it has been promised.
fn pages() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let first = statm.split_whitespace().next().and_then(|pages| pages.parse().ok());
    first.unwrap_or_else(|| Excuse::NoProcessSize.skip())
}

/// The device's memory is this process's.
#[clmatrix_harness::test(requires(max_alloc = "256 MiB", global_mem = "2 GiB"))]
fn memory_is_allocated_when_the_call_returns(on_device: OnDevice, device: Device) -> Result<()> {
    if device.opencl3().dev_type().map_err(unanswered)? != CL_DEVICE_TYPE_CPU {
        skip!("the device has memory of its own");
    }
    let OnDevice { context, queue } = &on_device;
    let (shown, _used) = growth(|| {
        let buffer = Buffer::new(context, MemFlags::READ_WRITE, SIZE)?;
        enqueue_fill(queue, &buffer, &7_u32, ..)?.wait()?;
        Ok(buffer)
    })?;
    if shown < SIZE {
        Excuse::ReservedMemory.skip();
    }
    let allocator = ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?;
    drop(allocate(&allocator, 64)?);
    let (more, _kept) = growth(|| allocate(&allocator, SIZE))?;
    assert!(more >= SIZE, "{more} bytes more");
    Ok(())
}

/// Makes an object, and returns by how many bytes the process has grown for it. It tries three times: a thread of
/// the driver may free the memory of an earlier test meanwhile.
fn growth<T>(make: impl Fn() -> Result<T>) -> Result<(usize, Vec<T>)> {
    let mut more = 0;
    let mut kept = Vec::new();
    for _ in 0..3 {
        let before = pages();
        kept.push(make()?);
        // Pages of no system are smaller than 4096 bytes; huge ones are not counted as such.
        more = more.max(pages().saturating_sub(before) * 4096);
        if more >= SIZE {
            break;
        }
    }
    Ok((more, kept))
}

/// The queue may wait for an event that the caller completes after the allocation.
#[clmatrix_harness::test]
fn an_allocation_does_not_wait_for_the_queue(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let allocator = ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?;
    let first = allocate(&allocator, 256)?;
    let gate = gate(context);
    let filled = enqueue_fill(queue.after(&gate), &first, &21_u32, ..)?;
    let second = allocate(&allocator, 1 << 20)?;
    assert!(!filled.status()?.has_ended(), "the queue was held up");
    enqueue_fill(queue, &second, &4_u32, ..)?;
    open(&gate);
    on_device.run(DOUBLE, &[&first], 64)?;
    assert_eq!(contents(&on_device, &first)?, [42; 64]);
    assert_eq!(contents(&on_device, &second)?, [4; 1 << 18]);
    Ok(())
}

/// Nothing that was begun for the allocation takes its content away later.
#[clmatrix_harness::test]
fn writes_of_another_queue_are_not_overwritten(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let another = on_device.another_queue();
    let allocator = ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?;
    let first = allocate(&allocator, 256)?;
    let gate = gate(context);
    enqueue_fill(queue.after(&gate), &first, &0_u32, ..)?;
    let buffer = allocate(&allocator, 256)?;
    enqueue_fill(&another, &buffer, &21_u32, ..)?.wait()?;
    open(&gate);
    queue.finish()?;
    on_device.run(DOUBLE, &[&buffer], 64)?;
    assert_eq!(contents(&on_device, &buffer)?, [42; 64]);
    Ok(())
}

/// Such a queue says where to allocate, but promises no order.
#[clmatrix_harness::test]
fn an_out_of_order_queue_does_not_become_the_queue_of_the_allocator(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let allocator = ImmediateAllocator::new(&queue, MemFlags::READ_WRITE)?;
    assert!(allocator.queue().is_none());
    assert_eq!(allocator.context(), on_device.context);
    let buffer = allocate(&allocator, 256)?;
    enqueue_fill(&queue, &buffer, &21_u32, ..)?.wait()?;
    on_device.run(DOUBLE, &[&buffer], 64)?;
    assert_eq!(contents(&on_device, &buffer)?, [42; 64]);
    Ok(())
}
