//! Commands on a block come after the commands of its former owner, on any queue.

use clmatrix::cl3::event::wait_for_events;
use clmatrix::memory::MapRead;
use clmatrix::{ContextWatch, QueueProperties};

use super::*;

/// Enqueues a fill of a block with 1 that waits for the gate, and gives the block back.
fn used<K: Kind>(pool: &Pool<K>, queue: &CommandQueue, gate: &Event) -> Result<usize> {
    let block = pool.allocate_on(queue, SIZE)?;
    block.fill(queue.after(gate), 1)?;
    Ok(block.id())
}

of_each_kind!(an_unordered_pool_lets_earlier_commands_overwrite_reused_blocks);

/// PyOpenCL's issue 447: the new owner's data is overwritten by the old one's command.
fn an_unordered_pool_lets_earlier_commands_overwrite_reused_blocks<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    // SAFETY: it is not right, but no more than memory of this test is spoilt.
    let options = unsafe { PoolOptions::new().unordered() };
    let pool: Pool<K> = pool(&on_device, Some(first), options)?;
    let gate = gate(&on_device.context);
    let id = used(&pool, first, &gate)?;
    let block = refilled(&pool, &other, id)?;
    open(&gate);
    first.finish()?;
    block.assert_holds(&other, 1, "the fill of the former owner comes last, behind the gate")
}

of_each_kind!(an_ordered_pool_protects_reused_blocks_from_earlier_commands);

fn an_ordered_pool_protects_reused_blocks_from_earlier_commands<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = one_block(&on_device)?;
    let gate = gate(&on_device.context);
    let id = used(&pool, first, &gate)?;
    let block = after_owner(&gate, || refilled(&pool, &other, id))?;
    first.finish()?;
    block.assert_holds(&other, 2, BARRIER)
}

of_each_kind!(kernels_on_a_block_run_before_its_reuse);

/// A kernel's launch is a use like any other.
fn kernels_on_a_block_run_before_its_reuse<K: Kind>(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = one_block(&on_device)?;
    let gate = gate(&on_device.context);
    let add = "kernel void k(global uint *x) { x[get_global_id(0)] += 5; }";
    let mut add = on_device.kernel(add, "")?;
    let old = pool.allocate(SIZE)?;
    old.fill(first, 1)?;
    old.launch(&mut add, first.after(&gate))?;
    let id = old.id();
    drop(old);
    let found = after_owner(&gate, || -> Result<_> {
        let new = again(&pool, &other, id)?;
        new.launch(&mut add, &other)?;
        new.contents(&other)
    })?;
    assert_elements(&found, &[11; SIZE / 4], BARRIER);
    Ok(())
}

of_each_kind!(reuse_on_the_same_queue_does_not_wait);

/// The gate is still closed when the block is handed out again.
fn reuse_on_the_same_queue_does_not_wait<K: Kind>(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let pool: Pool<K> = pool_of(&on_device)?;
    let gate = gate(&on_device.context);
    let id = used(&pool, queue, &gate)?;
    assert_eq!(pool.allocate(SIZE)?.id(), id);
    drop(again(&pool, queue, id)?);
    let block = pool.allocate(SIZE)?;
    block.fill(queue, 2)?;
    open(&gate);
    block.assert_holds(queue, 2, "commands of an in-order queue run in their order (5.1)")
}

of_each_kind!(each_queue_reuses_its_own_blocks);

/// The block of the pool's own queue is still in use, so another queue gets a block of its own, and keeps
/// it.
fn each_queue_reuses_its_own_blocks<K: Kind>(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = pool_of(&on_device)?;
    let (gate, other_gate) = (gate(&on_device.context), self::gate(&on_device.context));
    let id = used(&pool, first, &gate)?;
    let own = used(&pool, &other, &other_gate)?;
    assert_ne!(own, id, "the block of a fill that waits for a gate, on another queue");
    for _ in 0..3 {
        for (queue, id) in [(first, id), (&other, own)] {
            again(&pool, queue, id)?.fill(queue, 2)?;
        }
    }
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (2, 2 * BLOCK));
    open(&gate);
    open(&other_gate);
    first.finish()?;
    other.finish()
}

of_each_kind!(a_queue_waits_for_commands_of_other_queues_on_its_block);

/// A queue that has had a block waits for its uses on other queues, so that the pool does not grow.
fn a_queue_waits_for_commands_of_other_queues_on_its_block<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let pool: Pool<K> = pool_of(&on_device)?;
    let gate = gate(&on_device.context);
    let mut ids = Vec::new();
    let (last, found) = after_owner(&gate, || -> Result<_> {
        for value in 1..=4 {
            let block = pool.allocate(SIZE)?;
            ids.push(block.id());
            block.fill(other.after((value == 1).then_some(&*gate)), value)?;
        }
        let last = pool.allocate(SIZE)?;
        ids.push(last.id());
        let found = last.contents(first)?;
        Ok((last, found))
    })?;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_elements(&found, &[4; SIZE / 4], BARRIER);
    assert_eq!(pool.managed_bytes(), BLOCK, "bytes of one block");
    drop(last);
    other.finish()
}

of_each_kind!(a_block_with_completed_events_is_preferred);

/// Nothing is known of the idle block but an event that has ended.
fn a_block_with_completed_events_is_preferred<K: Kind>(on_device: OnDevice) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let (unseen, gate) = (on_device.another_queue(), gate(&on_device.context));
    let pool: Pool<K> = pool_of(&on_device)?;
    let (mut idle, busy) = (pool.allocate(SIZE)?, pool.allocate(SIZE)?);
    let id = idle.id();
    let event = idle.fill_unseen(&unseen, 1, None);
    event.wait()?;
    idle.unbind_from_queue()?;
    idle.record_use(&event)?;
    let ends = busy.fill(first.after(&gate), 1)?;
    drop(idle);
    // It would go first.
    drop(busy);
    let found = soon_open(&gate, || pool.allocate_on(&other, SIZE))?.id();
    let has_ended = ends.status()? == Status::Complete;
    assert!(found == id || has_ended, "a block whose fill waits was preferred to an idle one");
    ends.wait()
}

of_each_kind!(a_block_with_pending_commands_is_not_reused_without_a_queue);

fn a_block_with_pending_commands_is_not_reused_without_a_queue<K: Kind>(
    on_device: OnDevice,
) -> Result<()> {
    let pool: Pool<K> = pool(&on_device, None, PoolOptions::new())?;
    let gate = gate(&on_device.context);
    let busy = pool.allocate(SIZE)?;
    let ends = busy.fill(on_device.queue.after(&gate), 1)?;
    let id = busy.id();
    drop(busy);
    let other = soon_open(&gate, || pool.allocate(SIZE))?;
    let has_ended = ends.status()? == Status::Complete;
    assert!(other.id() != id || has_ended, "a block whose fill waits was handed out");
    drop(other);
    ends.wait()?;
    // The pool may hear of it later than this thread.
    assert!(soon(|| is_free(&pool, SIZE, id))?, "its uses have ended");
    Ok(())
}

/// Uses that this crate cannot see: commands through opencl3 or cl3.
#[rstest]
#[clmatrix_harness::test]
#[case::by_an_event_of_buffers(BUFFERS, true)]
#[clmatrix_harness::test]
#[case::by_a_marker_of_buffers(BUFFERS, false)]
#[clmatrix_harness::test(requires(svm))]
#[case::by_an_event_of_svm(SVM, true)]
#[clmatrix_harness::test(requires(svm))]
#[case::by_a_marker_of_svm(SVM, false)]
fn reuse_waits_for_recorded_uses<K: Kind>(
    on_device: OnDevice,
    #[case] _kind: PhantomData<K>,
    #[case] by_event: bool,
) -> Result<()> {
    let (unseen, other) = (on_device.another_queue(), on_device.another_queue());
    let pool: Pool<K> = one_block(&on_device)?;
    let gate = gate(&on_device.context);
    let old = pool.allocate(SIZE)?;
    let event = old.fill_unseen(&unseen, 1, Some(&gate));
    let id = old.id();
    let new = after_owner(&gate, || -> Result<_> {
        let used = if by_event { event.clone() } else { enqueue_marker(&unseen)? };
        old.record_use(&used)?;
        drop((old, used));
        let new = refilled(&pool, &other, id)?;
        unseen.finish()?;
        Ok(new)
    })?;
    new.assert_holds(&other, 2, BARRIER)
}

of_each_kind!(a_rebound_block_waits_for_its_former_queue);

/// Commands that the library does not see run on the new queue after those of the old queue.
fn a_rebound_block_waits_for_its_former_queue<K: Kind>(on_device: OnDevice) -> Result<()> {
    let other = on_device.another_queue();
    let pool: Pool<K> = pool_of(&on_device)?;
    let gate = gate(&on_device.context);
    let mut block = pool.allocate(SIZE)?;
    let old = block.fill_unseen(&on_device.queue, 1, Some(&gate));
    soon_open(&gate, || -> Result<_> {
        block.bind_to_queue(&other)?;
        block.fill_unseen(&other, 2, None).wait()
    })?;
    old.wait()?;
    block.assert_holds(&other, 2, BARRIER)
}

of_each_kind!(a_pool_releases_its_events, ctx_factory: CtxFactory);

/// Neither those that are recorded nor those of markers: they have their queue or their context.
fn a_pool_releases_its_events<K: Kind>(on_device: OnDevice, ctx_factory: CtxFactory) -> Result<()> {
    let (first, other) = (&on_device.queue, on_device.another_queue());
    let unseen = on_device.another_queue();
    let references = || -> Result<_> {
        let queues = [first, &other, &unseen].map(|queue| queue.reference_count());
        let [first, other, unseen] = queues;
        Ok((on_device.context.reference_count()?, first?, other?, unseen?))
    };
    let before = references()?;
    let pool: Pool<K> = pool_of(&on_device)?;
    for _ in 0..3 {
        let gate = gate(&on_device.context);
        used(&pool, first, &gate)?;
        after_owner(&gate, || -> Result<_> {
            let block = pool.allocate_on(&other, SIZE)?;
            let event = block.fill_unseen(&unseen, 2, None);
            block.record_use(&event)?;
            block.record_use(&enqueue_marker(&unseen)?)?;
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
        // The pool has enqueued its last free, whose event a queue may keep until it is finished.
        first.finish()?;
        // Where drivers need marks in queues, those of others that have ended go with this.
        elsewhere.queue.finish()?;
        let block = pool_of::<K>(&elsewhere)?.allocate(SIZE)?;
        block.record_use(&enqueue_marker(&elsewhere.queue)?)?;
        Ok(references()? != before)
    };
    assert!(soon(|| Ok(!is_left()?))?, "{before:?}, now {:?}", references()?);
    Ok(())
}

#[clmatrix_harness::test]
fn record_use_refuses_an_event_of_another_context(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let elsewhere = gate(&ctx_factory()?);
    let buffer = pool_on(&on_device.queue, PoolOptions::new())?.allocate(SIZE)?;
    assert_eq!(refusal(buffer.record_use(&elsewhere)), "CL_INVALID_CONTEXT");
    open(&elsewhere);
    Ok(())
}

#[clmatrix_harness::test]
fn an_allocator_for_an_out_of_order_queue_is_refused(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    drop(on_device.out_of_order_queue(context.default_device().clone())?);
    let queue = CommandQueue::with_properties(context, QueueProperties::OUT_OF_ORDER)?;
    let allocator = buffers(&on_device, |_, _| Answer::Inner)?;
    allocator.queue.set(queue).expect("it had no queue");
    assert_eq!(refusal(MemoryPool::new(allocator)), "CL_INVALID_COMMAND_QUEUE");
    Ok(())
}

/// On a queue that may reorder its commands, all that follows comes after the old owner's uses.
#[rstest]
#[clmatrix_harness::test]
#[case::of_buffers(BUFFERS, true)]
#[clmatrix_harness::test(requires(svm))]
#[case::of_svm(SVM, false)]
fn reuse_on_an_out_of_order_queue_waits<K: Kind>(
    on_device: OnDevice,
    #[case] _kind: PhantomData<K>,
    #[case] is_seen: bool,
) -> Result<()> {
    let loose = on_device.out_of_order_queue(on_device.context.default_device().clone())?;
    let pool: Pool<K> = one_block(&on_device)?;
    let gate = gate(&on_device.context);
    let id = used(&pool, &on_device.queue, &gate)?;
    let block = after_owner(&gate, || -> Result<_> {
        if !is_seen {
            return refilled(&pool, &loose, id);
        }
        let block = again(&pool, &loose, id)?;
        block.fill(&loose, 2)?;
        loose.finish()?;
        Ok(block)
    })?;
    block.assert_holds(&on_device.queue, 2, BARRIER)
}

/// The last handle to a queue flushes it, so that commands on held blocks end.
#[clmatrix_harness::test]
fn blocks_of_dropped_queues_are_reused(on_device: OnDevice) -> Result<()> {
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    let fill_on_new_queue = || -> Result<_> {
        let queue = on_device.another_queue();
        let block = pool.allocate_on(&queue, SIZE)?;
        let filled = Kind::fill(&*block, &queue, 7)?;
        let raw = block.id();
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

/// The last command on a block.
#[derive(Clone, Copy, Debug)]
enum Last {
    /// Has ended when the queue is dropped, as the library knows.
    Known,
    /// Has ended when the queue is dropped.
    Ended,
    /// Waits for a gate.
    Fill,
    /// Waits for a gate.
    Unmap,
    /// Is enqueued after the drop of the queue.
    LateUnmap,
    /// Is enqueued on another queue, after the drop of that of the map.
    UnmapElsewhere,
}

/// A pool that is called, and the number of references to contexts.
struct Looks {
    pool: MemoryPool,
    watch: ContextWatch,
    before: usize,
}

/// Returns a pool that holds some blocks, and a queue to be dropped. Looks by way of another pool of the context than
/// the one that keeps the queue.
fn looks(on_device: &OnDevice, held: usize) -> Result<(Looks, MemoryPool, CommandQueue)> {
    let used = pool_in(&on_device.context, PoolOptions::new())?;
    drop((0..held).map(|_| used.allocate(SIZE)).collect::<Result<Vec<_>>>()?);
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    drop(pool.allocate(1)?);
    let watch = on_device.context.watch();
    let looks = Looks { pool, before: watch.references(), watch };
    Ok((looks, used, on_device.another_queue()))
}

impl Looks {
    /// Returns the number of references since this was created, after a call of the pool.
    fn added(&self) -> Result<usize> {
        drop(self.pool.allocate(1)?);
        Ok(self.watch.references().saturating_sub(self.before))
    }

    #[track_caller]
    fn assert_releases(&self) -> Result<()> {
        assert!(soon(|| Ok(self.added()? == 0))?, "{} references are left", self.added()?);
        Ok(())
    }
}

/// The end of its commands releases a dropped queue. The library counts references itself: a buffer of PoCL keeps the
/// queue of the last command on it.
// quirk: POCL-17
#[rstest]
#[clmatrix_harness::test]
fn held_blocks_let_go_of_dropped_queues(
    on_device: OnDevice,
    #[values(
        Last::Known,
        Last::Ended,
        Last::Fill,
        Last::Unmap,
        Last::LateUnmap,
        Last::UnmapElsewhere
    )]
    last: Last,
    #[values(true, false)] block_first: bool,
) -> Result<()> {
    let (looks, pool, queue) = looks(&on_device, 2)?;
    let gate = gate(&on_device.context);
    let blocks = [pool.allocate_on(&queue, SIZE)?, pool.allocate_on(&queue, SIZE)?];
    let fill = |queue: Order<'_>, block| enqueue_fill(queue, block, &7_u32, ..);
    let mut map = None;
    match last {
        Last::Known => fill(Order::from(&queue), &blocks[1])?.wait()?,
        Last::Ended => {
            let filled = fill(Order::from(&queue), &blocks[1])?;
            // The pool does not know what the driver says here.
            wait_for_events(&[filled.as_raw()]).expect("the fill ends");
        }
        Last::Fill => {
            for block in &blocks {
                drop(fill(queue.after(&gate), block)?);
            }
        }
        Last::Unmap => {
            let maps = blocks.iter().map(|block| block.map_read::<u32>(&queue, ..));
            for map in maps.collect::<Result<Vec<_>>>()? {
                map.unmap_on(queue.after(&gate))?;
            }
        }
        Last::LateUnmap | Last::UnmapElsewhere => {
            map = Some(blocks[1].map_read::<u32>(&queue, ..)?);
        }
    }
    let mut blocks = Some(blocks);
    drop(blocks.take_if(|_| block_first));
    drop(queue);
    match (map, last) {
        (Some(map), Last::UnmapElsewhere) => map.unmap_on(&on_device.queue)?.wait()?,
        (map, _) => drop(map),
    }
    open(&gate);
    drop((blocks, gate));
    looks.assert_releases()?;
    assert_eq!(pool.statistics().held_blocks, 2);
    Ok(())
}

/// No thread looks, and one call is enough.
#[clmatrix_harness::test]
fn a_call_of_a_pool_releases_a_dropped_queue(on_device: OnDevice) -> Result<()> {
    let (looks, pool, queue) = looks(&on_device, 1)?;
    let gate = gate(&on_device.context);
    let block = pool.allocate_on(&queue, SIZE)?;
    let filled = enqueue_fill(queue.after(&gate), &block, &7_u32, ..)?;
    drop((block, queue));
    // SAFETY: the event is alive.
    let ended = unsafe { Event::retain_raw(filled.as_raw()) }?;
    drop(filled);
    open(&gate);
    ended.wait()?;
    drop((gate, ended));
    assert!(looks.watch.references() > looks.before, "nothing has looked");
    assert_eq!(looks.added()?, 0, "references are left");
    Ok(())
}

/// A queue has a handle while a pool looks, and loses it afterwards.
#[clmatrix_harness::test]
fn a_queue_that_comes_back_is_released(on_device: OnDevice) -> Result<()> {
    let (looks, pool, queue) = looks(&on_device, 0)?;
    let gate = gate(&on_device.context);
    let block = pool.allocate_on(&queue, SIZE)?;
    let filled = enqueue_fill(queue.after(&gate), &block, &7_u32, ..)?;
    drop(queue);
    let queue = filled.queue();
    drop(pool.allocate(SIZE)?);
    drop((queue, filled, block));
    open(&gate);
    drop(gate);
    looks.assert_releases()
}

/// Calls of pools let go of so many queues as programs drop.
#[clmatrix_harness::test]
fn few_dropped_queues_are_alive(on_device: OnDevice) -> Result<()> {
    let (looks, pool, _) = looks(&on_device, 0)?;
    let mut blocks = Vec::new();
    for _ in 0..200 {
        let queue = on_device.another_queue();
        let block = pool.allocate_on(&queue, SIZE)?;
        enqueue_fill(&queue, &block, &7_u32, ..)?;
        blocks.push(block);
        drop(queue);
        assert!(soon(|| Ok(looks.added()? < 40))?, "{} queues are alive", looks.added()?);
    }
    drop((blocks, pool));
    looks.assert_releases()
}

/// As above, for a command that the pool learns of after the drop of the queue.
#[clmatrix_harness::test]
fn uses_recorded_late_let_go_of_dropped_queues(on_device: OnDevice) -> Result<()> {
    let (looks, pool, queue) = looks(&on_device, 1)?;
    let block = pool.allocate_on(&queue, SIZE)?;
    let marker = enqueue_marker(&queue)?;
    drop(queue);
    block.record_use(&marker)?;
    drop((block, marker));
    looks.assert_releases()
}

/// As above, for a map that is dropped before it has run. rusticl unmaps it with the next use of the bytes.
#[clmatrix_harness::test]
fn maps_dropped_early_let_go_of_dropped_queues(on_device: OnDevice) -> Result<()> {
    let (looks, pool, queue) = looks(&on_device, 1)?;
    let gate = gate(&on_device.context);
    let block = pool.allocate_on(&queue, SIZE)?;
    drop(block.map_async::<u32, _>(queue.after(&gate), MapRead, ..)?);
    drop(queue);
    open(&gate);
    enqueue_fill(&on_device.queue, &block, &7_u32, ..)?.wait()?;
    drop((block, gate));
    looks.assert_releases()
}

/// As above, for the memory of slabs.
#[clmatrix_harness::test]
fn slabs_let_go_of_dropped_queues(on_device: OnDevice) -> Result<()> {
    let slabs = SlabAllocator::new(Buffer::allocator(&on_device.context, None)?, 16 * SIZE);
    drop(slabs.allocate(SIZE)?);
    let watch = on_device.context.watch();
    let before = watch.references();
    let queue = on_device.another_queue();
    let part = slabs.allocate(SIZE)?.expect("a part of the slab");
    drop(enqueue_fill(&queue, &part, &7_u32, ..)?);
    queue.finish()?;
    drop((part, queue));
    assert!(soon(|| Ok(watch.references() <= before))?, "{} of {before}", watch.references());
    Ok(())
}
