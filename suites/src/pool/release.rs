//! How blocks go back: released, released on a queue, and after what the queue that they are bound to has
//! been given.

use clmatrix::cl3::command_queue::enqueue_fill_buffer as fill_unseen;
use clmatrix::memory::{Buffer, MemoryObject, enqueue_copy, enqueue_fill};
use clmatrix::pool::PoolOptions;
use clmatrix::{CommandQueue, Event, Result};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::{counts, pool_in, pool_on};
use crate::buffer::refusal;
use crate::support::gate::{gate, meanwhile, open};
use crate::support::on_device::{OnDevice, on_device};

const SIZE: usize = 4096;
const BLOCK: usize = 4351;

/// Fills the buffer with 1 when the gate opens, by a command that this crate does not see.
fn fill_later(queue: &CommandQueue, buffer: &Buffer, gate: &Event) {
    let (one, events) = (1_u32, [gate.as_raw()]);
    // SAFETY: the handles are alive and of one context, the buffer is as large, and the pattern is copied.
    let event = unsafe {
        let pattern = (&raw const one).cast();
        fill_unseen(queue.as_raw(), buffer.as_raw(), pattern, 4, 0, SIZE, 1, events.as_ptr())
    };
    // SAFETY: the driver has just created the event on this queue, with one reference.
    drop(unsafe { queue.event_from_raw(event.expect("the driver takes it"), false) });
}

fn content(queue: &CommandQueue, buffer: &Buffer) -> Result<Vec<u32>> {
    let mut found = vec![0; SIZE / 4];
    enqueue_copy(queue, &mut found, buffer, ..)?;
    Ok(found)
}

#[rstest]
#[clmatrix_harness::test]
fn a_released_block_is_held(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    drop(block);
    assert_eq!(counts(&pool), (1, 0, BLOCK, 0));
    assert_eq!(pool.allocate(SIZE)?.as_raw(), raw);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_block_released_on_a_queue_is_reused_after_the_marker(on_device: OnDevice) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool_on(home, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    fill_later(&other, &block, &gate);
    let released = block.enqueue_release(&other, [])?;
    assert_eq!(counts(&pool), (1, 0, BLOCK, 0));
    let found = meanwhile(&gate, open, || -> Result<_> {
        let block = pool.allocate(SIZE)?;
        assert_eq!(block.as_raw(), raw);
        enqueue_fill(home, &block, &2_u32, ..)?;
        home.finish()?;
        other.finish()?;
        content(home, &block)
    })?;
    assert_eq!(found, [2; SIZE / 4]);
    released.wait()?;
    Ok(())
}

/// On the allocator's own queue, and after a user event.
#[rstest]
#[clmatrix_harness::test]
fn a_block_released_after_an_event_is_reused_after_it(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new().limit(BLOCK))?;
    let gate = gate(&on_device.context);
    let block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    let released = block.enqueue_release(&on_device.queue, &gate)?;
    let other = on_device.another_queue();
    meanwhile(&gate, open, || -> Result<()> {
        let block = pool.allocate_on(&other, SIZE)?;
        assert_eq!(block.as_raw(), raw);
        enqueue_fill(&other, &block, &2_u32, ..)?;
        other.finish()?;
        Ok(())
    })?;
    released.wait()?;
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_release_with_objects_of_another_context_is_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let foreign = ctx_factory()?;
    let foreign_queue = CommandQueue::new(&foreign)?;
    let foreign_event = gate(&foreign);
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let refused = pool.allocate(SIZE)?.enqueue_release(&foreign_queue, []);
    assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    let refused = pool.allocate(SIZE)?.enqueue_release(&on_device.queue, &foreign_event);
    assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    // It is back all the same, and usable.
    assert_eq!(counts(&pool), (1, 0, BLOCK, 0));
    let block = pool.allocate(SIZE)?;
    enqueue_fill(&on_device.queue, &block, &2_u32, ..)?;
    assert_eq!(content(&on_device.queue, &block)?, [2; SIZE / 4]);
    open(&foreign_event);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_release_of_a_mapped_block_is_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool_on(queue, PoolOptions::new())?;
    let block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    let mut map = block.map_read_write::<u32>(queue, ..)?;
    assert_eq!(refusal(block.enqueue_release(queue, [])), "CL_INVALID_OPERATION");
    assert_eq!(pool.active_blocks(), 0);
    let other = pool.allocate(SIZE)?;
    assert_ne!(other.as_raw(), raw);
    enqueue_fill(queue, &other, &2_u32, ..)?;
    queue.finish()?;
    map.fill(1);
    assert_eq!(map[..], [1; SIZE / 4]);
    drop(map);
    assert_eq!(content(queue, &other)?, [2; SIZE / 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_bound_block_is_reused_after_the_commands_of_its_queue(on_device: OnDevice) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool_on(home, PoolOptions::new().limit(BLOCK))?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    block.bind_to_queue(&other)?;
    fill_later(&other, &block, &gate);
    drop(block);
    // There, nothing is waited for.
    assert_eq!(pool.allocate_on(&other, SIZE)?.as_raw(), raw);
    let found = meanwhile(&gate, open, || -> Result<_> {
        let block = pool.allocate(SIZE)?;
        assert_eq!(block.as_raw(), raw);
        enqueue_fill(home, &block, &2_u32, ..)?;
        home.finish()?;
        other.finish()?;
        content(home, &block)
    })?;
    assert_eq!(found, [2; SIZE / 4]);
    Ok(())
}

/// Bound to another queue, it is still used on the first one by what that has been given.
#[rstest]
#[clmatrix_harness::test]
fn a_rebound_block_is_used_after_the_commands_of_its_former_queue(
    on_device: OnDevice,
) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool_on(home, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    fill_later(home, &block, &gate);
    let found = meanwhile(&gate, open, || -> Result<_> {
        block.bind_to_queue(&other)?;
        drop(block);
        let block = pool.allocate_on(&other, SIZE)?;
        assert_eq!(block.as_raw(), raw);
        enqueue_fill(&other, &block, &2_u32, ..)?;
        other.finish()?;
        home.finish()?;
        content(&other, &block)
    })?;
    assert_eq!(found, [2; SIZE / 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn unbind_from_queue_waits_for_the_commands_of_the_queue(on_device: OnDevice) -> Result<()> {
    let other = on_device.another_queue();
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    fill_later(&on_device.queue, &block, &gate);
    meanwhile(&gate, open, || block.unbind_from_queue())?;
    assert_eq!(content(&other, &block)?, [1; SIZE / 4]);
    // Later commands of the queue do not concern the block.
    let gate = self::gate(&on_device.context);
    let elsewhere = pool.allocate(2 * SIZE)?;
    fill_later(&on_device.queue, &elsewhere, &gate);
    drop(block);
    let block = pool.allocate_on(&other, SIZE)?;
    assert_eq!(block.as_raw(), raw);
    enqueue_fill(&other, &block, &2_u32, ..)?;
    assert_eq!(content(&other, &block)?, [2; SIZE / 4]);
    open(&gate);
    on_device.queue.finish()?;
    Ok(())
}

/// A block that belongs to no queue can be bound to one.
#[rstest]
#[clmatrix_harness::test]
fn blocks_of_a_pool_without_a_queue_are_bound_and_unbound(on_device: OnDevice) -> Result<()> {
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let raw = block.as_raw();
    block.unbind_from_queue()?;
    block.bind_to_queue(&on_device.queue)?;
    fill_later(&on_device.queue, &block, &gate);
    drop(block);
    assert_eq!(pool.allocate_on(&on_device.queue, SIZE)?.as_raw(), raw);
    open(&gate);
    on_device.queue.finish()?;
    assert_eq!(content(&on_device.queue, &*pool.allocate(SIZE)?)?.len(), SIZE / 4);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn bind_to_a_queue_of_another_context_is_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let foreign = CommandQueue::new(&ctx_factory()?)?;
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let mut block = pool.allocate(SIZE)?;
    assert_eq!(refusal(block.bind_to_queue(&foreign)), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(block.record_use(&foreign)), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(pool.allocate_on(&foreign, SIZE)), "CL_INVALID_CONTEXT");
    Ok(())
}
