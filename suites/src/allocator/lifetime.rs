//! The lifetimes of allocators and of their memory.

use clmatrix::memory::{MemFlags, SvmPointer, enqueue_copy};
use clmatrix::pool::Allocator;
use clmatrix::{CommandQueue, Context, Result};
use rstest::rstest;

use super::Kind::{self, Deferred, Immediate};
use super::{allocate, svm_allocator};
use crate::buffer::DOUBLE;
use crate::support::on_device::{OnDevice, on_device, soon};

/// The allocator's queue and context are given up first.
#[rstest]
#[clmatrix_harness::test]
fn buffers_outlive_allocator_queue_and_context(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    let mut double = on_device.kernel(DOUBLE, "")?;
    let another = on_device.another_queue();
    let OnDevice { context, queue } = on_device;
    let allocator = kind.allocator(&context, &queue, MemFlags::READ_WRITE)?;
    let buffers = [allocate(&allocator, 256)?, allocate(&allocator, 256)?];
    drop((allocator, queue, context));
    for buffer in &buffers {
        enqueue_copy(&another, buffer, &[21_u32; 64][..], ..)?;
        // SAFETY: the kernel takes memory, and uses as many elements as it has.
        unsafe { double.launch().arg(buffer).global(64).enqueue(&another)? };
        let mut found = [0_u32; 64];
        buffer.read(&another, &mut found)?;
        assert_eq!(found, [42; 64]);
    }
    drop((double, another));
    drop(buffers);
    Ok(())
}

/// It is freed on the queue that it is bound to, to which the test has no handle any more.
#[clmatrix_harness::test(requires(svm))]
fn svm_outlives_allocator_queue_and_context(on_device: OnDevice) -> Result<()> {
    let mut double = on_device.kernel(DOUBLE, "")?;
    let another = on_device.another_queue();
    let OnDevice { context, queue } = on_device;
    let allocator = svm_allocator(&context, Some(&queue))?;
    let memory = allocate(&allocator, 256)?;
    drop((allocator, queue, context));
    enqueue_copy(&another, &memory, &[21_u32; 64][..], ..)?;
    // SAFETY: the kernel takes memory, and uses as many elements as it has.
    unsafe { double.launch().arg(&memory).global(64).enqueue(&another)? };
    assert_eq!(memory.map_read::<u32>(&another, ..)?[..], [42; 64]);
    drop((double, another));
    drop(memory);
    Ok(())
}

/// An allocator keeps what it allocates for: the caller may give that up.
#[rstest]
#[clmatrix_harness::test]
fn allocators_outlive_queue_and_context_handles(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    let mut double = on_device.kernel(DOUBLE, "")?;
    let another = on_device.another_queue();
    let OnDevice { context, queue } = on_device;
    let allocator = kind.allocator(&context, &queue, MemFlags::READ_WRITE)?;
    drop((queue, context));
    let buffer = allocate(&allocator, 256)?;
    let queue = allocator.queue().unwrap_or(&another);
    enqueue_copy(queue, &buffer, &[21_u32; 64][..], ..)?;
    // SAFETY: the kernel takes memory, and uses as many elements as it has.
    unsafe { double.launch().arg(&buffer).global(64).enqueue(queue)? };
    let mut found = [0_u32; 64];
    buffer.read(queue, &mut found)?;
    assert_eq!(found, [42; 64]);
    Ok(())
}

/// The references of both are what they were before.
fn check_counts<M>(
    on_device: &OnDevice,
    make: impl FnOnce(&Context, &CommandQueue) -> Result<Box<dyn Allocator<Memory = M>>>,
) -> Result<()> {
    let context = &on_device.context;
    on_device.queue.finish()?;
    let before = context.reference_count()?;
    let queue = on_device.another_queue();
    let allocator = make(context, &queue)?;
    let memory = [64, 1 << 16, 64].map(|size| allocator.allocate(size));
    drop(queue);
    assert!(context.reference_count()? > before, "it keeps the context");
    if let Some(queue) = allocator.queue() {
        queue.finish()?;
    }
    drop(allocator);
    drop(memory);
    let has_let_go = || Ok(context.reference_count()? == before);
    assert!(soon(has_let_go)?, "{}, not {before}", context.reference_count()?);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_dropped_allocator_releases_queue_and_context(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    check_counts(&on_device, |context, queue| kind.allocator(context, queue, MemFlags::READ_WRITE))
}

#[clmatrix_harness::test(requires(svm))]
fn freed_svm_releases_queue_and_context(on_device: OnDevice) -> Result<()> {
    check_counts(&on_device, |context, queue| Ok(Box::new(svm_allocator(context, Some(queue))?)))
}
