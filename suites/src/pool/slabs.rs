//! Large blocks that are handed out in regions.

use std::ops::Deref;

use clmatrix::memory::MemoryObject;

use super::*;
use crate::buffer::bytes_in;

/// Bytes: a multiple of every alignment.
const ROOT: usize = 1 << 16;

/// A pool of the parts of slabs.
struct Split {
    pool: MemoryPool,
    slabs: Arc<SlabAllocator<Box<dyn Allocator<Memory = Buffer>>>>,
}

impl Deref for Split {
    type Target = MemoryPool;

    fn deref(&self) -> &MemoryPool {
        &self.pool
    }
}

impl Split {
    /// A pool of parts for the queue, if there is one.
    fn new(on_device: &OnDevice, queue: Option<&CommandQueue>) -> Result<Self> {
        let inner = Buffer::allocator(&on_device.context, queue)?;
        let (pool, slabs) = slabs_of(inner, ROOT, PoolOptions::new())?;
        Ok(Self { pool, slabs })
    }

    /// The number of parts, the bytes of all slabs, and the requested bytes.
    fn counts(&self) -> (usize, usize, usize) {
        let (held, active, managed, bytes) = counts(&self.pool);
        assert!(held == 0 && managed >= bytes && managed <= bytes + active);
        (active, self.slabs.reserved_bytes(), bytes)
    }
}

/// A pool of parts for the queue of `on_device`.
fn split(on_device: &OnDevice) -> Result<Split> {
    Split::new(on_device, Some(&on_device.queue))
}

/// Fills each part with a number of its own, and then finds the numbers there.
#[track_caller]
fn assert_apart(on_device: &OnDevice, parts: &[&Buffer]) -> Result<()> {
    for (value, part) in (2..).zip(parts) {
        Kind::fill(*part, &on_device.queue, value)?;
    }
    for (value, part) in (2..).zip(parts) {
        part.assert_holds(&on_device.queue, value, FILLED)?;
    }
    Ok(())
}

/// Where it begins and ends in its root.
fn place(part: &PooledBuffer) -> (usize, usize) {
    (part.offset(), part.offset() + part.size())
}

fn root(part: &Buffer) -> usize {
    part.parent().expect("it is a region").id()
}

#[clmatrix_harness::test]
fn parts_of_a_slab_are_aligned_and_do_not_overlap(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    // Any type can begin there.
    let alignment = region_offset(on_device.context.default_device(), 128)?;
    let sizes = [1, 100, alignment, alignment + 1, 5000, 0];
    let parts = sizes.iter().map(|size| pool.allocate(*size)).collect::<Result<Vec<_>>>()?;
    let mut end = 0;
    for (size, part) in sizes.iter().zip(&parts) {
        assert_eq!(place(part), (end, end + size));
        assert_eq!(root(part), root(&parts[0]));
        end += size.max(&1).next_multiple_of(alignment);
    }
    assert_eq!(pool.counts(), (6, ROOT, sizes.iter().sum()));
    Ok(())
}

/// The bytes behind the last multiple of the alignment are in no part.
#[clmatrix_harness::test]
fn a_slab_need_not_be_a_multiple_of_the_alignment(on_device: OnDevice) -> Result<()> {
    const SLAB: usize = ROOT + 64;
    let inner = ImmediateAllocator::new(&on_device.queue, MemFlags::READ_WRITE)?;
    let (pool, slabs) = slabs_of(inner, SLAB, PoolOptions::new())?;
    for _ in 0..3 {
        let whole = pool.allocate(SLAB)?;
        let part = pool.allocate(10)?;
        assert_eq!((whole.offset(), part.offset()), (0, 0));
        assert_eq!(slabs.reserved_bytes(), 2 * SLAB);
        drop(whole);
        // Too large for a slab: it had a buffer of its own.
        assert_eq!(slabs.reserved_bytes(), SLAB);
    }
    Ok(())
}

/// Kernels write neighbours in turn, and each finds what it wrote before.
#[clmatrix_harness::test]
fn kernels_on_adjacent_parts_do_not_interfere(on_device: OnDevice) -> Result<()> {
    const COUNT: usize = 33;
    let pool = split(&on_device)?;
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
#[clmatrix_harness::test]
fn adjacent_parts_keep_their_bytes(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = split(&on_device)?;
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

#[clmatrix_harness::test]
fn adjacent_free_ranges_are_merged(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    let quarter = || pool.allocate(ROOT / 4);
    let [first, second, third, fourth] = [quarter()?, quarter()?, quarter()?, quarter()?];
    let whole = root(&first);
    assert_eq!(pool.counts(), (4, ROOT, ROOT));
    drop(second);
    assert_eq!(pool.counts(), (3, ROOT, 3 * (ROOT / 4)));
    drop(fourth);
    // Two quarters that are no neighbours do not make a half.
    let half = pool.allocate(ROOT / 2)?;
    assert_ne!(root(&half), whole);
    assert_eq!(pool.counts(), (3, 2 * ROOT, ROOT));
    drop(half);
    assert_eq!(pool.counts(), (2, 2 * ROOT, ROOT / 2));
    drop(third);
    // The best fit: of the first root, three quarters are free.
    let most = pool.allocate(3 * (ROOT / 4))?;
    assert_eq!((root(&most), place(&most)), (whole, (ROOT / 4, ROOT)));
    assert_apart(&on_device, &[&most, &first])?;
    drop((first, most));
    assert_eq!(pool.counts(), (0, 2 * ROOT, 0));
    let all = pool.allocate(ROOT)?;
    assert_eq!((place(&all), pool.counts()), ((0, ROOT), (1, 2 * ROOT, ROOT)));
    Ok(())
}

#[clmatrix_harness::test]
fn requests_larger_than_a_slab_get_their_own_buffer(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    let large = pool.allocate(ROOT + 1)?;
    assert_eq!((place(&large), pool.counts()), ((0, ROOT + 1), (1, ROOT + 1, ROOT + 1)));
    let small = pool.allocate(16)?;
    assert_ne!(root(&small), root(&large));
    assert_eq!(pool.counts(), (2, 2 * ROOT + 1, ROOT + 17));
    drop(large);
    assert_eq!(pool.counts(), (1, ROOT, 16));
    drop(small);
    assert_eq!(pool.counts(), (0, ROOT, 0));
    Ok(())
}

/// While `keep` makes something of a region that still is there when the region has been dropped, its
/// bytes are not handed out; afterwards they are.
fn keeps_its_bytes<T>(
    on_device: &OnDevice,
    keep: impl FnOnce(&CommandQueue, &Buffer) -> Result<T>,
) -> Result<()> {
    let pool = split(on_device)?;
    let part = pool.allocate(ROOT / 2)?;
    enqueue_fill(&on_device.queue, &*part, &5_u32, ..)?;
    let whole = root(&part);
    let kept = keep(&on_device.queue, &part)?;
    assert_eq!(place(&part), (0, ROOT / 2));
    drop(part);
    assert_eq!(pool.counts(), (0, ROOT, 0));
    let other = pool.allocate(ROOT / 2)?;
    assert_eq!((root(&other), place(&other)), (whole, (ROOT / 2, ROOT)));
    enqueue_fill(&on_device.queue, &*other, &6_u32, ..)?;
    let third = pool.allocate(16)?;
    assert_ne!(root(&third), whole);
    drop(third);
    drop(kept);
    let again = pool.allocate(ROOT / 2)?;
    assert_eq!((root(&again), place(&again)), (whole, (0, ROOT / 2)));
    again.assert_holds(&on_device.queue, 5, FILLED)?;
    other.assert_holds(&on_device.queue, 6, FILLED)?;
    assert_eq!(pool.counts(), (2, 2 * ROOT, ROOT));
    Ok(())
}

#[clmatrix_harness::test]
fn a_clone_keeps_the_part(on_device: OnDevice) -> Result<()> {
    keeps_its_bytes(&on_device, |_, part| Ok(part.clone()))
}

#[clmatrix_harness::test]
fn a_sub_buffer_keeps_the_part(on_device: OnDevice) -> Result<()> {
    keeps_its_bytes(&on_device, |_, part| {
        let inner = part.sub_buffer(ROOT / 4..)?;
        assert_eq!((root(&inner), inner.offset()), (root(part), part.offset() + ROOT / 4));
        Ok(inner)
    })
}

#[clmatrix_harness::test]
fn a_clone_of_a_sub_buffer_of_a_clone_keeps_the_part(on_device: OnDevice) -> Result<()> {
    keeps_its_bytes(&on_device, |_, part| part.clone().sub_buffer(..ROOT / 4)?.sub_buffer(..16))
}

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
    pool: &Split,
    first: &CommandQueue,
    other: &CommandQueue,
) -> Result<()> {
    let gate = gate(&on_device.context);
    let old = pool.allocate_on(first, 4096)?;
    let old_place = (root(&old), place(&old));
    enqueue_fill(first.after(&gate), &old, &1_u32, ..)?;
    drop(old);
    after_owner(&gate, || -> Result<_> {
        let new = pool.allocate_on(other, 4096)?;
        assert_eq!((root(&new), place(&new)), old_place);
        enqueue_fill(other, &*new, &2_u32, ..)?;
        new.assert_holds(other, 2, BARRIER)
    })?;
    first.finish()?;
    let third = pool.allocate_on(other, 4096)?;
    third.assert_holds(other, 2, BARRIER)
}

#[clmatrix_harness::test]
fn other_queues_wait_for_the_queue_of_the_pool(on_device: OnDevice) -> Result<()> {
    comes_after(&on_device, &split(&on_device)?, &on_device.queue, &on_device.another_queue())
}

#[clmatrix_harness::test]
fn the_queue_of_the_pool_waits_for_other_queues(on_device: OnDevice) -> Result<()> {
    comes_after(&on_device, &split(&on_device)?, &on_device.another_queue(), &on_device.queue)
}

#[clmatrix_harness::test]
fn queues_wait_for_each_other(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    comes_after(&on_device, &pool, &on_device.another_queue(), &on_device.another_queue())
}

#[clmatrix_harness::test]
fn a_pool_without_a_queue_orders_queues(on_device: OnDevice) -> Result<()> {
    let pool = Split::new(&on_device, None)?;
    comes_after(&on_device, &pool, &on_device.queue, &on_device.another_queue())
}

/// Commands on the queue of the allocation may use it, whether the library sees them or not.
#[clmatrix_harness::test]
fn reuse_of_a_part_waits_for_recorded_uses(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    let (other, gate) = (on_device.another_queue(), gate(&on_device.context));
    let old = pool.allocate_on(&other, 256)?;
    let elsewhere = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    // As if it was a use of the region.
    enqueue_fill(other.after(&gate), &elsewhere, &1_u32, ..)?;
    MemoryObject::record_use(&*old, &enqueue_marker(&other)?)?;
    drop(old);
    after_owner(&gate, || -> Result<_> {
        let new = pool.allocate(256)?;
        enqueue_fill(&on_device.queue, &*new, &2_u32, ..)?;
        on_device.queue.finish()
    })?;
    other.finish()
}

/// A queue that is known only from a neighbour's uses does not keep others waiting, nor do the uses of a
/// neighbour that is still there.
#[clmatrix_harness::test]
fn reuse_of_a_part_on_the_same_queue_does_not_wait(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    let gate = gate(&on_device.context);
    let neighbour = pool.allocate(4096)?;
    let part = pool.allocate(4096)?;
    enqueue_fill(on_device.queue.after(&gate), &neighbour, &1_u32, ..)?;
    let old = place(&part);
    drop(part);
    // It would not come to an end if it waited.
    let part = pool.allocate(4096)?;
    assert_eq!((place(&part), pool.counts()), (old, (2, ROOT, 8192)));
    open(&gate);
    on_device.queue.finish()
}

/// A command that has failed has ended.
#[rstest]
#[clmatrix_harness::test]
fn a_part_with_a_failed_command_is_reused(
    on_device: OnDevice,
    #[values(false, true)] has_queue: bool,
) -> Result<()> {
    let queue = &on_device.queue;
    let (other, gate) = (on_device.another_queue(), gate(&on_device.context));
    let allocate = |pool: &MemoryPool| {
        if has_queue { pool.allocate_on(queue, 4096) } else { pool.allocate(4096) }
    };
    let pool = Split::new(&on_device, None)?;
    let [part, neighbour] = [allocate(&pool)?, allocate(&pool)?];
    enqueue_fill(queue, &*neighbour, &3_u32, ..)?.wait()?;
    let at = (root(&part), place(&part));
    let failed = enqueue_fill(other.after(&gate), &*part, &1_u32, ..)?;
    drop(part);
    fail(&gate);
    failed.wait().expect_err("the fill fails with the gate");
    let part = allocate(&pool)?;
    assert_eq!((root(&part), place(&part), pool.counts()), (at.0, at.1, (2, ROOT, 8192)));
    enqueue_fill(queue, &*part, &2_u32, ..)?;
    part.assert_holds(queue, 2, FILLED)?;
    neighbour.assert_holds(queue, 3, FILLED)
}

/// Without a queue, only bytes whose uses are complete are handed out; where there are none, a new root is.
#[clmatrix_harness::test]
fn parts_with_pending_commands_are_not_reused_without_a_queue(on_device: OnDevice) -> Result<()> {
    let pool = Split::new(&on_device, None)?;
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
    new.assert_holds(&other, 2, BARRIER)?;
    drop(new);
    // The pool may hear of it later than this thread.
    let is_back = soon(|| {
        let held = (0..pool.slabs.reserved_bytes() / ROOT).map(|_| pool.allocate(ROOT));
        let held = held.collect::<Result<Vec<_>>>()?;
        Ok(held.iter().any(|part| root(part) == whole))
    });
    assert!(is_back?, "its uses have ended");
    Ok(())
}

/// Parts between which commands are pending do not keep the rest of a slab from use.
#[clmatrix_harness::test]
fn parts_with_pending_commands_need_no_new_slabs(on_device: OnDevice) -> Result<()> {
    const PART: usize = ROOT / 64;
    let pool = Split::new(&on_device, None)?;
    let gate = gate(&on_device.context);
    let parts = (0..40).map(|_| pool.allocate(PART)).collect::<Result<Vec<_>>>()?;
    let (pending, kept): (Vec<_>, Vec<_>) =
        parts.into_iter().enumerate().partition(|(number, _)| number % 2 == 0);
    for (_, part) in &pending {
        enqueue_fill(on_device.queue.after(&gate), &**part, &1_u32, ..)?;
    }
    drop(pending);
    let more = (0..20).map(|_| pool.allocate(PART)).collect::<Result<Vec<_>>>();
    let reserved = pool.slabs.reserved_bytes();
    open(&gate);
    on_device.queue.finish()?;
    assert_eq!((more?.len() + kept.len(), reserved), (40, ROOT));
    Ok(())
}

/// The limit of slabs is that of a pool below.
#[clmatrix_harness::test]
fn slabs_of_a_pool_have_its_limit(on_device: OnDevice) -> Result<()> {
    let options = PoolOptions::new().leading_bits(20).limit(ROOT + 4095);
    let below = pool_on(&on_device.queue, options)?;
    let (pool, slabs) = slabs_of(below.clone(), ROOT, PoolOptions::new())?;
    let first = pool.allocate(ROOT)?;
    // There is no room for a slab, but for a buffer.
    let second = pool.allocate(1000)?;
    assert_ne!(root(&second), root(&first));
    assert_eq!(counts(&below), (0, 2, ROOT + 1000, ROOT + 1000));
    let refused = pool.allocate(4000).expect_err("more than the limit");
    assert_eq!(refused.class(), Class::OutOfMemory);
    let whole = root(&first);
    drop(first);
    let third = pool.allocate(4000)?;
    assert_eq!(root(&third), whole);
    drop((second, third));
    assert_eq!(counts(&below), (1, 1, ROOT + 1000, ROOT));
    // Unused slabs are freed for a larger buffer.
    let large = pool.allocate(ROOT + 1)?;
    assert_eq!(counts(&below), (0, 1, ROOT + 1, ROOT + 1));
    assert_eq!(below.statistics().peak_managed_bytes, ROOT + 1000);
    drop((large, pool, slabs));
    assert_eq!(counts(&below), (1, 0, ROOT + 1, 0));
    Ok(())
}

/// The allocator below has no more memory than two slabs and a small buffer.
#[clmatrix_harness::test]
fn slabs_without_parts_are_freed_when_memory_runs_out(on_device: OnDevice) -> Result<()> {
    const MORE: usize = 4096;
    let allocator = Capped::new(&on_device, 2 * ROOT + MORE, &Inside::default())?;
    let (pool, slabs) = slabs_of(Arc::clone(&allocator), ROOT, PoolOptions::new())?;
    let [first, second, own] = [pool.allocate(ROOT)?, pool.allocate(ROOT)?, pool.allocate(MORE)?];
    assert_eq!((own.offset(), slabs.reserved_bytes()), (0, 2 * ROOT + MORE));
    let error = pool.allocate(MORE).expect_err("there is no more memory");
    assert_eq!((error.class(), error.call()), (Class::OutOfMemory, Some("MemoryPool::allocate")));
    drop(own);
    assert_eq!(allocator.alive(2 * ROOT), 2 * ROOT);
    assert_eq!(slabs.reserved_bytes(), 2 * ROOT);
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &second, &1_u32, ..)?;
    drop(second);
    // The driver has the memory until the fill has ended, and some drivers for a moment longer.
    let mut large = None;
    let is_there = meanwhile(&gate, open, || {
        soon(|| match pool.allocate(ROOT + MORE) {
            Err(error) if error.class() == Class::OutOfMemory => Ok(false),
            allocated => {
                large = Some(allocated?);
                Ok(true)
            }
        })
    })?;
    let large = large.filter(|_| is_there).expect("there is memory");
    let most = 2 * ROOT + MORE;
    assert_eq!((allocator.alive(most), slabs.reserved_bytes()), (most, most));
    assert_apart(&on_device, &[&large, &first])
}

/// A slab is in use as long as there is a handle to a part of it.
#[clmatrix_harness::test]
fn free_unused_frees_slabs_without_parts(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    let [first, second] = [pool.allocate(ROOT)?, pool.allocate(16)?];
    let clone = first.clone();
    drop(first);
    pool.slabs.free_unused();
    assert_eq!(pool.counts(), (1, 2 * ROOT, 16));
    assert_apart(&on_device, &[&clone])?;
    drop(clone);
    thread::scope(|scope| {
        scope.spawn(|| pool.slabs.free_unused());
    });
    assert_eq!(pool.counts(), (1, ROOT, 16));
    drop(second);
    assert_eq!(pool.counts(), (0, ROOT, 0));
    pool.slabs.free_unused();
    assert_eq!((pool.counts(), pool.allocate(8)?.size()), ((0, 0, 0), 8));
    Ok(())
}

#[clmatrix_harness::test]
fn a_part_outlives_its_pool(on_device: OnDevice) -> Result<()> {
    let pool = split(&on_device)?;
    let [first, second] = [pool.allocate(64)?, pool.allocate(64)?];
    let clone = second.clone();
    drop(pool);
    assert_apart(&on_device, &[&first])?;
    let whole = first.parent().expect("it is a region");
    drop((first, second));
    assert_apart(&on_device, &[&clone])?;
    drop(clone);
    // The pool's own is gone. The library releases the event of a fill when a later command finds the
    // fill complete.
    let is_alone = || {
        whole.contents(&on_device.queue)?;
        Ok(whole.reference_count()? == 1)
    };
    assert!(soon(is_alone)?);
    Ok(())
}

/// Every thread has regions of several sizes, and finds in each what it wrote there.
#[clmatrix_harness::test]
fn threads_share_slabs(on_device: OnDevice) -> Result<()> {
    const THREADS: u32 = 4;
    let pool = split(&on_device)?;
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
                let rule = format!("{FILLED}, here in round {round} of thread {number}");
                part.assert_holds(queue, value, &rule)?;
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
    let (parts, reserved, bytes) = pool.counts();
    assert_eq!((parts, reserved % ROOT, bytes), (0, 0, 0));
    pool.slabs.free_unused();
    assert_eq!(pool.counts(), (0, 0, 0));
    Ok(())
}
