//! The shards of a pool: threads do not share one while another is free, and later pools use them again.

use std::cell::RefCell;

use super::*;

/// More than a pool has shards.
const MOST: usize = 32;

/// Returns whether a thread gets its own block back, although a thread that was started after `ended`
/// others has dropped a block since. From a shard of both, it gets the block that was dropped last.
fn has_its_own_shard(pool: &MemoryPool, ended: usize) -> Result<bool> {
    const SIZE: usize = 1000;
    let (mine, others) = (pool.allocate(SIZE)?, pool.allocate(SIZE)?);
    let at = mine.id();
    drop(mine);
    for _ in 0..ended {
        thread::scope(|scope| scope.spawn(|| drop(pool.allocate(2 * SIZE))).join())
            .expect("no panic");
    }
    let (dropped, is_dropped) = mpsc::channel();
    let (looked, has_looked) = mpsc::channel::<()>();
    let found = thread::scope(|scope| {
        scope.spawn(move || {
            drop(others);
            dropped.send(()).expect("the test waits");
            // The thread lives until the other has its block.
            _ = has_looked.recv();
        });
        is_dropped.recv().expect("the thread drops its block");
        let found = pool.allocate(SIZE).map(|block| block.id());
        drop(looked);
        found
    });
    Ok(found? == at)
}

#[clmatrix_harness::test]
fn two_live_threads_never_share_a_shard(on_device: OnDevice) -> Result<()> {
    for ended in 0..MOST {
        let pool = pool_in(&on_device.context, PoolOptions::new())?;
        assert!(has_its_own_shard(&pool, ended)?, "after {ended} threads");
    }
    Ok(())
}

/// A pool gets the shards of one that is gone.
#[clmatrix_harness::test]
fn a_pool_begins_empty_after_other_pools(on_device: OnDevice) -> Result<()> {
    const SIZE: usize = 1000;
    // The shards hold bins in a list or in a tree.
    for bits in [4, 26, 0] {
        let options = PoolOptions::new().leading_bits(bits);
        let pool = pool_in(&on_device.context, options)?;
        assert_eq!(counts(&pool), (0, 0, 0, 0), "{bits} leading bits");
        let hold = || pool.allocate(SIZE).map(drop);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..MOST).map(|_| scope.spawn(hold)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        let last = pool.allocate(SIZE)?;
        hold()?;
        assert!(pool.held_blocks() > 0, "{bits} leading bits");
        pool.stop_holding();
        drop(pool);
        drop(last);
    }
    Ok(())
}

/// The destructors of a thread run in an order that this crate does not choose.
#[rstest]
#[clmatrix_harness::test]
fn a_block_may_be_dropped_at_the_end_of_its_thread(
    on_device: OnDevice,
    #[values(false, true)] is_first: bool,
) -> Result<()> {
    thread_local!(static KEPT: RefCell<Vec<PooledBuffer>> = const { RefCell::new(Vec::new()) });
    const SIZE: usize = 1000;
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    let block = pool.allocate(SIZE)?;
    let at = block.id();
    let keep = |block| KEPT.with_borrow_mut(|kept| kept.push(block));
    let end = || -> Result<()> {
        if is_first {
            drop(pool.allocate(2 * SIZE)?);
        }
        keep(block);
        keep(pool.allocate(3 * SIZE)?);
        Ok(())
    };
    thread::scope(|scope| scope.spawn(end).join().expect("no panic"))?;
    let held = if is_first { 3 } else { 2 };
    let (held_blocks, active_blocks, _, active_bytes) = counts(&pool);
    assert_eq!((held_blocks, active_blocks, active_bytes), (held, 0, 0));
    assert_eq!(pool.allocate(SIZE)?.id(), at);
    Ok(())
}
