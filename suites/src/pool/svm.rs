//! Pooled shared virtual memory wherever such memory is due, seen by kernels.

use clmatrix::memory::{SvmPointer, enqueue_svm_migratemem};
use clmatrix::pool::PooledSvm;

use super::handles::{COUNT, SIZE, TRIPLE, multiples, pooled};
use super::*;
use crate::svm::{COARSE, assert_on_device, contents, double, svm_of};

#[clmatrix_harness::test(requires(svm))]
fn a_block_has_the_requested_size(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool: SvmPool = pool_of(&on_device)?;
    let memory = pooled(&on_device, &pool)?;
    assert_eq!((memory.size(), memory.block_size()), (SIZE, 1023));
    assert_eq!(refusal(enqueue_fill(queue, &memory, &0_u8, SIZE..=SIZE)), "CL_INVALID_VALUE");
    assert_eq!(refusal(memory.map_read::<u8>(queue, ..=SIZE)), "CL_INVALID_VALUE");
    assert_eq!(refusal(memory.as_buffer(MemFlags::READ_WRITE, ..=SIZE)), "CL_INVALID_VALUE");
    let nothing = enqueue_fill(queue, &pool.allocate(0)?, &0_u8, ..);
    assert_eq!(refusal(nothing), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_block_is_copied_to_and_from_the_host(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool: SvmPool = pool_of(&on_device)?;
    let memory = pooled(&on_device, &pool)?;
    assert_on_device(&on_device, &memory, &multiples(1));
    double(&on_device, &memory)?;
    let mut found = vec![0; COUNT];
    enqueue_copy(queue, &mut found, &memory, ..)?;
    assert_eq!(found, multiples(2));
    assert_eq!(enqueue_copy(queue, &memory, vec![3_u32], ..)?.wait()?, [3]);
    double(&on_device, &memory)?;
    let second = Linear::default().src_offset(4).byte_count(4);
    assert_eq!(enqueue_copy(queue, vec![0_u32], &memory, second)?.wait()?, [4]);
    assert_eq!(contents(&on_device, &memory)?[0], 6);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_block_is_copied_to_and_from_other_svm(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool: SvmPool = pool_of(&on_device)?;
    let (one, other) = (pooled(&on_device, &pool)?, pool.allocate(SIZE)?);
    let plain = svm_of(&on_device, COARSE, &[9; COUNT])?;
    let array = SvmAllocation::builder(&on_device.context).array::<u32, _>(COUNT)?;
    double(&on_device, &one)?;
    enqueue_copy(queue, &plain, &one, ..)?;
    double(&on_device, &plain)?;
    enqueue_copy(queue, &other, &plain, ..)?;
    double(&on_device, &other)?;
    enqueue_copy(queue, &array, &other, ..)?;
    double(&on_device, &array)?;
    enqueue_copy(queue, &one, &array, ..)?;
    assert_on_device(&on_device, &one, &multiples(16));
    enqueue_copy(queue, &other, &one, ..)?;
    assert_on_device(&on_device, &other, &multiples(16));
    assert_eq!(refusal(enqueue_copy(queue, &one, &one, ..)), "CL_MEM_COPY_OVERLAP");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_block_is_filled(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let memory = pool_of::<SvmAllocation>(&on_device)?.allocate(16)?;
    enqueue_fill(queue, &memory, &1_u32, ..)?;
    enqueue_fill(queue, &memory, &2_u32, 4..8)?;
    assert_on_device(&on_device, &memory, &[1, 2, 1, 1]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_block_is_mapped(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool: SvmPool = pool_of(&on_device)?;
    let memory = pooled(&on_device, &pool)?;
    double(&on_device, &memory)?;
    let mut map = memory.map_read_write::<u32>(queue, ..)?;
    assert_eq!(map[..], multiples(2));
    map.fill(5);
    map.unmap()?;
    assert_on_device(&on_device, &memory, &[5; COUNT]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
fn a_block_is_migrated(on_device: OnDevice) -> Result<()> {
    let pool: SvmPool = pool_of(&on_device)?;
    let memory = pooled(&on_device, &pool)?;
    enqueue_svm_migratemem(&on_device.queue, &[&memory], MigrationFlags::empty())?;
    assert_on_device(&on_device, &memory, &multiples(1));
    Ok(())
}

/// As an argument that is only read, too, and through a pointer in other memory.
#[clmatrix_harness::test(requires(svm))]
fn a_block_is_passed_to_kernels(on_device: OnDevice) -> Result<()> {
    let pool: SvmPool = pool_of(&on_device)?;
    let (one, other) = (pooled(&on_device, &pool)?, pool.allocate(SIZE)?);
    let mut kernel = on_device.kernel(TRIPLE, "")?;
    let mut launch = kernel.launch();
    launch.arg_read(&one).arg(&other).indirect(&one).global(COUNT);
    // SAFETY: the kernel takes two pieces of memory, and has as many work items as elements.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_on_device(&on_device, &other, &multiples(3));
    Ok(())
}

/// While there is this part of a block, the block is not used again.
#[track_caller]
fn assert_keeps<T>(on_device: &OnDevice, part: impl FnOnce(&PooledSvm) -> Result<T>) -> Result<()> {
    let pool: SvmPool = pool_of(on_device)?;
    let block = pool.allocate(SIZE)?;
    let id = block.id();
    let part = part(&block)?;
    drop(block);
    assert_eq!(pool.active_blocks(), 0);
    assert!(!is_free(&pool, SIZE, id)?, "in use");
    drop(part);
    // A buffer of it is destroyed after its unmap, in a thread of the driver's.
    on_device.queue.flush()?;
    assert!(soon(|| is_free(&pool, SIZE, id))?, "not in use any more");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn clones_and_buffers_keep_the_block(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    assert_keeps(&on_device, |block| Ok(SvmAllocation::clone(block)))?;
    assert_keeps(&on_device, |block| block.map_read_write::<u8>(queue, ..4))?;
    assert_keeps(&on_device, |block| block.as_buffer(MemFlags::READ_WRITE, ..4))?;
    assert_keeps(&on_device, |block| {
        let buffer = block.as_buffer(MemFlags::READ_WRITE, ..4)?;
        buffer.map_read_write::<u8>(queue, ..)
    })
}

#[clmatrix_harness::test(requires(svm))]
fn a_buffer_of_a_block_keeps_its_bytes_after_the_handle_is_dropped(
    on_device: OnDevice,
) -> Result<()> {
    let queue = &on_device.queue;
    let pool: SvmPool = pool_of(&on_device)?;
    let block = pooled(&on_device, &pool)?;
    let buffer = block.as_buffer(MemFlags::READ_WRITE, ..16)?;
    drop(block);
    enqueue_fill(queue, &pool.allocate(SIZE)?, &9_u32, ..)?;
    on_device.run(DOUBLE, &[&buffer], 4)?;
    let mut found = [0_u32; 4];
    enqueue_copy(queue, &mut found, &buffer, ..)?;
    assert_eq!(found, [0, 2, 4, 6]);
    drop(buffer);
    assert_eq!(counts(&pool), (2, 0, 2046, 0));
    Ok(())
}

#[clmatrix_harness::test]
fn an_svm_pool_is_refused_without_svm(on_device: OnDevice, device: Device) -> Result<()> {
    if device.opencl3().svm_mem_capability() != 0 {
        skip!("the device has such memory");
    }
    let error = pool::<SvmAllocation>(&on_device, None, PoolOptions::new()).unwrap_err();
    assert_eq!(error.class(), Class::Unsupported);
    assert!(error.detail().contains(&device.opencl3().name().map_err(unanswered)?), "{error}");
    Ok(())
}
