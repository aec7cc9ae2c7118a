//! Pools of shared virtual memory (`pyopencl.tools.SVMPool`).

mod blocks;
mod handles;
mod order;
mod release;
mod trace;

use clmatrix::memory::{SvmFlags, SvmPointer};
use clmatrix::pool::{PoolOptions, SvmAllocator, SvmPool};
use clmatrix::{CommandQueue, Result};

use crate::support::on_device::OnDevice;

/// A pool for the queue, if there is one.
fn pool(on: &OnDevice, queue: Option<&CommandQueue>) -> Result<SvmPool> {
    pool_with(on, queue, PoolOptions::new())
}

/// The same, as `options` say.
fn pool_with(on: &OnDevice, queue: Option<&CommandQueue>, options: PoolOptions) -> Result<SvmPool> {
    let allocator = SvmAllocator::new(&on.context, 0, SvmFlags::READ_WRITE, queue)?;
    SvmPool::with_options(allocator, options)
}

/// Returns whether the pool hands out the block at this address for `size` bytes.
pub(crate) fn is_free(pool: &SvmPool, size: usize, at: usize) -> Result<bool> {
    // One more than the pool holds, so that it hands out each that it can.
    let blocks = (0..=pool.held_blocks()).map(|_| pool.allocate(size));
    let blocks: Vec<_> = blocks.collect::<Result<_>>()?;
    Ok(blocks.iter().any(|block| block.svm_ptr().addr() == at))
}

/// Held and active blocks, managed and active bytes.
fn counts(pool: &SvmPool) -> (usize, usize, usize, usize) {
    (pool.held_blocks(), pool.active_blocks(), pool.managed_bytes(), pool.active_bytes())
}
