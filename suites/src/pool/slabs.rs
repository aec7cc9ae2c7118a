//! Large blocks that are handed out in regions.

use std::thread;
use std::time::Duration;

use clmatrix::memory::{Buffer, MemFlags, MemoryObject, SvmFlags, enqueue_copy, enqueue_fill};
use clmatrix::pool::{MemoryPool, PoolOptions, PooledBuffer, SvmAllocator, SvmPool};
use clmatrix::{Class, CommandQueue, Device, Result, Status};
use clmatrix_harness::device;
use rstest::rstest;

use super::{counts, pool_in, pool_on};
use crate::buffer::{bytes_in, refusal};
use crate::support::gate::{gate, meanwhile, open, soon_open};
use crate::support::on_device::{OnDevice, on_device, soon};
use crate::support::pattern::{assert_same, before, source};

/// Bytes: a multiple of every alignment.
const ROOT: usize = 1 << 16;

fn split() -> PoolOptions {
    PoolOptions::new().suballocate(ROOT)
}

/// Returns the alignment of the offsets and sizes of regions, in bytes.
fn alignment(device: Device) -> Result<usize> {
    // Any type can begin there.
    Ok((device.opencl3().mem_base_addr_align()? as usize / 8).max(128))
}

/// Where it begins and ends in its root.
fn place(part: &PooledBuffer) -> (usize, usize) {
    (part.offset(), part.offset() + part.block_size())
}

fn root(part: &Buffer) -> usize {
    part.parent().expect("it is a region").as_raw().addr()
}

fn is_of(queue: &CommandQueue, buffer: &Buffer, value: u32) -> Result<bool> {
    let mut found = vec![0_u32; buffer.size() / 4];
    enqueue_copy(queue, &mut found, buffer, ..)?;
    Ok(found.iter().all(|found| *found == value))
}

#[rstest]
#[clmatrix_harness::test]
fn parts_of_a_slab_are_aligned_and_do_not_overlap(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let alignment = alignment(device)?;
    let parts: Vec<_> = [1, 100, alignment, alignment + 1, 5000, 0]
        .into_iter()
        .map(|size| pool.allocate(size).map(|part| (size, part)))
        .collect::<Result<_>>()?;
    let mut end = 0;
    for (size, part) in &parts {
        assert_eq!(part.size(), *size);
        assert_eq!(place(part), (end, end + size.max(&1).next_multiple_of(alignment)));
        assert_eq!(root(part), root(&parts[0].1));
        end = place(part).1;
    }
    let bytes = parts.iter().map(|(size, _)| size).sum();
    assert_eq!(counts(&pool), (0, 6, ROOT, bytes));
    Ok(())
}

/// Kernels write neighbours in turn, and each finds what it wrote before.
#[rstest]
#[clmatrix_harness::test]
fn kernels_on_adjacent_parts_do_not_interfere(on_device: OnDevice) -> Result<()> {
    const COUNT: usize = 33;
    let pool = pool_on(&on_device.queue, split())?;
    let parts: Vec<_> = (0..4).map(|_| pool.allocate(4 * COUNT)).collect::<Result<_>>()?;
    let write = "kernel void k(global uint *x, global const uint *seed) {
        x[get_global_id(0)] = 1000 * seed[0] + get_global_id(0);
    }";
    let add = "kernel void k(global uint *x) { x[get_global_id(0)] += 100; }";
    for (number, part) in parts.iter().enumerate() {
        let seed = Buffer::from_slice(&on_device.context, MemFlags::READ_ONLY, &[number as u32])?;
        on_device.run(write, &[part, &seed], COUNT)?;
    }
    for part in parts.iter().rev() {
        on_device.run(add, &[part], COUNT)?;
    }
    for (number, part) in (0..).zip(&parts) {
        let mut found = [0_u32; COUNT];
        enqueue_copy(&on_device.queue, &mut found, &**part, ..)?;
        let expected = |place: u32| 1000 * number + place + 100;
        assert!((0..).zip(found).all(|(place, found)| found == expected(place)), "{found:?}");
    }
    Ok(())
}

/// Regions of one root end at any byte; what is written to one leaves its neighbours alone.
#[rstest]
#[clmatrix_harness::test]
fn adjacent_parts_keep_their_bytes(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, split())?;
    let sizes = [4097, 1, 77, 4097];
    let parts = sizes.map(|size| pool.allocate(size));
    let parts: Vec<_> = parts.into_iter().collect::<Result<_>>()?;
    for part in &parts {
        assert_eq!(root(part), root(&parts[0]));
        enqueue_copy(queue, part, &before(part.size()), ..)?;
    }
    for (written, size) in sizes.into_iter().enumerate() {
        enqueue_copy(queue, &parts[written], &source(size), ..)?;
        for (number, part) in parts.iter().enumerate() {
            let expected = if number <= written { source } else { before };
            let what = format_args!("region {number} after region {written} was written");
            assert_same(&bytes_in(&on_device, part)?, &expected(part.size()), what);
        }
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn adjacent_free_ranges_are_merged(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let [first, second, third, fourth] = [
        pool.allocate(ROOT / 4)?,
        pool.allocate(ROOT / 4)?,
        pool.allocate(ROOT / 4)?,
        pool.allocate(ROOT / 4)?,
    ];
    let whole = root(&first);
    assert_eq!(counts(&pool), (0, 4, ROOT, ROOT));
    drop(second);
    assert_eq!(counts(&pool), (0, 3, ROOT, 3 * (ROOT / 4)));
    drop(fourth);
    // Two quarters that are no neighbours do not make a half.
    let half = pool.allocate(ROOT / 2)?;
    assert_ne!(root(&half), whole);
    assert_eq!(counts(&pool), (0, 3, 2 * ROOT, ROOT));
    drop(half);
    assert_eq!(counts(&pool), (1, 2, 2 * ROOT, ROOT / 2));
    drop(third);
    // The best fit: of the first root, three quarters are free.
    let most = pool.allocate(3 * (ROOT / 4))?;
    assert_eq!((root(&most), place(&most)), (whole, (ROOT / 4, ROOT)));
    enqueue_fill(&on_device.queue, &*most, &7_u32, ..)?;
    enqueue_fill(&on_device.queue, &*first, &8_u32, ..)?;
    assert!(is_of(&on_device.queue, &most, 7)? && is_of(&on_device.queue, &first, 8)?);
    drop((first, most));
    assert_eq!(counts(&pool), (2, 0, 2 * ROOT, 0));
    let all = pool.allocate(ROOT)?;
    assert_eq!((place(&all), counts(&pool)), ((0, ROOT), (1, 1, 2 * ROOT, ROOT)));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn requests_larger_than_a_slab_get_their_own_block(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let large = pool.allocate(ROOT + 1)?;
    let block = pool.alloc_size(pool.bin_number(ROOT + 1)).expect("a bin");
    assert!(large.parent().is_none() && large.block_size() == block);
    assert_eq!(counts(&pool), (0, 1, block, ROOT + 1));
    let small = pool.allocate(ROOT)?;
    assert!(small.parent().is_some());
    drop((large, small));
    assert_eq!(counts(&pool), (2, 0, ROOT + block, 0));
    // The largest goes first.
    pool.trim_to(ROOT + block - 1);
    assert_eq!(counts(&pool), (1, 0, ROOT, 0));
    pool.trim_to(ROOT);
    assert_eq!(counts(&pool), (1, 0, ROOT, 0));
    pool.trim_to(ROOT - 1);
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

/// While `keep` makes something of a region that still is there when the region has been dropped, its
/// bytes are not handed out; afterwards they are.
fn keeps_its_bytes<T>(
    on_device: &OnDevice,
    keep: impl FnOnce(&CommandQueue, &Buffer) -> Result<T>,
) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let part = pool.allocate(ROOT / 2)?;
    enqueue_fill(&on_device.queue, &*part, &5_u32, ..)?;
    let whole = root(&part);
    let kept = keep(&on_device.queue, &part)?;
    assert_eq!(place(&part), (0, ROOT / 2));
    drop(part);
    assert_eq!(counts(&pool), (1, 0, ROOT, 0));
    let other = pool.allocate(ROOT / 2)?;
    assert_eq!((root(&other), place(&other)), (whole, (ROOT / 2, ROOT)));
    enqueue_fill(&on_device.queue, &*other, &6_u32, ..)?;
    let third = pool.allocate(16)?;
    assert_ne!(root(&third), whole);
    drop(third);
    drop(kept);
    let again = pool.allocate(ROOT / 2)?;
    let in_first = root(&again) == whole;
    assert_eq!((in_first, place(&again)), (true, (0, ROOT / 2)));
    assert!(is_of(&on_device.queue, &again, 5)? && is_of(&on_device.queue, &other, 6)?);
    assert_eq!(counts(&pool), (1, 2, 2 * ROOT, ROOT));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_clone_keeps_the_part(on_device: OnDevice) -> Result<()> {
    keeps_its_bytes(&on_device, |_, part| Ok(part.clone()))
}

#[rstest]
#[clmatrix_harness::test]
fn a_sub_buffer_keeps_the_part(on_device: OnDevice) -> Result<()> {
    keeps_its_bytes(&on_device, |_, part| {
        let inner = part.sub_buffer(ROOT / 4..)?;
        assert_eq!((root(&inner), inner.offset()), (root(part), part.offset() + ROOT / 4));
        Ok(inner)
    })
}

#[rstest]
#[clmatrix_harness::test]
fn a_clone_of_a_sub_buffer_of_a_clone_keeps_the_part(on_device: OnDevice) -> Result<()> {
    keeps_its_bytes(&on_device, |_, part| part.clone().sub_buffer(..ROOT / 4)?.sub_buffer(..16))
}

#[rstest]
#[clmatrix_harness::test]
fn a_map_keeps_the_part(on_device: OnDevice) -> Result<()> {
    keeps_its_bytes(&on_device, |queue, part| {
        let map = part.map_read::<u32>(queue, ..)?;
        assert!(map.iter().all(|found| *found == 5));
        Ok(map)
    })
}

/// A fill of a region with 1 waits for the gate, and the region is given back; another queue's data
/// there comes later all the same. The pool is one for the first queue, for the other, or for none of
/// them.
fn comes_after(
    on_device: &OnDevice,
    pool: &MemoryPool,
    first: &CommandQueue,
    other: &CommandQueue,
) -> Result<()> {
    let gate = gate(&on_device.context);
    let old = pool.allocate_on(first, 4096)?;
    let old_place = (root(&old), place(&old));
    enqueue_fill(first.after(&gate), &old, &1_u32, ..)?;
    drop(old);
    let is_right = meanwhile(&gate, open, || -> Result<_> {
        let new = pool.allocate_on(other, 4096)?;
        assert_eq!((root(&new), place(&new)), old_place);
        enqueue_fill(other, &*new, &2_u32, ..)?;
        is_of(other, &new, 2)
    })?;
    assert!(is_right);
    first.finish()?;
    let third = pool.allocate_on(other, 4096)?;
    assert!(is_of(other, &third, 2)?);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn other_queues_wait_for_the_queue_of_the_pool(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    comes_after(&on_device, &pool, &on_device.queue, &on_device.another_queue())
}

#[rstest]
#[clmatrix_harness::test]
fn the_queue_of_the_pool_waits_for_other_queues(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    comes_after(&on_device, &pool, &on_device.another_queue(), &on_device.queue)
}

#[rstest]
#[clmatrix_harness::test]
fn queues_wait_for_each_other(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    comes_after(&on_device, &pool, &on_device.another_queue(), &on_device.another_queue())
}

#[rstest]
#[clmatrix_harness::test]
fn a_pool_without_a_queue_orders_queues(on_device: OnDevice) -> Result<()> {
    let pool = pool_in(&on_device.context, split())?;
    comes_after(&on_device, &pool, &on_device.queue, &on_device.another_queue())
}

/// Commands on the queue of the allocation may use it, whether the library sees them or not.
#[rstest]
#[clmatrix_harness::test]
fn reuse_of_a_part_waits_for_recorded_uses(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let (other, gate) = (on_device.another_queue(), gate(&on_device.context));
    let old = pool.allocate_on(&other, 256)?;
    let elsewhere = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    // As if it was a use of the region.
    enqueue_fill(other.after(&gate), &elsewhere, &1_u32, ..)?;
    old.record_use(&other)?;
    drop(old);
    meanwhile(&gate, open, || -> Result<_> {
        let new = pool.allocate(256)?;
        enqueue_fill(&on_device.queue, &*new, &2_u32, ..)?;
        on_device.queue.finish()
    })?;
    other.finish()
}

/// A queue that is known only from a neighbour's uses does not keep others waiting, nor do the uses of a
/// neighbour that is still there.
#[rstest]
#[clmatrix_harness::test]
fn reuse_of_a_part_on_the_same_queue_does_not_wait(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let gate = gate(&on_device.context);
    let neighbour = pool.allocate(4096)?;
    let part = pool.allocate(4096)?;
    enqueue_fill(on_device.queue.after(&gate), &neighbour, &1_u32, ..)?;
    let old = place(&part);
    drop(part);
    // It would not come to an end if it waited.
    let part = pool.allocate(4096)?;
    assert_eq!((place(&part), counts(&pool)), (old, (0, 2, ROOT, 8192)));
    open(&gate);
    on_device.queue.finish()?;
    Ok(())
}

/// Without a queue, only bytes whose uses are complete are handed out; where there are none, a new root is.
#[rstest]
#[clmatrix_harness::test]
fn parts_with_pending_commands_are_not_reused_without_a_queue(on_device: OnDevice) -> Result<()> {
    let pool = pool_in(&on_device.context, split())?;
    let (other, gate) = (on_device.another_queue(), gate(&on_device.context));
    let old = pool.allocate(4096)?;
    let (whole, at) = (root(&old), place(&old));
    let ends = enqueue_fill(on_device.queue.after(&gate), &old, &1_u32, ..)?;
    drop(old);
    let new = soon_open(&gate, || pool.allocate(4096))?;
    let has_ended = ends.status()? == Status::Complete;
    assert!((root(&new), place(&new)) != (whole, at) || has_ended);
    enqueue_fill(&other, &*new, &2_u32, ..)?;
    other.finish()?;
    ends.wait()?;
    assert!(is_of(&other, &new, 2)?);
    drop(new);
    // The pool may hear of it later than this thread.
    let is_back = soon(|| {
        let held = (0..pool.held_blocks()).map(|_| pool.allocate(ROOT));
        let held = held.collect::<Result<Vec<_>>>()?;
        Ok(held.iter().any(|part| root(part) == whole))
    });
    assert!(is_back?, "its uses have ended");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn the_limit_counts_slabs_and_blocks(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split().limit(ROOT + 4095))?;
    let first = pool.allocate(ROOT)?;
    // There is no room for a root, but for a block.
    let second = pool.allocate(1000)?;
    assert!(second.parent().is_none());
    assert_eq!(counts(&pool), (0, 2, ROOT + 1023, ROOT + 1000));
    let refused = pool.allocate(4000).expect_err("more than the limit");
    assert_eq!(refused.class(), Class::OutOfMemory);
    drop(first);
    assert_eq!(counts(&pool), (1, 1, ROOT + 1023, 1000));
    let third = pool.allocate(4000)?;
    assert!(third.parent().is_some());
    drop((second, third));
    // Held blocks are freed for a larger block.
    let large = pool.allocate(ROOT + 1)?;
    assert_eq!(counts(&pool), (0, 1, large.block_size(), ROOT + 1));
    let statistics = pool.statistics();
    assert_eq!(statistics.peak_active_bytes, ROOT + 1000);
    assert_eq!(statistics.peak_managed_bytes, ROOT + 4095);
    Ok(())
}

/// A root in use is not freed; one that only other handles are left of is, as any block.
#[rstest]
#[clmatrix_harness::test]
fn free_held_frees_unused_slabs(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let [first, second] = [pool.allocate(ROOT)?, pool.allocate(16)?];
    pool.free_held();
    assert_eq!(counts(&pool), (0, 2, 2 * ROOT, ROOT + 16));
    let clone = first.clone();
    drop(first);
    thread::scope(|scope| {
        scope.spawn(|| pool.free_held());
    });
    assert_eq!(counts(&pool), (0, 1, ROOT, 16));
    enqueue_fill(&on_device.queue, &clone, &3_u32, ..)?;
    assert!(is_of(&on_device.queue, &clone, 3)?);
    drop(clone);
    drop(second);
    assert_eq!(counts(&pool), (1, 0, ROOT, 0));
    let third = pool.allocate(16)?;
    pool.stop_holding();
    assert_eq!(counts(&pool), (0, 1, ROOT, 16));
    drop(third);
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    assert_eq!((pool.statistics().peak_managed_bytes, pool.allocate(8)?.size()), (2 * ROOT, 8));
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_part_outlives_its_pool(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split())?;
    let [first, second] = [pool.allocate(64)?, pool.allocate(64)?];
    let clone = second.clone();
    drop(pool);
    enqueue_fill(&on_device.queue, &*first, &9_u32, ..)?;
    assert!(is_of(&on_device.queue, &first, 9)?);
    let whole = first.parent().expect("it is a region");
    drop((first, second));
    enqueue_fill(&on_device.queue, &clone, &8_u32, ..)?;
    assert!(is_of(&on_device.queue, &clone, 8)?);
    drop(clone);
    // The pool's own is gone. The library releases the event of a fill when a later command finds the
    // fill complete.
    let is_alone = || {
        is_of(&on_device.queue, &whole, 8)?;
        Ok(whole.reference_count()? == 1)
    };
    assert!(soon(is_alone)?);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn idle_slabs_are_freed(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, split().max_idle(Duration::from_secs(3600)))?;
    drop(pool.allocate(64)?);
    pool.trim_idle();
    assert_eq!(counts(&pool), (1, 0, ROOT, 0));
    let pool = pool_on(&on_device.queue, split().max_idle(Duration::ZERO))?;
    let [first, second] = [pool.allocate(ROOT)?, pool.allocate(64)?];
    drop(first);
    pool.trim_idle();
    assert_eq!(counts(&pool), (0, 1, ROOT, 64));
    drop(second);
    pool.trim_idle();
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

/// Every thread has regions of several sizes, and finds in each what it wrote there.
#[rstest]
#[clmatrix_harness::test]
fn threads_share_slabs(on_device: OnDevice) -> Result<()> {
    const THREADS: u32 = 4;
    let pool = pool_on(&on_device.queue, split())?;
    let queues: Vec<_> = (0..THREADS).map(|_| on_device.another_queue()).collect();
    let work = |number: u32, queue: &CommandQueue| -> Result<()> {
        for round in 0..12 {
            let size = 64 + 4 * ((number * 37 + round * 101) as usize % 900);
            let parts = [pool.allocate_on(queue, size)?, pool.allocate_on(queue, 4 * size)?];
            let value = number * 1000 + round;
            for part in &parts {
                enqueue_fill(queue, &**part, &value, ..)?;
            }
            for part in &parts {
                assert!(is_of(queue, part, value)?, "thread {number}, round {round}");
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..)
            .zip(&queues)
            .map(|(number, queue)| scope.spawn(move || work(number, queue)))
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let (held, active, managed, bytes) = counts(&pool);
    assert_eq!((active, bytes, managed), (0, 0, held * ROOT));
    pool.free_held();
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn slabs_of_svm_are_refused(on_device: OnDevice) -> Result<()> {
    let allocator = SvmAllocator::new(&on_device.context, 0, SvmFlags::READ_WRITE, None)?;
    assert_eq!(refusal(SvmPool::with_options(allocator, split())), "CL_INVALID_VALUE");
    Ok(())
}
