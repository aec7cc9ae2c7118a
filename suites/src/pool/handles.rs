//! Pooled buffers wherever a buffer is due: each use is seen by a kernel, or is of what a kernel wrote.

use std::collections::HashSet;

use clmatrix::memory::{
    HostRect, Image, ImageBufferRegion, MapReadWrite, Rect, enqueue_migrate_mem_objects,
};

use super::*;
use crate::buffer::buffer_of;
use crate::image::{RGBA_U32, places, seen};

pub(super) const COUNT: usize = 250;
pub(super) const SIZE: usize = 4 * COUNT;

/// `0, 1, 2, ...` in a block that is larger.
pub(super) fn pooled<K: Kind>(on_device: &OnDevice, pool: &Pool<K>) -> Result<Pooled<K>> {
    let block = pool.allocate(SIZE)?;
    block.write(&on_device.queue, 0, bytemuck::cast_slice(&multiples(1)))?;
    Ok(block)
}

pub(super) fn multiples(factor: u32) -> Vec<u32> {
    (0..COUNT as u32).map(|i| factor * i).collect()
}

pub(super) const TRIPLE: &str = "kernel void k(global const uint *from, global uint *to) {
    to[get_global_id(0)] = 3 * from[get_global_id(0)];
}";

#[clmatrix_harness::test]
fn a_block_has_the_requested_size(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let buffer = pooled(&on_device, &pool)?;
    assert_eq!((buffer.size(), buffer.block_size()), (SIZE, 1023));
    // The bytes beyond the request do not belong to the handle.
    let refused = enqueue_fill(&on_device.queue, &buffer, &0_u8, SIZE..=SIZE);
    assert_eq!(refusal(refused), "CL_INVALID_VALUE");
    assert_eq!(refusal(buffer.sub_buffer(..=SIZE)), "CL_INVALID_VALUE");
    let nothing = enqueue_fill(&on_device.queue, &pool.allocate(0)?, &0_u8, ..);
    assert_eq!(refusal(nothing), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test]
fn a_block_is_copied_to_and_from_the_host(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let buffer = pooled(&on_device, &pool)?;
    on_device.run(DOUBLE, &[&buffer], COUNT)?;
    let mut found = vec![0; COUNT];
    enqueue_copy(queue, &mut found, &buffer, ..)?;
    assert_eq!(found, multiples(2));
    enqueue_copy(queue, &buffer, &[1_u32, 2], Linear::default().dst_offset(SIZE - 8))?;
    assert_eq!(enqueue_copy(queue, &buffer, vec![3_u32], ..)?.wait()?, [3]);
    on_device.run(DOUBLE, &[&buffer], COUNT)?;
    let mut ends = [0_u32; 2];
    enqueue_copy(queue, &mut ends, &buffer, Linear::default().src_offset(SIZE - 8))?;
    assert_eq!(ends, [2, 4]);
    let first = Linear::default().byte_count(8);
    assert_eq!(enqueue_copy(queue, vec![0_u32; 2], &buffer, first)?.wait()?, [6, 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_block_is_copied_by_rectangles(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let (one, other) = (pooled(&on_device, &pool)?, pool.allocate(SIZE)?);
    // Two columns of ten rows of ten numbers.
    let rect = HostRect::new([8, 10]).buffer_origin([4]).buffer_pitches([40]);
    enqueue_copy(queue, &one, &[7_u32; 20], rect)?;
    enqueue_copy(queue, &other, &one, Rect::new([40, 10]))?;
    on_device.run(DOUBLE, &[&other], 100)?;
    let mut columns = [0_u32; 30];
    let rect = HostRect::new([12, 10]).buffer_pitches([40]);
    enqueue_copy(queue, &mut columns, &other, rect)?;
    let expected: Vec<u32> = (0..10).flat_map(|row| [20 * row, 14, 14]).collect();
    assert_eq!(columns[..], expected);
    Ok(())
}

#[clmatrix_harness::test]
fn a_block_is_copied_to_and_from_buffers_and_blocks(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let (one, other) = (pooled(&on_device, &pool)?, pool.allocate(SIZE)?);
    let plain = buffer_of(&on_device, &[9; COUNT])?;
    on_device.run(DOUBLE, &[&one], COUNT)?;
    enqueue_copy(queue, &plain, &one, ..)?;
    on_device.run(DOUBLE, &[&plain], COUNT)?;
    enqueue_copy(queue, &other, &plain, ..)?;
    on_device.run(DOUBLE, &[&other], COUNT)?;
    enqueue_copy(queue, &one, &other, ..)?;
    on_device.run(DOUBLE, &[&one], COUNT)?;
    assert_eq!(contents(&on_device, &one)?, multiples(16));
    enqueue_copy(queue, &other, &one, Linear::default().src_offset(SIZE / 2))?;
    assert_eq!(contents(&on_device, &other)?[..4], multiples(16)[COUNT / 2..][..4]);
    assert_eq!(refusal(enqueue_copy(queue, &one, &one, ..)), "CL_MEM_COPY_OVERLAP");
    Ok(())
}

#[clmatrix_harness::test]
fn functions_for_buffers_accept_a_block(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let (one, other) = (pool.allocate(SIZE)?, pool.allocate(SIZE)?);
    enqueue_fill(queue, &one, &1_u32, ..)?;
    enqueue_fill(queue, &one, &2_u32, 4..8)?;
    one.slice::<u32>(2..).write(queue, &[3_u32])?;
    on_device.run(DOUBLE, &[&one], COUNT)?;
    enqueue_copy(queue, &other, &one, Linear::default().src_offset(4).byte_count(SIZE - 4))?;
    let mut found = [0_u32; 3];
    other.read(queue, &mut found)?;
    assert_eq!(found, [4, 6, 2]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_block_is_mapped(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let buffer = pooled(&on_device, &pool)?;
    on_device.run(DOUBLE, &[&buffer], COUNT)?;
    let mut map = buffer.map_read_write::<u32>(queue, ..)?;
    assert_eq!(map[..], multiples(2));
    map.fill(5);
    map.unmap()?;
    on_device.run(DOUBLE, &[&buffer], COUNT)?;
    buffer.assert_holds(queue, 10, "a kernel doubles the 5 that a map wrote")
}

#[clmatrix_harness::test(requires(images))]
fn a_block_is_copied_to_and_from_images(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let (one, other) = (pool.allocate(16 * 12)?, pool.allocate(16 * 12)?);
    enqueue_copy(queue, &one, &places(&[4, 3]), ..)?;
    let image = Image::builder(&on_device.context, RGBA_U32).shape([4, 3]).build()?;
    enqueue_copy(queue, &image, &one, ..)?;
    assert_eq!(seen(&on_device, &image)?, places(&[4, 3]));
    enqueue_copy(queue, &other, &image, ..)?;
    on_device.run(DOUBLE, &[&other], 4 * 12)?;
    let twice: Vec<u32> =
        places(&[4, 3]).as_flattened().iter().map(|place| place.wrapping_mul(2)).collect();
    assert_eq!(contents(&on_device, &other)?, twice);
    enqueue_copy(queue, &image, &other, ImageBufferRegion::new([1, 1]).offset(16))?;
    assert_eq!(seen(&on_device, &image)?[0][..], twice[4..8]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_block_is_migrated_with_other_objects(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let (one, other) = (pooled(&on_device, &pool)?, buffer_of(&on_device, &[7; 64])?);
    enqueue_migrate_mem_objects(&on_device.queue, &[&one, &other], MigrationFlags::empty())?;
    on_device.run(DOUBLE, &[&one], COUNT)?;
    assert_eq!(contents(&on_device, &one)?, multiples(2));
    Ok(())
}

#[clmatrix_harness::test]
fn a_block_is_passed_to_kernels(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let (one, other) = (pooled(&on_device, &pool)?, pool.allocate(SIZE)?);
    let mut kernel = on_device.kernel(TRIPLE, "")?;
    let mut launch = kernel.launch();
    launch.arg_read(&one).arg(&other).global(COUNT);
    // SAFETY: the kernel takes two buffers, and has as many work items as elements.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &other)?, multiples(3));
    Ok(())
}

of_each_kind!(handles_are_compared_by_block);

fn handles_are_compared_by_block<K: Kind>(on_device: OnDevice) -> Result<()> {
    let pool: Pool<K> = pool_of(&on_device)?;
    let (one, other) = (pool.allocate(SIZE)?, pool.allocate(SIZE)?);
    assert!(one.eq(&one) && one != other);
    let id = one.id();
    #[expect(clippy::mutable_key_type, reason = "equality and hash are those of the handle")]
    let mut blocks = HashSet::from([one, other]);
    assert_eq!(blocks.len(), 2);
    blocks.retain(|block| block.id() != id);
    let again = pool.allocate(SIZE)?;
    assert_eq!(again.id(), id);
    assert!(!blocks.contains(&again) && blocks.insert(again));
    Ok(())
}

/// While there is this part of a block, the block is not used again.
#[track_caller]
fn assert_keeps<T>(
    on_device: &OnDevice,
    part: impl FnOnce(&PooledBuffer) -> Result<T>,
) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let block = pool.allocate(SIZE)?;
    let id = block.id();
    let part = part(&block)?;
    drop(block);
    assert_eq!(pool.active_blocks(), 0);
    assert!(!is_free(&pool, SIZE, id)?, "in use");
    drop(part);
    assert!(is_free(&pool, SIZE, id)?, "not in use any more");
    Ok(())
}

/// PyOpenCL's issue 335: a part of a block kept the memory, but not the block.
#[clmatrix_harness::test]
fn clones_and_sub_buffers_keep_the_block(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    assert_keeps(&on_device, |block| Ok(Buffer::clone(block)))?;
    assert_keeps(&on_device, |block| block.sub_buffer(..16))?;
    assert_keeps(&on_device, |block| Buffer::clone(block).sub_buffer(..16)?.sub_buffer(..4))?;
    assert_keeps(&on_device, |block| block.map_read_write::<u8>(queue, ..4))
}

of_each_kind!(a_reused_block_holds_all_bytes_of_any_size);

/// A block holds the bytes of its last owner: only the bytes that are written change.
fn a_reused_block_holds_all_bytes_of_any_size<K: Kind>(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool: Pool<K> = pool_of(&on_device)?;
    for size in SIZES {
        let (data, to) = (source(size), before(size + 20));
        let old = pool.allocate(to.len())?;
        let id = old.id();
        old.write(queue, 0, &to)?;
        drop(old);
        let new = pool.allocate(to.len())?;
        assert_eq!(new.id(), id);
        new.write(queue, 5, &data)?;
        let mut found = vec![0; to.len()];
        new.read(queue, &mut found)?;
        assert_moved(&found, &to, 5, &data);
    }
    Ok(())
}

/// rusticl refuses to unmap before the map has run: the map must be complete when it is dropped.
// quirk: RUSTICL-3
#[clmatrix_harness::test]
fn a_pending_map_keeps_the_block(on_device: OnDevice) -> Result<()> {
    assert_keeps(&on_device, |block| {
        let queue = &on_device.queue;
        let map = block.map_async::<u8, _>(queue, MapReadWrite, ..4)?;
        queue.finish()?;
        Ok(map)
    })
}

/// rusticl does not unmap a map that is dropped before it has run: the pool does.
// quirk: RUSTICL-3
#[rstest]
#[clmatrix_harness::test]
fn memory_of_a_map_that_was_dropped_early_is_reused(
    on_device: OnDevice,
    #[values(false, true)] has_slabs: bool,
) -> Result<()> {
    let queue = &on_device.queue;
    let buffers = pool_on(queue, PoolOptions::new())?;
    let (parts, _slabs) = slabs_of(buffers.clone(), 1024, PoolOptions::new())?;
    let pool = if has_slabs { &parts } else { &buffers };
    for _ in 0..4 {
        let gate = gate(&on_device.context);
        let block = pool.allocate(SIZE)?;
        drop(block.map_async::<u8, _>(queue.after(&gate), MapReadWrite, ..)?);
        drop(block);
        open(&gate);
        queue.finish()?;
    }
    drop(pool.allocate(SIZE)?);
    assert!(buffers.managed_bytes() < 2 * SIZE, "{} bytes for one block", buffers.managed_bytes());
    Ok(())
}

#[clmatrix_harness::test]
fn a_sub_buffer_keeps_its_bytes_after_the_handle_is_dropped(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let block = pooled(&on_device, &pool)?;
    let region = block.sub_buffer(..16)?;
    drop(block);
    let new = pool.allocate(SIZE)?;
    enqueue_fill(&on_device.queue, &new, &9_u32, ..)?;
    on_device.run(DOUBLE, &[&region], 4)?;
    assert_eq!(contents(&on_device, &region)?, [0, 2, 4, 6]);
    Ok(())
}

of_each_kind!(a_forgotten_map_keeps_the_block);

/// A map that is forgotten keeps its bytes closed for good.
fn a_forgotten_map_keeps_the_block<K: Kind>(on_device: OnDevice) -> Result<()> {
    let pool: Pool<K> = pool_of(&on_device)?;
    let block = pool.allocate(SIZE)?;
    let id = block.id();
    std::mem::forget(block.map(&on_device.queue)?);
    drop(block);
    assert!(!is_free(&pool, SIZE, id)?);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_of_a_block_keeps_the_block(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let block = pool.allocate(SIZE)?;
    let raw = block.as_raw().addr();
    enqueue_copy(&on_device.queue, &block, &places(&[7]), ..)?;
    let image = Image::builder(&on_device.context, RGBA_U32).shape([7]).buffer(&block).build()?;
    drop(block);
    assert!(!is_free(&pool, SIZE, raw)?);
    enqueue_fill(&on_device.queue, &pool.allocate(SIZE)?, &9_u32, ..)?;
    assert_eq!(seen(&on_device, &image)?, places(&[7]));
    drop(image);
    assert!(is_free(&pool, SIZE, raw)?);
    Ok(())
}

/// Asks any allocator for two sizes.
fn ask<M>(allocator: &dyn Allocator<Memory = M>) -> Result<(Option<M>, Option<M>)> {
    Ok((allocator.allocate(SIZE)?, allocator.allocate(0)?))
}

#[rstest]
#[clmatrix_harness::test]
#[case::of_buffers(BUFFERS)]
#[clmatrix_harness::test(requires(svm))]
#[case::of_svm(SVM)]
fn a_pool_is_an_allocator<K: Kind>(
    on_device: OnDevice,
    #[values(true, false)] has_queue: bool,
    #[case] _kind: PhantomData<K>,
) -> Result<()> {
    let queue = has_queue.then_some(&on_device.queue);
    let pool: Pool<K> = pool(&on_device, queue, PoolOptions::new())?;
    let (block, nothing) = ask(&pool)?;
    let block = block.expect("more than 0 bytes");
    assert!(nothing.is_none());
    assert_eq!(counts(&pool), (0, 1, 1023, SIZE));
    block.fill(&on_device.queue, 4)?;
    block.assert_holds(&on_device.queue, 4, FILLED)?;
    drop(block);
    assert_eq!(counts(&pool), (1, 0, 1023, 0));
    Ok(())
}

#[clmatrix_harness::test]
fn a_pool_has_the_properties_of_its_allocator(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let (deferred, immediate) =
        (pool_in(&context, PoolOptions::new())?, pool_on(&queue, PoolOptions::new())?);
    assert!(deferred.is_deferred() && !immediate.is_deferred());
    assert!(Allocator::queue(&deferred).is_none());
    assert_eq!(Allocator::queue(&immediate).map(|queue| queue.as_raw()), Some(queue.as_raw()));
    for pool in [deferred, immediate] {
        assert_eq!(Allocator::context(&pool), context);
        let most = pool.max_size().expect("the device tells");
        let error = Allocator::allocate(&pool, most + 1).unwrap_err();
        assert_eq!(error.code_name(), "CL_INVALID_BUFFER_SIZE");
    }
    Ok(())
}
