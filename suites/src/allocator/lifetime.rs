//! The lifetimes of allocators and of their memory.

use clmatrix::Kernel;

use super::*;

/// Has the device double numbers of the host.
fn assert_doubles(buffer: &Buffer, double: &mut Kernel, queue: &CommandQueue) -> Result<()> {
    enqueue_copy(queue, buffer, &[21_u32; 64][..], ..)?;
    buffer.launch(double, queue)?;
    buffer.assert_holds(queue, 42, "a kernel doubles the 21 that the host wrote")
}

/// The allocator's queue and context are given up first.
#[rstest]
#[clmatrix_harness::test]
fn buffers_outlive_allocator_queue_and_context(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    let mut double = on_device.kernel(DOUBLE, "")?;
    let another = on_device.another_queue();
    let allocator = kind.allocator(&on_device)?;
    let buffers = [allocate(&allocator, 256)?, allocate(&allocator, 256)?];
    drop((allocator, on_device));
    for buffer in &buffers {
        assert_doubles(buffer, &mut double, &another)?;
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
    let allocator = svm_allocator(&on_device.context, Some(&on_device.queue))?;
    let memory = allocate(&allocator, 256)?;
    drop((allocator, on_device));
    enqueue_copy(&another, &memory, &[21_u32; 64][..], ..)?;
    memory.launch(&mut double, &another)?;
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
    let allocator = kind.allocator(&on_device)?;
    drop(on_device);
    let buffer = allocate(&allocator, 256)?;
    assert_doubles(&buffer, &mut double, allocator.queue().unwrap_or(&another))
}

/// The references of both are what they were before.
fn check_counts<A: Allocator>(
    on_device: OnDevice,
    make: impl FnOnce(&OnDevice) -> Result<A>,
) -> Result<()> {
    let context = &on_device.context;
    on_device.queue.finish()?;
    let before = context.reference_count()?;
    let other = OnDevice { context: context.clone(), queue: on_device.another_queue() };
    let allocator = make(&other)?;
    let memory = [64, 1 << 16, 64].map(|size| allocator.allocate(size));
    drop(other);
    assert!(context.reference_count()? > before, "it keeps the context");
    if let Some(queue) = allocator.queue() {
        queue.finish()?;
    }
    drop((allocator, memory));
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
    check_counts(on_device, |other| kind.allocator(other))
}

#[clmatrix_harness::test(requires(svm))]
fn freed_svm_releases_queue_and_context(on_device: OnDevice) -> Result<()> {
    check_counts(on_device, |other| svm_allocator(&other.context, Some(&other.queue)))
}
