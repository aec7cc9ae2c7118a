//! How blocks go back: released, released on a queue, and after the commands of the queue that they are bound
//! to.

use super::*;

/// The block that is there, filled with 2, when the other queue's commands have ended.
fn used_again<K: Kind>(
    pool: &Pool<K>,
    id: usize,
    queue: &CommandQueue,
    other: &CommandQueue,
) -> Result<Pooled<K>> {
    let block = again(pool, queue, id)?;
    block.fill(queue, 2)?;
    queue.finish()?;
    other.finish()?;
    Ok(block)
}

of_each_kind!(a_block_released_on_a_queue_is_reused_after_the_marker);

fn a_block_released_on_a_queue_is_reused_after_the_marker<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = pool_of(&on_device)?;
    let gate = gate(&on_device.context);
    let block = pool.allocate(SIZE)?;
    let id = block.id();
    block.fill_unseen(&other, 1, Some(&gate));
    let released = block.enqueue_release(&other)?;
    assert_eq!(counts(&pool), (1, 0, BLOCK, 0));
    let block = after_owner(&gate, || used_again(&pool, id, home, &other))?;
    block.assert_holds(home, 2, BARRIER)?;
    assert_eq!(released.status()?, Status::Complete);
    Ok(())
}

of_each_kind!(a_block_released_after_an_event_is_reused_after_it);

/// On the allocator's own queue, and after a user event.
fn a_block_released_after_an_event_is_reused_after_it<K: Kind>(on_device: OnDevice) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = one_block(&on_device)?;
    let gate = gate(&on_device.context);
    let block = pool.allocate(SIZE)?;
    let id = block.id();
    let released = block.enqueue_release(home.after(&gate))?;
    after_owner(&gate, || used_again(&pool, id, &other, home))?;
    released.wait()
}

of_each_kind!(objects_of_another_context_are_refused, ctx_factory: CtxFactory);

fn objects_of_another_context_are_refused<K: Kind>(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let queue = &on_device.queue;
    let foreign = ctx_factory()?;
    let foreign_queue = CommandQueue::new(&foreign)?;
    let foreign_event = gate(&foreign);
    let pool: Pool<K> = pool_of(&on_device)?;
    let mut block = pool.allocate(SIZE)?;
    assert_eq!(refusal(block.bind_to_queue(&foreign_queue)), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(block.record_use(&foreign_event)), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(block.enqueue_release(&foreign_queue)), "CL_INVALID_CONTEXT");
    let refused = pool.allocate(SIZE)?.enqueue_release(queue.after(&foreign_event));
    assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(pool.allocate_on(&foreign_queue, SIZE)), "CL_INVALID_CONTEXT");
    // It is back all the same, and usable.
    assert_eq!(counts(&pool), (1, 0, BLOCK, 0));
    let block = pool.allocate(SIZE)?;
    block.fill(queue, 2)?;
    block.assert_holds(queue, 2, FILLED)?;
    open(&foreign_event);
    Ok(())
}

of_each_kind!(a_release_of_a_mapped_block_is_refused);

fn a_release_of_a_mapped_block_is_refused<K: Kind>(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool: Pool<K> = pool_of(&on_device)?;
    let block = pool.allocate(SIZE)?;
    let id = block.id();
    let mut map = block.map(queue)?;
    assert_eq!(refusal(block.enqueue_release(queue)), "CL_INVALID_OPERATION");
    assert_eq!(pool.active_blocks(), 0);
    let other = pool.allocate(SIZE)?;
    assert_ne!(other.id(), id);
    other.fill(queue, 2)?;
    queue.finish()?;
    map.fill(1);
    assert_eq!(map[..], [1; SIZE / 4]);
    drop(map);
    other.assert_holds(queue, 2, FILLED)
}

of_each_kind!(a_bound_block_is_reused_after_the_commands_of_its_queue);

fn a_bound_block_is_reused_after_the_commands_of_its_queue<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = one_block(&on_device)?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let id = block.id();
    block.bind_to_queue(&other)?;
    block.fill_unseen(&other, 1, Some(&gate));
    drop(block);
    // There, nothing is waited for.
    drop(again(&pool, &other, id)?);
    let block = after_owner(&gate, || used_again(&pool, id, home, &other))?;
    block.assert_holds(home, 2, BARRIER)
}

of_each_kind!(a_rebound_block_is_used_after_the_commands_of_its_former_queue);

/// Bound to another queue, a block is still used by the commands that its first queue had got.
fn a_rebound_block_is_used_after_the_commands_of_its_former_queue<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = pool_of(&on_device)?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let id = block.id();
    block.fill_unseen(home, 1, Some(&gate));
    let block = after_owner(&gate, || -> Result<_> {
        block.bind_to_queue(&other)?;
        drop(block);
        used_again(&pool, id, &other, home)
    })?;
    block.assert_holds(&other, 2, BARRIER)
}

of_each_kind!(unbind_from_queue_waits_for_the_commands_of_the_queue);

fn unbind_from_queue_waits_for_the_commands_of_the_queue<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let (home, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = pool_of(&on_device)?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let id = block.id();
    block.fill_unseen(home, 1, Some(&gate));
    meanwhile(&gate, open, || block.unbind_from_queue())?;
    block.assert_holds(&other, 1, FILLED)?;
    // Later commands of the queue do not concern the block.
    let gate = self::gate(&on_device.context);
    let elsewhere = pool.allocate(2 * SIZE)?;
    elsewhere.fill_unseen(home, 1, Some(&gate));
    drop(block);
    let block = refilled(&pool, &other, id)?;
    block.assert_holds(&other, 2, FILLED)?;
    open(&gate);
    home.finish()
}

of_each_kind!(blocks_of_a_pool_without_a_queue_are_bound_and_unbound);

/// A block that belongs to no queue can be bound to one.
fn blocks_of_a_pool_without_a_queue_are_bound_and_unbound<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let queue = &on_device.queue;
    let pool: Pool<K> = pool(&on_device, None, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let id = block.id();
    block.unbind_from_queue()?;
    block.bind_to_queue(queue)?;
    block.fill_unseen(queue, 1, Some(&gate));
    drop(block);
    drop(again(&pool, queue, id)?);
    open(&gate);
    queue.finish()?;
    assert_eq!(pool.allocate(SIZE)?.contents(queue)?.len(), SIZE / 4);
    Ok(())
}

of_each_kind!(a_recorded_block_is_freed_after_the_commands_of_its_queue);

/// Only the queue of the command knows of it.
fn a_recorded_block_is_freed_after_the_commands_of_its_queue<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let other = on_device.another_queue();
    let pool: Pool<K> = pool(&on_device, None, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let block = pool.allocate_on(&other, SIZE)?;
    block.fill_unseen(&other, 1, Some(&gate));
    block.record_use(&enqueue_marker(&other)?)?;
    drop(block);
    meanwhile(&gate, open, || {
        pool.free_held();
        other.finish()
    })?;
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}
