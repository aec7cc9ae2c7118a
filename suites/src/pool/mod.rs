//! Memory pools (`pyopencl.tools.MemoryPool` and `SVMPool`).

mod blocks;
mod cost;
mod exhaustion;
mod faults;
mod faulty;
mod handles;
mod inspection;
pub(crate) mod kind;
mod maximum;
mod model;
mod order;
mod release;
mod shards;
mod slabs;
mod svm;
mod trace;

use std::borrow::Borrow;
use std::sync::Arc;

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::pool::{
    Allocator, DeferredAllocator, ImmediateAllocator, Memory, MemoryPool, Pool, PoolOptions,
    SlabAllocator,
};
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

/// A pool of the parts of slabs of this allocator, and the slabs.
fn slabs_of<A>(
    inner: A,
    slab_bytes: usize,
    options: PoolOptions,
) -> Result<(MemoryPool, Arc<SlabAllocator<A>>)>
where
    A: Allocator<Memory: Borrow<Buffer> + Send + 'static> + 'static,
{
    let slabs = Arc::new(SlabAllocator::new(inner, slab_bytes));
    Ok((MemoryPool::with_options(Arc::clone(&slabs), options)?, slabs))
}

/// Held and active blocks, managed and active bytes.
fn counts<M: Memory>(pool: &Pool<M>) -> (usize, usize, usize, usize) {
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
