//! Pools.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use crate::context::Context;
use crate::queue::CommandQueue;
use cl3::error_codes::CL_INVALID_COMMAND_QUEUE;

use super::allocator::Allocator;
use super::block::Block;
use super::core::PoolCore;
use super::memory::Memory;
use super::options::PoolOptions;
use super::pooled::Pooled;
use super::statistics::Statistics;
use super::trace::{PoolEvent, PoolEventKind, Trace};
use crate::error::{Class, Error, Result};
use crate::memory::{Buffer, SvmAllocation};

/// A pool of memory; see the [module documentation](super).
///
/// Clones are handles to the same pool. The pool frees its held blocks when the last handle is dropped, and
/// its active blocks when their handles are dropped.
pub struct Pool<M: Memory>(Arc<Handle<M>>);

/// A pool of buffers (PyOpenCL's `MemoryPool`).
///
/// ```
/// use clmatrix::memory::{MemFlags, enqueue_fill};
/// use clmatrix::pool::{DeferredAllocator, MemoryPool};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let pool = MemoryPool::new(DeferredAllocator::new(&context, MemFlags::READ_WRITE)?)?;
/// for _ in 0..3 {
///     let buffer = pool.allocate(1000)?;
///     enqueue_fill(&queue, &buffer, &7_u8, ..)?;
/// }
/// queue.finish()?;
/// assert!(pool.active_blocks() == 0 && pool.managed_bytes() >= 1023);
/// # Ok(())
/// # }
/// ```
pub type MemoryPool = Pool<Buffer>;

/// A pool of shared virtual memory (PyOpenCL's `SVMPool`).
pub type SvmPool = Pool<SvmAllocation>;

/// All handles of users together. Held blocks keep the pool until the last handle is dropped.
#[derive(Debug)]
struct Handle<M: Memory>(Arc<PoolCore<M>>);

impl<M: Memory> Drop for Handle<M> {
    fn drop(&mut self) {
        self.0.stop_holding();
        if let Some(trace) = &self.0.trace {
            trace.report_leaks();
        }
    }
}

impl<M: Memory> Pool<M> {
    /// Returns a pool like PyOpenCL's, but ordered across queues.
    ///
    /// Logs a warning for a deferred allocator: the pool does not learn when memory has run out.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT if the allocator's queue is of another context, and CL_INVALID_COMMAND_QUEUE if it
    /// is out-of-order.
    pub fn new(allocator: impl Allocator<Memory = M> + 'static) -> Result<Self> {
        Self::with_options(allocator, PoolOptions::default())
    }

    /// Returns a pool with `options`.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for more than 26 leading bits, and those of [`new`](Self::new).
    pub fn with_options(
        allocator: impl Allocator<Memory = M> + 'static,
        options: PoolOptions,
    ) -> Result<Self> {
        if allocator.is_deferred() {
            log::warn!(
                "a memory pool on a deferred allocator cannot react when memory runs out, because that \
                 shows only when a kernel uses it; take an immediate one"
            );
        }
        let allocator_queue = allocator.queue().cloned();
        if let Some(queue) = &allocator_queue {
            const CALL: &str = "MemoryPool::new";
            queue.check_context(CALL, "pool", allocator.context().as_raw())?;
            let reason = "the allocator's queue is out-of-order; return `None` from `queue()` for such a queue";
            Error::refuse_if(!queue.is_in_order(), CALL, CL_INVALID_COMMAND_QUEUE, || reason)?;
        }
        let core = PoolCore::new(Box::new(allocator), allocator_queue, options)?;
        Ok(Self(Arc::new(Handle(Arc::new(core)))))
    }

    fn core(&self) -> &Arc<PoolCore<M>> {
        &self.0.0
    }

    /// Returns `size` bytes of undefined content, for the allocator's queue, or for no queue if it has none.
    ///
    /// If memory has run out, the pool frees its held blocks, the largest first, and retries its allocator after
    /// each. One thread does so at a time; others that are out of memory wait for it. The thread waits for the
    /// commands on each block that it frees, so events that let these commands run must not be set after this call.
    /// The request may fail although another thread returns a block at the same time.
    ///
    /// # Errors
    /// CL_INVALID_BUFFER_SIZE for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every device; an error of class
    /// [`OutOfMemory`](crate::Class::OutOfMemory) if memory has run out although the pool has freed all
    /// held blocks; and the errors of the allocator and the driver.
    #[inline]
    pub fn allocate(&self, size: usize) -> Result<Pooled<M>> {
        let core = self.core();
        self.traced(size, || core.allocate(size, core.allocator_queue.as_ref()))
    }

    /// Returns `size` bytes of undefined content for `queue`: commands that are enqueued there run after
    /// the earlier uses of the block.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for a queue of another context, and those of [`allocate`](Self::allocate).
    pub fn allocate_on(&self, queue: &CommandQueue, size: usize) -> Result<Pooled<M>> {
        let core = self.core();
        queue.check_context("MemoryPool::allocate_on", "pool", core.context.as_raw())?;
        self.traced(size, || core.allocate(size, Some(queue)))
    }

    /// Reports the result of `allocate`, if the pool reports events or leaks.
    #[inline]
    fn traced(
        &self,
        size: usize,
        allocate: impl FnOnce() -> Result<Box<Block<M>>>,
    ) -> Result<Pooled<M>> {
        match &self.core().trace {
            None => allocate().map(Pooled::new),
            Some(trace) => self.trace_allocation(trace, size, allocate),
        }
    }

    #[cold]
    fn trace_allocation(
        &self,
        trace: &Trace,
        size: usize,
        allocate: impl FnOnce() -> Result<Box<Block<M>>>,
    ) -> Result<Pooled<M>> {
        let began = Instant::now();
        let result = allocate().map(Pooled::new);
        let event = |kind| {
            let (bin, time) = (self.core().binning.bin(size), began.elapsed());
            trace.emit(&PoolEvent { kind, size, bin, time, name: None });
        };
        match result {
            Ok(mut block) => {
                self.core().raise_peak_active(trace.record_activation(block.block().key(), size));
                let is_new = mem::replace(&mut block.block_mut().is_new, false);
                event(if is_new { PoolEventKind::Allocated } else { PoolEventKind::Reused });
                Ok(block)
            }
            Err(error) => {
                if error.class() == Class::OutOfMemory {
                    event(PoolEventKind::OutOfMemory);
                }
                Err(error)
            }
        }
    }

    /// Returns the number of held blocks.
    pub fn held_blocks(&self) -> usize {
        self.statistics().held_blocks
    }

    /// Returns the number of active blocks.
    pub fn active_blocks(&self) -> usize {
        self.statistics().active_blocks
    }

    /// Returns the size of all blocks in bytes, held and active.
    pub fn managed_bytes(&self) -> usize {
        self.statistics().managed_bytes
    }

    /// Returns the requested bytes of active blocks.
    pub fn active_bytes(&self) -> usize {
        self.statistics().active_bytes
    }

    /// Returns all counts, at one moment.
    pub fn statistics(&self) -> Statistics {
        self.core().statistics()
    }

    /// Frees all held blocks; shared virtual memory that is bound to a queue, in the order of that queue.
    pub fn free_held(&self) {
        self.core().free_held();
    }

    /// Frees all held blocks, and from now on each block as soon as it is returned.
    pub fn stop_holding(&self) {
        self.core().stop_holding();
    }

    /// Frees held blocks, the largest first, until the pool has at most `bytes` bytes from its allocator, or
    /// holds no block.
    pub fn trim_to(&self, bytes: usize) {
        self.core().trim_to(bytes);
    }

    /// Frees the blocks that have been held for longer than [`PoolOptions::max_idle`].
    pub fn trim_idle(&self) {
        self.core().trim_idle();
    }

    /// Returns the number of the bin of `size` bytes (PyOpenCL's `bin_number`).
    pub fn bin_number(&self, size: usize) -> u32 {
        self.core().binning.bin(size)
    }

    /// Returns the size in bytes of the blocks of a bin (PyOpenCL's `alloc_size`); `None` if no bin has this number.
    pub fn alloc_size(&self, bin: u32) -> Option<usize> {
        self.core().binning.size_of(bin)
    }
}

/// Allocates from the pool; all other methods are those of its own allocator.
impl<M: Memory> Allocator for Pool<M> {
    type Memory = Pooled<M>;

    fn allocate(&self, size: usize) -> Result<Option<Pooled<M>>> {
        if size == 0 { Ok(None) } else { Pool::allocate(self, size).map(Some) }
    }

    fn allocate_for(&self, queue: Option<&CommandQueue>, size: usize) -> Result<Option<Pooled<M>>> {
        if size == 0 {
            return Ok(None);
        }
        match queue {
            Some(queue) => self.allocate_on(queue, size),
            None => self.traced(size, || self.core().allocate(size, None)),
        }
        .map(Some)
    }

    fn queue(&self) -> Option<&CommandQueue> {
        self.core().allocator.queue()
    }

    fn is_deferred(&self) -> bool {
        self.core().allocator.is_deferred()
    }

    fn max_size(&self) -> Option<usize> {
        self.core().allocator.max_size()
    }

    fn context(&self) -> Context {
        self.core().context.clone()
    }
}

impl<M: Memory> Clone for Pool<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Memory> fmt::Debug for Pool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("allocator", &self.core().allocator)
            .field("options", &self.core().options)
            .field("statistics", &self.statistics())
            .finish()
    }
}
