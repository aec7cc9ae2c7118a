//! Threads of a pool do not share a shard while another is free.

use std::sync::mpsc::channel;
use std::thread;

use clmatrix::Result;
use clmatrix::memory::MemoryObject;
use clmatrix::pool::{MemoryPool, PoolOptions, PooledBuffer};
use rstest::rstest;

use super::pool_in;
use crate::support::on_device::{OnDevice, on_device};

/// More than a pool has shards.
const MOST: usize = 32;

fn raw(block: &PooledBuffer) -> usize {
    block.as_raw().addr()
}

/// Returns whether a thread gets its own block back, although a thread that was started after `ended`
/// others has dropped a block since. From a shard of both, it gets the block that was dropped last.
fn has_its_own_shard(pool: &MemoryPool, ended: usize) -> Result<bool> {
    const SIZE: usize = 1000;
    let (mine, others) = (pool.allocate(SIZE)?, pool.allocate(SIZE)?);
    let at = raw(&mine);
    drop(mine);
    for _ in 0..ended {
        thread::scope(|scope| scope.spawn(|| drop(pool.allocate(2 * SIZE))).join())
            .expect("no panic");
    }
    let (dropped, is_dropped) = channel();
    let (looked, has_looked) = channel::<()>();
    let found = thread::scope(|scope| {
        scope.spawn(move || {
            drop(others);
            dropped.send(()).expect("the test waits");
            // The thread lives until the other has its block.
            _ = has_looked.recv();
        });
        is_dropped.recv().expect("the thread drops its block");
        let found = pool.allocate(SIZE).map(|block| raw(&block));
        drop(looked);
        found
    });
    Ok(found? == at)
}

#[rstest]
#[clmatrix_harness::test]
fn two_live_threads_never_share_a_shard(on_device: OnDevice) -> Result<()> {
    for ended in 0..MOST {
        let pool = pool_in(&on_device.context, PoolOptions::new())?;
        assert!(has_its_own_shard(&pool, ended)?, "after {ended} threads");
    }
    Ok(())
}
