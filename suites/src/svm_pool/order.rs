//! Commands on a block come after the commands of its former owner, on any queue: as in a pool of buffers.

use std::ptr;

use clmatrix::cl3::command_queue as cl3;
use clmatrix::memory::{SvmAllocation, SvmPointer, enqueue_fill};
use clmatrix::pool::{PoolOptions, SvmPool};
use clmatrix::{CommandQueue, Device, Event, Result, Status};
use clmatrix_harness::device;
use rstest::rstest;

use super::{pool, pool_with};
use crate::support::gate::{gate, meanwhile, open, soon_open};
use crate::support::on_device::{OnDevice, on_device, soon};
use crate::svm::contents;

const SIZE: usize = 4096;

/// A pool of one block for `SIZE`: every queue has to wait for the last use of it.
fn one_block(on: &OnDevice, queue: Option<&CommandQueue>) -> Result<SvmPool> {
    pool_with(on, queue, PoolOptions::new().limit(4351))
}

fn fill(
    queue: &CommandQueue,
    memory: &SvmAllocation,
    value: u32,
    gate: Option<&Event>,
) -> Result<Event> {
    match gate {
        Some(gate) => enqueue_fill(queue.after(gate), memory, &value, ..),
        None => enqueue_fill(queue, memory, &value, ..),
    }
}

/// Fills it in a way that this crate cannot see.
fn fill_unseen(
    queue: &CommandQueue,
    memory: &SvmAllocation,
    value: u32,
    gate: Option<&Event>,
) -> Event {
    let wait_for = gate.map_or(ptr::null_mut(), Event::as_raw);
    let events = if gate.is_some() { &raw const wait_for } else { ptr::null() };
    // SAFETY: the handles are alive and of one context, the memory is as large, and the pattern is copied.
    let event = unsafe {
        let (count, pattern) = (u32::from(gate.is_some()), (&raw const value).cast());
        let (queue, to) = (queue.as_raw(), memory.svm_ptr());
        cl3::enqueue_svm_mem_fill(queue, to, pattern, 4, SIZE, count, events)
    };
    // SAFETY: the driver has just created the event on this queue, with one reference.
    unsafe { queue.event_from_raw(event.expect("the driver takes it"), false) }.expect("an event")
}

/// Enqueues a fill of a block with 1 that waits for the gate, and gives the block back.
fn used(pool: &SvmPool, queue: &CommandQueue, gate: &Event) -> Result<usize> {
    let memory = pool.allocate_on(queue, SIZE)?;
    fill(queue, &memory, 1, Some(gate))?;
    Ok(memory.svm_ptr().addr())
}

/// The new owner's data is overwritten by the old one's command.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn an_unordered_pool_lets_earlier_commands_overwrite_reused_blocks(
    on_device: OnDevice,
) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    // SAFETY: it is not right, but no more than memory of this test is spoilt.
    let pool = pool_with(&on_device, Some(first), unsafe { PoolOptions::new().unordered() })?;
    let gate = gate(&on_device.context);
    let at = used(&pool, first, &gate)?;
    let memory = pool.allocate_on(&other, SIZE)?;
    assert_eq!(memory.svm_ptr().addr(), at);
    fill_unseen(&other, &memory, 2, None).wait()?;
    open(&gate);
    first.finish()?;
    assert_eq!(contents(&on_device, &memory)?, [1; SIZE / 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn an_ordered_pool_protects_reused_blocks_from_earlier_commands(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool = one_block(&on_device, Some(first))?;
    let gate = gate(&on_device.context);
    let at = used(&pool, first, &gate)?;
    let memory = meanwhile(&gate, open, || -> Result<_> {
        let memory = pool.allocate_on(&other, SIZE)?;
        fill_unseen(&other, &memory, 2, None).wait()?;
        Ok(memory)
    })?;
    assert_eq!(memory.svm_ptr().addr(), at);
    first.finish()?;
    assert_eq!(contents(&on_device, &memory)?, [2; SIZE / 4]);
    Ok(())
}

/// A kernel's launch is a use like any other.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn kernels_on_a_block_run_before_its_reuse(on_device: OnDevice) -> Result<()> {
    let other = on_device.another_queue();
    let pool = one_block(&on_device, Some(&on_device.queue))?;
    let gate = gate(&on_device.context);
    let add = "kernel void k(global uint *x) { x[get_global_id(0)] += 5; }";
    let mut add = on_device.kernel(add, "")?;
    let old = pool.allocate(SIZE)?;
    fill(&on_device.queue, &old, 1, None)?;
    // SAFETY: the kernel uses as many elements as there are work items.
    unsafe { add.launch().arg(&old).global(SIZE / 4).enqueue(on_device.queue.after(&gate))? };
    let at = old.svm_ptr().addr();
    drop(old);
    let new = meanwhile(&gate, open, || -> Result<_> {
        let new = pool.allocate_on(&other, SIZE)?;
        assert_eq!(new.svm_ptr().addr(), at);
        // SAFETY: as above.
        unsafe { add.launch().arg(&new).global(SIZE / 4).enqueue(&other)? }.wait()?;
        Ok(new)
    })?;
    assert_eq!(contents(&on_device, &new)?, [11; SIZE / 4]);
    Ok(())
}

/// The gate is still closed when the block is handed out again.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn reuse_on_the_same_queue_does_not_wait(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool(&on_device, Some(queue))?;
    let gate = gate(&on_device.context);
    let at = used(&pool, queue, &gate)?;
    assert_eq!(pool.allocate(SIZE)?.svm_ptr().addr(), at);
    assert_eq!(pool.allocate_on(queue, SIZE)?.svm_ptr().addr(), at);
    let block = pool.allocate(SIZE)?;
    fill(queue, &block, 2, None)?;
    open(&gate);
    assert_eq!(contents(&on_device, &block)?, [2; SIZE / 4]);
    Ok(())
}

/// Nothing is known of the idle block but an event that has ended.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_block_with_completed_events_is_preferred(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let (unseen, gate) = (on_device.another_queue(), gate(&on_device.context));
    let pool = pool(&on_device, Some(first))?;
    let (mut idle, busy) = (pool.allocate(SIZE)?, pool.allocate(SIZE)?);
    let at = idle.svm_ptr();
    let event = fill_unseen(&unseen, &idle, 1, None);
    event.wait()?;
    idle.unbind_from_queue()?;
    idle.record_use(&event)?;
    let ends = fill(first, &busy, 1, Some(&gate))?;
    drop(idle);
    // It would go first.
    drop(busy);
    let found = soon_open(&gate, || pool.allocate_on(&other, SIZE))?;
    assert!(found.svm_ptr() == at || ends.status()? == Status::Complete);
    ends.wait()?;
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_block_with_pending_commands_is_not_reused_without_a_queue(on_device: OnDevice) -> Result<()> {
    let pool = pool(&on_device, None)?;
    let gate = gate(&on_device.context);
    let busy = pool.allocate(SIZE)?;
    let ends = fill(&on_device.queue, &busy, 1, Some(&gate))?;
    let at = busy.svm_ptr();
    drop(busy);
    let other = soon_open(&gate, || pool.allocate(SIZE))?;
    assert!(other.svm_ptr() != at || ends.status()? == Status::Complete);
    drop(other);
    ends.wait()?;
    // The pool may hear of it later than this thread.
    let is_back = soon(|| {
        let held = (0..pool.held_blocks()).map(|_| pool.allocate(SIZE));
        let held = held.collect::<Result<Vec<_>>>()?;
        Ok(held.iter().any(|block| block.svm_ptr() == at))
    });
    assert!(is_back?, "its uses have ended");
    Ok(())
}

/// AccessTracker that this crate cannot see: commands through opencl3 or cl3.
#[rstest]
#[case::by_an_event(true)]
#[case::by_its_queue(false)]
#[clmatrix_harness::test(requires(svm))]
fn reuse_waits_for_recorded_uses(on_device: OnDevice, #[case] by_event: bool) -> Result<()> {
    let (unseen, other) = (on_device.another_queue(), on_device.another_queue());
    let pool = one_block(&on_device, Some(&on_device.queue))?;
    let gate = gate(&on_device.context);
    let old = pool.allocate(SIZE)?;
    let event = fill_unseen(&unseen, &old, 1, Some(&gate));
    let at = old.svm_ptr().addr();
    let new = meanwhile(&gate, open, || -> Result<_> {
        if by_event {
            old.record_use(&event)?;
        } else {
            old.record_use(&unseen)?;
        }
        drop(old);
        let new = pool.allocate_on(&other, SIZE)?;
        assert_eq!(new.svm_ptr().addr(), at);
        fill_unseen(&other, &new, 2, None).wait()?;
        unseen.finish()?;
        Ok(new)
    })?;
    assert_eq!(contents(&on_device, &new)?, [2; SIZE / 4]);
    Ok(())
}

/// Commands that the library does not see run on the new queue after those of the old queue.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_rebound_block_waits_for_its_former_queue(on_device: OnDevice) -> Result<()> {
    let other = on_device.another_queue();
    let pool = pool(&on_device, Some(&on_device.queue))?;
    let gate = gate(&on_device.context);
    let mut memory = pool.allocate(SIZE)?;
    let old = fill_unseen(&on_device.queue, &memory, 1, Some(&gate));
    soon_open(&gate, || -> Result<_> {
        memory.bind_to_queue(&other)?;
        fill_unseen(&other, &memory, 2, None).wait()
    })?;
    old.wait()?;
    assert_eq!(contents(&on_device, &memory)?, [2; SIZE / 4]);
    Ok(())
}

/// Events keep their queue and their context.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_pool_releases_its_events(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let unseen = on_device.another_queue();
    let references = || -> Result<_> {
        let queues = [first, &other, &unseen].map(|queue| queue.reference_count());
        let [first, other, unseen] = queues;
        Ok((on_device.context.reference_count()?, first?, other?, unseen?))
    };
    let before = references()?;
    let pool = pool(&on_device, Some(first))?;
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
    let is_left = || -> Result<bool> {
        // The pool has enqueued its last free, whose event a queue may keep until it is finished.
        first.finish()?;
        Ok(references()? != before)
    };
    assert!(soon(|| Ok(!is_left()?))?, "{before:?}, now {:?}", references()?);
    Ok(())
}

/// On a queue that may reorder its commands, all that follows comes after the old owner's uses.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn reuse_on_an_out_of_order_queue_waits(on_device: OnDevice, device: Device) -> Result<()> {
    let loose = on_device.out_of_order_queue(device)?;
    let pool = one_block(&on_device, Some(&on_device.queue))?;
    let gate = gate(&on_device.context);
    let at = used(&pool, &on_device.queue, &gate)?;
    let memory = meanwhile(&gate, open, || -> Result<_> {
        let memory = pool.allocate_on(&loose, SIZE)?;
        assert_eq!(memory.svm_ptr().addr(), at);
        fill_unseen(&loose, &memory, 2, None).wait()?;
        Ok(memory)
    })?;
    assert_eq!(contents(&on_device, &memory)?, [2; SIZE / 4]);
    Ok(())
}
