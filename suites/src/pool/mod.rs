//! Memory pools (`pyopencl.tools.MemoryPool`).

mod blocks;
mod cost;
#[cfg(target_os = "linux")]
mod exhaustion;
mod faults;
mod faulty;
mod handles;
mod inspection;
mod maximum;
mod model;
mod order;
mod release;
mod shards;
mod slabs;
mod trace;

use clmatrix::memory::MemFlags;
use clmatrix::pool::{DeferredAllocator, ImmediateAllocator, MemoryPool, PoolOptions};
use clmatrix::{CommandQueue, Context, Result};

/// A pool of buffers for `queue`.
fn pool_on(queue: &CommandQueue, options: PoolOptions) -> Result<MemoryPool> {
    let allocator = ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?;
    MemoryPool::with_options(allocator, options)
}

/// A pool of buffers for no queue.
fn pool_in(context: &Context, options: PoolOptions) -> Result<MemoryPool> {
    let allocator = DeferredAllocator::new(context, MemFlags::READ_WRITE)?;
    MemoryPool::with_options(allocator, options)
}

/// Held and active blocks, managed and active bytes.
fn counts(pool: &MemoryPool) -> (usize, usize, usize, usize) {
    let statistics = pool.statistics();
    let each =
        (pool.held_blocks(), pool.active_blocks(), pool.managed_bytes(), pool.active_bytes());
    let at_once = (
        statistics.held_blocks,
        statistics.active_blocks,
        statistics.managed_bytes,
        statistics.active_bytes,
    );
    assert_eq!(each, at_once);
    at_once
}
