//! Commands on a block come after the commands of its former owner, on any queue.

use std::ptr;

use clmatrix::cl3::command_queue as cl3;
use clmatrix::cl3::types::cl_context;
use clmatrix::memory::{Buffer, MemFlags, MemoryObject, enqueue_copy, enqueue_fill};
use clmatrix::pool::{Allocator, DeferredAllocator, MemoryPool, PoolOptions};
use clmatrix::{CommandQueue, Device, Event, QueueProperties, Result, Status};
use clmatrix_harness::{CtxFactory, ctx_factory, device};
use rstest::rstest;

use super::{pool_in, pool_on};
use crate::buffer::refusal;
use crate::support::gate::{gate, meanwhile, open, soon_open};
use crate::support::on_device::{OnDevice, on_device, soon};

const SIZE: usize = 4096;

/// Bytes of a block for `SIZE`.
const BLOCK: usize = 4351;

/// A pool of one block: every queue has to wait for the last use of it.
fn one_block() -> PoolOptions {
    PoolOptions::new().limit(BLOCK)
}

fn fill(queue: &CommandQueue, buffer: &Buffer, value: u32, gate: Option<&Event>) -> Result<Event> {
    match gate {
        Some(gate) => enqueue_fill(queue.after(gate), buffer, &value, ..),
        None => enqueue_fill(queue, buffer, &value, ..),
    }
}

/// Fills it in a way that this crate cannot see.
fn fill_unseen(queue: &CommandQueue, buffer: &Buffer, value: u32, gate: Option<&Event>) -> Event {
    let wait_for = gate.map_or(ptr::null_mut(), Event::as_raw);
    let events = if gate.is_some() { &raw const wait_for } else { ptr::null() };
    // SAFETY: the handles are alive and of one context, the buffer is as large, and the pattern is copied.
    let event = unsafe {
        let (count, pattern) = (u32::from(gate.is_some()), (&raw const value).cast());
        cl3::enqueue_fill_buffer(
            queue.as_raw(),
            buffer.as_raw(),
            pattern,
            4,
            0,
            SIZE,
            count,
            events,
        )
    };
    // SAFETY: the driver has just created the event on this queue, with one reference.
    unsafe { queue.event_from_raw(event.expect("the driver takes it"), false) }.expect("an event")
}

fn content(queue: &CommandQueue, buffer: &Buffer) -> Result<Vec<u32>> {
    let mut found = vec![0; SIZE / 4];
    enqueue_copy(queue, &mut found, buffer, ..)?;
    Ok(found)
}

/// Enqueues a fill of a block with 1 that waits for the gate, and gives the block back.
fn used(pool: &MemoryPool, queue: &CommandQueue, gate: &Event) -> Result<usize> {
    let buffer = pool.allocate_on(queue, SIZE)?;
    fill(queue, &buffer, 1, Some(gate))?;
    Ok(buffer.as_raw().addr())
}

/// PyOpenCL's issue 447: the new owner's data is overwritten by the old one's command.
#[rstest]
#[clmatrix_harness::test]
fn an_unordered_pool_lets_earlier_commands_overwrite_reused_blocks(
    on_device: OnDevice,
) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    // SAFETY: it is not right, but no more than buffers of this test are spoilt.
    let pool = pool_on(first, unsafe { PoolOptions::new().unordered() })?;
    let gate = gate(&on_device.context);
    let raw = used(&pool, first, &gate)?;
    let buffer = pool.allocate_on(&other, SIZE)?;
    assert_eq!(buffer.as_raw().addr(), raw);
    fill(&other, &buffer, 2, None)?;
    other.finish()?;
    open(&gate);
    first.finish()?;
    assert_eq!(content(&other, &buffer)?, [1; SIZE / 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn an_ordered_pool_protects_reused_blocks_from_earlier_commands(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool_on(first, one_block())?;
    let gate = gate(&on_device.context);
    let raw = used(&pool, first, &gate)?;
    let (buffer, found) = meanwhile(&gate, open, || -> Result<_> {
        let buffer = pool.allocate_on(&other, SIZE)?;
        fill(&other, &buffer, 2, None)?;
        let found = content(&other, &buffer)?;
        Ok((buffer, found))
    })?;
    assert_eq!(buffer.as_raw().addr(), raw);
    assert_eq!(found, [2; SIZE / 4]);
    first.finish()?;
    assert_eq!(content(&other, &buffer)?, [2; SIZE / 4]);
    Ok(())
}

/// A kernel's launch is a use like any other, and reads and writes are seen by kernels.
#[rstest]
#[clmatrix_harness::test]
fn kernels_on_a_block_run_before_its_reuse(on_device: OnDevice) -> Result<()> {
    let other = on_device.another_queue();
    let pool = pool_on(&on_device.queue, one_block())?;
    let gate = gate(&on_device.context);
    let add = "kernel void k(global uint *x) { x[get_global_id(0)] += 5; }";
    let mut add = on_device.kernel(add, "")?;
    let old = pool.allocate(SIZE)?;
    fill(&on_device.queue, &old, 1, None)?;
    // SAFETY: the kernel uses as many elements as there are work items.
    unsafe { add.launch().arg(&*old).global(SIZE / 4).enqueue(on_device.queue.after(&gate))? };
    let raw = old.as_raw().addr();
    drop(old);
    let found = meanwhile(&gate, open, || -> Result<_> {
        let new = pool.allocate_on(&other, SIZE)?;
        assert_eq!(new.as_raw().addr(), raw);
        // SAFETY: as above.
        unsafe { add.launch().arg(&*new).global(SIZE / 4).enqueue(&other)? };
        content(&other, &new)
    })?;
    assert_eq!(found, [11; SIZE / 4]);
    Ok(())
}

/// The gate is still closed when the block is handed out again.
#[rstest]
#[clmatrix_harness::test]
fn reuse_on_the_same_queue_does_not_wait(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let raw = used(&pool, queue, &gate)?;
    for allocate in
        [(|pool, _| pool.allocate(SIZE)) as fn(&MemoryPool, &CommandQueue) -> _, |pool, queue| {
            pool.allocate_on(queue, SIZE)
        }]
    {
        let buffer = allocate(&pool, queue)?;
        assert_eq!(buffer.as_raw().addr(), raw);
    }
    let buffer = pool.allocate(SIZE)?;
    fill(queue, &buffer, 2, None)?;
    open(&gate);
    assert_eq!(content(queue, &buffer)?, [2; SIZE / 4]);
    Ok(())
}

/// The block of the pool's own queue is still in use, so another queue gets a block of its own, and keeps
/// it.
#[rstest]
#[clmatrix_harness::test]
fn each_queue_reuses_its_own_blocks(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool_on(first, PoolOptions::new())?;
    let (gate, other_gate) = (gate(&on_device.context), self::gate(&on_device.context));
    let raw = used(&pool, first, &gate)?;
    let own = used(&pool, &other, &other_gate)?;
    assert_ne!(own, raw);
    for _ in 0..3 {
        for (queue, raw) in [(first, raw), (&other, own)] {
            let buffer = pool.allocate_on(queue, SIZE)?;
            assert_eq!(buffer.as_raw().addr(), raw);
            fill(queue, &buffer, 2, None)?;
        }
    }
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (2, 2 * BLOCK));
    open(&gate);
    open(&other_gate);
    first.finish()?;
    other.finish()
}

/// A queue that has had a block waits for its uses on other queues, so that the pool does not grow.
#[rstest]
#[clmatrix_harness::test]
fn a_queue_waits_for_commands_of_other_queues_on_its_block(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool_on(first, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let mut raws = Vec::new();
    let (last, found) = meanwhile(&gate, open, || -> Result<_> {
        for value in 1..=4 {
            let buffer = pool.allocate(SIZE)?;
            raws.push(buffer.as_raw());
            fill(&other, &buffer, value, (value == 1).then_some(&*gate))?;
        }
        let last = pool.allocate(SIZE)?;
        raws.push(last.as_raw());
        let found = content(first, &last)?;
        Ok((last, found))
    })?;
    assert!(raws.iter().all(|raw| *raw == raws[0]), "{raws:?}");
    assert_eq!((found, pool.managed_bytes()), (vec![4; SIZE / 4], BLOCK));
    drop(last);
    other.finish()
}

#[rstest]
#[clmatrix_harness::test]
fn a_block_with_completed_events_is_preferred(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let (unseen, gate) = (on_device.another_queue(), gate(&on_device.context));
    let pool = pool_on(first, PoolOptions::new())?;
    let (mut idle, busy) = (pool.allocate(SIZE)?, pool.allocate(SIZE)?);
    let raw = idle.as_raw();
    let event = fill_unseen(&unseen, &idle, 1, None);
    event.wait()?;
    idle.unbind_from_queue()?;
    idle.record_use(&event)?;
    let ends = fill(first, &busy, 1, Some(&gate))?;
    drop(idle);
    // It would go first.
    drop(busy);
    let found = soon_open(&gate, || pool.allocate_on(&other, SIZE))?.as_raw();
    assert!(found == raw || ends.status()? == Status::Complete);
    ends.wait()?;
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_block_with_pending_commands_is_not_reused_without_a_queue(on_device: OnDevice) -> Result<()> {
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let busy = pool.allocate(SIZE)?;
    let ends = fill(&on_device.queue, &busy, 1, Some(&gate))?;
    let raw = busy.as_raw();
    drop(busy);
    let other = soon_open(&gate, || pool.allocate(SIZE))?;
    assert!(other.as_raw() != raw || ends.status()? == Status::Complete);
    drop(other);
    ends.wait()?;
    // The pool may hear of it later than this thread.
    let is_back = soon(|| {
        let held = (0..pool.held_blocks()).map(|_| pool.allocate(SIZE));
        let held = held.collect::<Result<Vec<_>>>()?;
        Ok(held.iter().any(|block| block.as_raw() == raw))
    });
    assert!(is_back?, "its uses have ended");
    Ok(())
}

/// AccessTracker that this crate cannot see: commands through opencl3 or cl3.
#[rstest]
#[case::by_an_event(true)]
#[case::by_its_queue(false)]
#[clmatrix_harness::test]
fn reuse_waits_for_recorded_uses(on_device: OnDevice, #[case] by_event: bool) -> Result<()> {
    let (unseen, other) = (on_device.another_queue(), on_device.another_queue());
    let pool = pool_on(&on_device.queue, one_block())?;
    let gate = gate(&on_device.context);
    let old = pool.allocate(SIZE)?;
    let event = fill_unseen(&unseen, &old, 1, Some(&gate));
    let raw = old.as_raw().addr();
    let found = meanwhile(&gate, open, || -> Result<_> {
        if by_event {
            old.record_use(&event)?;
        } else {
            old.record_use(&unseen)?;
        }
        drop(old);
        let new = pool.allocate_on(&other, SIZE)?;
        assert_eq!(new.as_raw().addr(), raw);
        fill(&other, &new, 2, None)?;
        other.finish()?;
        unseen.finish()?;
        content(&other, &new)
    })?;
    assert_eq!(found, [2; SIZE / 4]);
    Ok(())
}

/// Commands that the library does not see run on the new queue after those of the old queue.
#[rstest]
#[clmatrix_harness::test]
fn a_rebound_block_waits_for_its_former_queue(on_device: OnDevice) -> Result<()> {
    let other = on_device.another_queue();
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let mut buffer = pool.allocate(SIZE)?;
    let old = fill_unseen(&on_device.queue, &buffer, 1, Some(&gate));
    soon_open(&gate, || -> Result<_> {
        buffer.bind_to_queue(&other)?;
        let new = fill_unseen(&other, &buffer, 2, None);
        new.wait()?;
        Ok(())
    })?;
    old.wait()?;
    assert_eq!(content(&other, &buffer)?, [2; SIZE / 4]);
    Ok(())
}

/// Neither those that are recorded nor those of markers: they have their queue or their context.
#[rstest]
#[clmatrix_harness::test]
fn a_pool_releases_its_events(on_device: OnDevice, ctx_factory: CtxFactory) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let unseen = on_device.another_queue();
    let references = || -> Result<_> {
        let queues = [first, &other, &unseen].map(|queue| queue.reference_count());
        let [first, other, unseen] = queues;
        Ok((on_device.context.reference_count()?, first?, other?, unseen?))
    };
    let before = references()?;
    let pool = pool_on(first, PoolOptions::new())?;
    for _ in 0..3 {
        let gate = gate(&on_device.context);
        used(&pool, first, &gate)?;
        meanwhile(&gate, open, || -> Result<_> {
            let block = pool.allocate_on(&other, SIZE)?;
            let event = fill_unseen(&unseen, &block, 2, None);
            block.record_use(&event)?;
            block.record_use(&unseen)?;
            drop(block);
            pool.allocate(SIZE)?;
            first.finish()
        })?;
        [&other, &unseen].into_iter().try_for_each(|queue| queue.finish())?;
    }
    drop(pool);
    let context = ctx_factory()?;
    let elsewhere = OnDevice { queue: CommandQueue::new(&context)?, context };
    let is_left = || -> Result<bool> {
        // Where drivers need marks in queues, those of others that have ended go with this.
        elsewhere.queue.finish()?;
        pool_on(&elsewhere.queue, PoolOptions::new())?
            .allocate(SIZE)?
            .record_use(&elsewhere.queue)?;
        Ok(references()? != before)
    };
    assert!(soon(|| Ok(!is_left()?))?, "{before:?}, now {:?}", references()?);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn record_use_refuses_an_event_of_another_context(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let elsewhere = gate(&ctx_factory()?);
    let buffer = pool_on(&on_device.queue, PoolOptions::new())?.allocate(SIZE)?;
    assert_eq!(refusal(buffer.record_use(&*elsewhere)), "CL_INVALID_CONTEXT");
    open(&elsewhere);
    Ok(())
}

/// An allocator that says that it allocates for a queue that may reorder its commands.
#[derive(Debug)]
struct Loose {
    buffers: DeferredAllocator,
    queue: CommandQueue,
}

impl Allocator for Loose {
    type Memory = Buffer;

    fn allocate(&self, size: usize) -> Result<Option<Buffer>> {
        self.buffers.allocate(size)
    }

    fn queue(&self) -> Option<&CommandQueue> {
        Some(&self.queue)
    }

    fn max_size(&self) -> Option<usize> {
        self.buffers.max_size()
    }

    fn context_raw(&self) -> cl_context {
        self.buffers.context_raw()
    }
}

#[rstest]
#[clmatrix_harness::test]
fn an_allocator_for_an_out_of_order_queue_is_refused(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    drop(on_device.out_of_order_queue(device)?);
    let context = &on_device.context;
    let queue = CommandQueue::with_properties(context, QueueProperties::OUT_OF_ORDER)?;
    let buffers = DeferredAllocator::new(context, MemFlags::READ_WRITE)?;
    let refused = refusal(MemoryPool::new(Loose { buffers, queue }));
    assert_eq!(refused, "CL_INVALID_COMMAND_QUEUE");
    Ok(())
}

/// On a queue that may reorder its commands, all that follows comes after the old owner's uses.
#[rstest]
#[clmatrix_harness::test]
fn reuse_on_an_out_of_order_queue_waits(on_device: OnDevice, device: Device) -> Result<()> {
    let loose = on_device.out_of_order_queue(device)?;
    let pool = pool_on(&on_device.queue, one_block())?;
    let gate = gate(&on_device.context);
    let raw = used(&pool, &on_device.queue, &gate)?;
    let found = meanwhile(&gate, open, || -> Result<_> {
        let buffer = pool.allocate_on(&loose, SIZE)?;
        assert_eq!(buffer.as_raw().addr(), raw);
        enqueue_fill(&loose, &*buffer, &2_u32, ..)?;
        loose.finish()?;
        content(&loose, &buffer)
    })?;
    assert_eq!(found, [2; SIZE / 4]);
    Ok(())
}

/// The last handle to a queue flushes it, so that commands on held blocks end.
#[rstest]
#[clmatrix_harness::test]
fn blocks_of_dropped_queues_are_reused(on_device: OnDevice) -> Result<()> {
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    let fill_on_new_queue = || -> Result<_> {
        let queue = on_device.another_queue();
        let block = pool.allocate_on(&queue, SIZE)?;
        let filled = fill(&queue, &block, 7, None)?;
        let raw = block.as_raw();
        drop((block, queue));
        // Flushes nothing.
        let has_ended = soon(|| Ok(filled.status()?.has_ended()))?;
        assert!(has_ended, "nothing has flushed the queue");
        Ok(raw)
    };
    let first = fill_on_new_queue()?;
    for _ in 0..5 {
        assert_eq!(fill_on_new_queue()?, first, "the block is not reused");
    }
    assert_eq!(pool.statistics().managed_bytes, BLOCK);
    Ok(())
}
