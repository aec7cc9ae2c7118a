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

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use clmatrix::memory::{
    Buffer, Linear, MemFlags, MigrationFlags, Order, SvmAllocation, SvmFlags, enqueue_copy,
    enqueue_fill,
};
use clmatrix::pool::{
    Allocator, DeferredAllocator, ImmediateAllocator, Memory, MemoryPool, Pool, PoolEvent,
    PoolEventKind, PoolOptions, Pooled, PooledBuffer, SlabAllocator, SvmAllocator, SvmPool,
};
use clmatrix::{
    Class, CommandQueue, Context, Device, Error, Event, Result, Status, UserEvent, enqueue_marker,
};
use clmatrix_harness::{CtxFactory, skip};
use rstest::rstest;

use crate::buffer::{DOUBLE, contents, counting, refusal};
use crate::support::gate::*;
use crate::support::logger::panics_as_it_logs;
use crate::support::on_device::*;
use crate::support::pattern::*;
use crate::support::unanswered;
use faulty::*;
use kind::*;

/// A pool of buffers for `queue`.
fn pool_on(queue: &CommandQueue, options: PoolOptions) -> Result<MemoryPool> {
    MemoryPool::with_options(Buffer::allocator(&queue.context(), Some(queue))?, options)
}

/// A pool of buffers for no queue.
fn pool_in(context: &Context, options: PoolOptions) -> Result<MemoryPool> {
    MemoryPool::with_options(Buffer::allocator(context, None)?, options)
}

/// A pool of the parts of slabs of this allocator, and the slabs.
fn slabs_of<A>(
    inner: A,
    slab_bytes: usize,
    options: PoolOptions,
) -> Result<(MemoryPool, Arc<SlabAllocator<A>>)>
where
    A: Allocator<Memory: std::borrow::Borrow<Buffer> + Send + 'static> + 'static,
{
    let slabs = Arc::new(SlabAllocator::new(inner, slab_bytes));
    Ok((MemoryPool::with_options(Arc::clone(&slabs), options)?, slabs))
}

/// Held and active blocks, managed and active bytes.
fn counts<M: Memory>(pool: &Pool<M>) -> (usize, usize, usize, usize) {
    let all = pool.statistics();
    let at_once = (all.held_blocks, all.active_blocks, all.managed_bytes, all.active_bytes);
    let each =
        (pool.held_blocks(), pool.active_blocks(), pool.managed_bytes(), pool.active_bytes());
    assert_eq!(each, at_once);
    at_once
}
