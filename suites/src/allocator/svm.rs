//! Shared virtual memory from an allocator (`pyopencl.tools.SVMAllocator`).

use clmatrix_harness::CtxFactory;

use super::*;

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn host_and_kernels_read_and_write_allocated_svm(
    on_device: OnDevice,
    #[values(false, true)] bound: bool,
) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let memory = allocate(&svm_allocator(context, bound.then_some(queue))?, 4000)?;
    assert_eq!(memory.size(), 4000);
    enqueue_copy(queue, &memory, &counting(1000)[..], ..)?;
    let mut double = on_device.kernel(DOUBLE, "")?;
    memory.launch(&mut double, queue)?;
    let doubled: Vec<u32> = (0..1000).map(|i| 2 * i).collect();
    assert_eq!(memory.map_read::<u32>(queue, ..)?[..], doubled);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn svm_has_the_requested_alignment_and_flags(
    on_device: OnDevice,
    #[values(0, 64, 128)] alignment: usize,
    #[values(SvmFlags::READ_WRITE, SvmFlags::READ_ONLY)] flags: SvmFlags,
) -> Result<()> {
    let allocator = SvmAllocator::new(&on_device.context, alignment, flags, None)?;
    assert!(allocator.queue().is_none() && !allocator.is_deferred());
    // More than one, since one may be where it should by chance.
    let all = [1, 3, 1000, 5, 7, 9].map(|size| allocate(&allocator, size));
    for memory in all {
        let memory = memory?;
        assert_eq!(memory.svm_flags(), flags);
        assert_eq!(memory.svm_ptr().addr() % alignment.max(1), 0, "{memory:?}");
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_is_bound_to_the_queue_of_the_allocator(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let allocator = svm_allocator(context, Some(queue))?;
    assert_eq!(allocator.queue().map(|queue| queue.as_raw()), Some(queue.as_raw()));
    let gate = gate(context);
    let filled = enqueue_fill(queue.after(&gate), &allocate(&allocator, 64)?, &7_u32, ..)?;
    // The drop of the memory did not wait.
    open(&gate);
    filled.wait()
}

/// PyOpenCL says so, too, and takes it all the same.
#[clmatrix_harness::test(requires(svm))]
fn an_out_of_order_queue_is_refused(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let allocator = svm_allocator(&on_device.context, Some(&queue));
    assert_eq!(refusal(allocator), "CL_INVALID_COMMAND_QUEUE");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn invalid_flags_and_alignments_are_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let context = &on_device.context;
    let other: Context = ctx_factory()?;
    let foreign = CommandQueue::new(&other)?;
    assert_eq!(refusal(svm_allocator(context, Some(&foreign))), "CL_INVALID_CONTEXT");
    for (alignment, flags) in [
        (3, SvmFlags::READ_WRITE),
        (256, SvmFlags::READ_WRITE),
        (0, SvmFlags::READ_ONLY | SvmFlags::WRITE_ONLY),
        (0, SvmFlags::ATOMICS),
    ] {
        let allocator = SvmAllocator::new(context, alignment, flags, None);
        assert_eq!(refusal(allocator), "CL_INVALID_VALUE", "{alignment}, {flags:?}");
    }
    Ok(())
}

/// When the allocator is made, not when it is first used.
#[clmatrix_harness::test]
fn a_device_without_svm_is_unsupported(on_device: OnDevice, device: Device) -> Result<()> {
    if device.opencl3().svm_mem_capability() != 0 {
        skip!("the device has such memory");
    }
    let error = svm_allocator(&on_device.context, None).expect_err("there is some");
    assert_eq!((error.class(), error.code_name()), (Class::Unsupported, "CL_INVALID_OPERATION"));
    assert!(error.detail().contains("use a Buffer"), "{error}");
    Ok(())
}
