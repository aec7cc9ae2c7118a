//! How blocks go back: as in a pool of buffers.

use clmatrix::cl3::command_queue::enqueue_svm_mem_fill as fill_unseen;
use clmatrix::memory::{SvmPointer, enqueue_fill};
use clmatrix::pool::{PoolOptions, PooledSvm};
use clmatrix::{CommandQueue, Event, Result, Status};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::{counts, pool, pool_with};
use crate::buffer::refusal;
use crate::support::gate::{gate, meanwhile, open};
use crate::support::on_device::{OnDevice, on_device};
use crate::svm::{assert_on_device, contents};

const SIZE: usize = 4096;
const BLOCK: usize = 4351;

/// Fills the memory with 1 when the gate opens, by a command that this crate does not see.
fn fill_later(queue: &CommandQueue, memory: &PooledSvm, gate: &Event) {
    let (one, events) = (1_u32, [gate.as_raw()]);
    // SAFETY: the handles are alive and of one context, the memory is as large, and the pattern is copied.
    let event = unsafe {
        let pattern = (&raw const one).cast();
        fill_unseen(queue.as_raw(), memory.svm_ptr(), pattern, 4, SIZE, 1, events.as_ptr())
    };
    // SAFETY: the driver has just created the event on this queue, with one reference.
    drop(unsafe { queue.event_from_raw(event.expect("the driver takes it"), false) });
}

/// The block that is there, filled with 2, when the other queue's commands have ended.
fn used_again(
    pool: &clmatrix::pool::SvmPool,
    at: usize,
    queue: &CommandQueue,
    other: &CommandQueue,
) -> Result<PooledSvm> {
    let block = pool.allocate_on(queue, SIZE)?;
    assert_eq!(block.svm_ptr().addr(), at);
    enqueue_fill(queue, &block, &2_u32, ..)?;
    queue.finish()?;
    other.finish()?;
    Ok(block)
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_block_released_on_a_queue_is_reused_after_the_marker(on_device: OnDevice) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool(&on_device, Some(home))?;
    let gate = gate(&on_device.context);
    let block = pool.allocate(SIZE)?;
    let at = block.svm_ptr().addr();
    fill_later(&other, &block, &gate);
    let released = block.enqueue_release(&other, &gate)?;
    assert_eq!(counts(&pool), (1, 0, BLOCK, 0));
    let block = meanwhile(&gate, open, || used_again(&pool, at, home, &other))?;
    assert_on_device(&on_device, &block, &[2; SIZE / 4]);
    assert_eq!(released.status()?, Status::Complete);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_bound_block_is_reused_after_the_commands_of_its_queue(on_device: OnDevice) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool = pool_with(&on_device, Some(home), PoolOptions::new().limit(BLOCK))?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let at = block.svm_ptr().addr();
    block.bind_to_queue(&other)?;
    fill_later(&other, &block, &gate);
    drop(block);
    let block = meanwhile(&gate, open, || used_again(&pool, at, home, &other))?;
    assert_on_device(&on_device, &block, &[2; SIZE / 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn unbind_from_queue_waits_for_the_commands_of_the_queue(on_device: OnDevice) -> Result<()> {
    let pool = pool(&on_device, Some(&on_device.queue))?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    fill_later(&on_device.queue, &block, &gate);
    meanwhile(&gate, open, || block.unbind_from_queue())?;
    assert_eq!(contents(&on_device, &block)?, [1; SIZE / 4]);
    let at = block.svm_ptr().addr();
    drop(block);
    assert_eq!(pool.allocate(SIZE)?.svm_ptr().addr(), at);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn objects_of_another_context_are_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let foreign = ctx_factory()?;
    let foreign_queue = CommandQueue::new(&foreign)?;
    let foreign_event = gate(&foreign);
    let pool = pool(&on_device, Some(&on_device.queue))?;
    let mut block = pool.allocate(SIZE)?;
    assert_eq!(refusal(block.bind_to_queue(&foreign_queue)), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(block.enqueue_release(&foreign_queue, [])), "CL_INVALID_CONTEXT");
    let refused = pool.allocate(SIZE)?.enqueue_release(&on_device.queue, &foreign_event);
    assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(pool.allocate_on(&foreign_queue, SIZE)), "CL_INVALID_CONTEXT");
    assert_eq!(counts(&pool), (1, 0, BLOCK, 0));
    open(&foreign_event);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_release_of_a_mapped_block_is_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool = pool(&on_device, Some(queue))?;
    let block = pool.allocate(SIZE)?;
    let at = block.svm_ptr().addr();
    let mut map = block.map_read_write::<u32>(queue, ..)?;
    assert_eq!(refusal(block.enqueue_release(queue, [])), "CL_INVALID_OPERATION");
    let other = pool.allocate(SIZE)?;
    assert_ne!(other.svm_ptr().addr(), at);
    enqueue_fill(queue, &other, &2_u32, ..)?;
    map.fill(1);
    drop(map);
    assert_on_device(&on_device, &other, &[2; SIZE / 4]);
    Ok(())
}

/// Only the queue of the command knows of it.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_bound_block_is_freed_after_the_commands_of_its_queue(on_device: OnDevice) -> Result<()> {
    let other = on_device.another_queue();
    let pool = pool(&on_device, None)?;
    let gate = gate(&on_device.context);
    let block = pool.allocate_on(&other, SIZE)?;
    fill_later(&other, &block, &gate);
    block.record_use(&other)?;
    drop(block);
    meanwhile(&gate, open, || pool.free_held());
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    other.finish()
}
