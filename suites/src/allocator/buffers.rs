//! The buffers of an allocator (`pyopencl.tools.DeferredAllocator`, `ImmediateAllocator`).

use std::sync::Arc;

use clmatrix::memory::MemoryObject;

use super::*;

const WRITE: &str = "kernel void k(global uint *x) { x[get_global_id(0)] = get_global_id(0); }";

#[rstest]
#[clmatrix_harness::test]
fn host_and_kernels_read_and_write_allocated_buffers(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    let allocator = kind.allocator(&on_device)?;
    let buffers = [allocate(&allocator, 4000)?, allocate(&allocator, 4000)?];
    for buffer in &buffers {
        on_device.run(WRITE, &[buffer], 1000)?;
    }
    assert_eq!(contents(&on_device, &buffers[0])?, counting(1000));
    buffers[0].map_read_write::<u32>(&on_device.queue, ..)?.fill(21);
    on_device.run(DOUBLE, &[&buffers[0]], 1000)?;
    assert_eq!(contents(&on_device, &buffers[0])?, [42; 1000]);
    assert_eq!(contents(&on_device, &buffers[1])?, counting(1000), "they are not the same bytes");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_buffer_has_the_requested_size_and_one_reference(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
    #[values(1, 3, 4, 1000, 1 << 20)] size: usize,
) -> Result<()> {
    let buffer = allocate(&kind.allocator(&on_device)?, size)?;
    // SAFETY: the buffer is alive, and neither is mapped.
    let asked = unsafe { Buffer::retain_raw(buffer.as_raw()) }?;
    assert_eq!((asked.size(), asked.context()), (size, on_device.context));
    drop(asked);
    assert!(soon(|| Ok(buffer.reference_count()? == 1))?, "{}", buffer.reference_count()?);
    Ok(())
}

#[rstest]
#[case::none(MemFlags::empty(), MemFlags::READ_WRITE)]
#[case::read_only(MemFlags::READ_ONLY, MemFlags::READ_ONLY)]
#[case::write_only(MemFlags::WRITE_ONLY, MemFlags::WRITE_ONLY)]
#[case::of_the_hosts(
    MemFlags::READ_WRITE | MemFlags::ALLOC_HOST_PTR,
    MemFlags::READ_WRITE | MemFlags::ALLOC_HOST_PTR
)]
#[case::not_for_the_host(
    MemFlags::WRITE_ONLY | MemFlags::HOST_NO_ACCESS,
    MemFlags::WRITE_ONLY | MemFlags::HOST_NO_ACCESS
)]
#[clmatrix_harness::test]
fn a_buffer_has_the_flags_of_its_allocator(
    on_device: OnDevice,
    #[case] flags: MemFlags,
    #[case] found: MemFlags,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    let buffer = allocate(&kind.with_flags(&on_device, flags)?, 64)?;
    assert_eq!(buffer.flags(), found);
    // SAFETY: the buffer is alive, and neither is mapped.
    let asked = unsafe { Buffer::retain_raw(buffer.as_raw()) }?;
    assert_eq!(asked.flags(), found);
    Ok(())
}

/// There is no host memory for it.
#[rstest]
#[clmatrix_harness::test]
fn flags_for_host_memory_are_refused(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
    #[values(
        MemFlags::USE_HOST_PTR,
        MemFlags::COPY_HOST_PTR,
        MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR,
        MemFlags::READ_ONLY | MemFlags::WRITE_ONLY,
    )]
    flags: MemFlags,
) {
    assert_eq!(refusal(kind.with_flags(&on_device, flags)), "CL_INVALID_VALUE");
}

/// A pool is to know whether running out of memory shows.
#[clmatrix_harness::test]
fn only_the_deferred_allocator_is_deferred(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let deferred = DeferredAllocator::new(context, MemFlags::READ_WRITE)?;
    let immediate = ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?;
    assert!(deferred.is_deferred() && deferred.queue().is_none());
    assert!(!immediate.is_deferred());
    assert_eq!(immediate.queue().map(|queue| queue.as_raw()), Some(queue.as_raw()));
    assert_eq!([deferred.context(), immediate.context()], [(); 2].map(|()| context.clone()));
    Ok(())
}

/// References and smart pointers to an allocator are allocators with the same answers.
#[clmatrix_harness::test]
fn pointers_to_an_allocator_are_allocators(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let deferred = Arc::new(DeferredAllocator::new(context, MemFlags::READ_WRITE)?);
    let immediate = Arc::new(ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?);
    let shared: Arc<dyn Allocator<Memory = Buffer>> = immediate.clone();
    let boxed: BufferAllocator = Box::new(Arc::clone(&shared));
    assert_eq!(answers(&deferred)?, answers(&*deferred)?);
    assert_eq!(answers(&shared)?, answers(&*immediate)?);
    assert_eq!(answers(&boxed)?, answers(&*immediate)?);
    assert_ne!(answers(&*deferred)?, answers(&*immediate)?);
    Ok(())
}

/// All that an allocator says, and what it makes of 0 and 64 bytes.
fn answers<A: Allocator<Memory = Buffer>>(allocator: &A) -> Result<String> {
    let queue = allocator.queue().map(|queue| queue.as_raw());
    let about = (allocator.max_size(), allocator.is_deferred(), allocator.context());
    let sizes = [0, 64].map(|size| allocator.allocate(size).map(|made| made.map(|it| it.size())));
    let [none, some] = sizes;
    Ok(format!("{:?}", (queue, about, none?, some?)))
}
