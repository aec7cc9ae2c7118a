//! Allocators and memory pools (PyOpenCL's "Memory Pools").
//!
//! A pool keeps the blocks that it hands out and gets back, and uses them again: most programs ask for
//! the same sizes over and over, and drivers take microseconds to make memory.
//!
//! - [`Allocator`]: what makes memory: [`DeferredAllocator`], [`ImmediateAllocator`], [`SvmAllocator`], or
//!   a pool.
//! - [`MemoryPool`] and [`SvmPool`] hand out [`PooledBuffer`] and [`PooledSvm`].
//!
//! # How a block is used again
//! Dropping a handle is all that it takes, and costs no call to the driver. What matters comes when the
//! block is handed out again:
//! - while a clone, a region or a map of it lives, it is not ([`parent`](crate::memory::Buffer::parent) of a part of a
//!   [split](PoolOptions::split) root is a handle to the root, not to the part);
//! - to the in-order queue that it was used on, it is, at once;
//! - to another queue, one whose uses have ended is preferred. If there is none, a command that waits for
//!   them is enqueued before the block is handed out;
//! - without a queue, it has to be one whose uses have ended.
//!
//! The uses are those of this crate's transfers, fills, launches and maps, and those that
//! [`MemoryObject::record_use`](crate::memory::MemoryObject::record_use) records.
//!
//! # Memory that is reserved and not in use
//! As in PyOpenCL, blocks of one size are no use for others: programs that ask for many sizes reserve two to
//! three times what they use. [`PoolOptions::reuse_larger`] and [`PoolOptions::split`] bound that; a pool of
//! buffers that [splits](PoolOptions::split) roots as large as the largest usual size, 64 MiB for sizes up to
//! that, reserves about one and a half times what is in use.

mod allocator;
mod bin;
mod bins;
mod block;
mod freeing;
mod insight;
mod lock;
mod memory;
mod memory_pool;
mod options;
mod order;
mod pooled;
mod reclaim;
mod shared;
mod shelf;
mod split;
mod stack;
mod statistics;
mod thread_number;

pub use allocator::{Allocator, DeferredAllocator, ImmediateAllocator, SvmAllocator};
pub use insight::{PoolEvent, PoolEventKind};
pub use memory::Memory;
pub use memory_pool::{MemoryPool, Pool, SvmPool};
pub use options::PoolOptions;
pub use pooled::{Pooled, PooledBuffer, PooledSvm};
pub use statistics::Statistics;
