//! Allocators and memory pools (PyOpenCL's "Memory Pools").
//!
//! A pool holds the blocks that are returned to it, and reuses them: most programs request the same sizes again and
//! again, and drivers need microseconds to create memory.
//!
//! - [`Allocator`]: a source of new memory: [`DeferredAllocator`], [`ImmediateAllocator`],
//!   [`SvmAllocator`], a pool, or a [`SlabAllocator`], which splits the memory of another one.
//! - [`MemoryPool`] and [`SvmPool`] hand out [`PooledBuffer`] and [`PooledSvm`].
//!
//! # Reuse
//! A block is returned when its handle is dropped, without a call of the driver. The pool reuses a block
//! - never while a clone, a region or a map of it lives;
//! - at once for the in-order queue that has used it, and if its uses have ended;
//! - for another queue, if that queue has had the block before: a command that waits for the uses on other
//!   queues is enqueued first. Otherwise the queue gets a new block, so that queues do not wait for each
//!   other, and each size has as many blocks as its queues use at the same time;
//! - for any queue, in the same way, before a request fails because memory has run out or the
//!   [limit](PoolOptions::limit) is reached.
//!
//! Without a queue, only blocks without pending uses are reused.
//!
//! Blocks keep a queue without handles until its commands have ended. Requests to pools of the context, and the drop
//! of the last handle to a queue, check a few blocks each. On Oclgrind, the commands of a queue that is not flushed
//! never end.
//!
//! The uses are those of this crate's transfers, fills, launches and maps, and those that
//! [`MemoryObject::record_use`](crate::memory::MemoryObject::record_use) records.
//!
//! # Reserved memory
//! As in PyOpenCL, a block of one size is not used for others: programs that request many sizes reserve two
//! to three times the memory in use. [`PoolOptions::max_oversize_percent`] and [`SlabAllocator`] bound that: with
//! slabs as large as the largest usual size, 64 MiB for sizes up to that, about one and a half times the
//! memory in use is reserved.

mod allocator;
mod bin;
mod bins;
mod block;
mod core;
mod memory;
mod memory_pool;
mod options;
mod pooled;
mod request;
mod shards;
mod statistics;
mod thread_number;
mod trace;

pub use allocator::{
    Allocator, DeferredAllocator, ImmediateAllocator, SlabAllocator, SvmAllocator,
};
pub use memory::Memory;
pub use memory_pool::{MemoryPool, Pool, SvmPool};
pub use options::PoolOptions;
pub use pooled::{Pooled, PooledBuffer, PooledSvm};
pub use statistics::Statistics;
pub use trace::{PoolEvent, PoolEventKind};
