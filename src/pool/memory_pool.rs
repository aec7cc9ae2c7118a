//! Pools.

use std::fmt;
use std::sync::Arc;

use crate::queue::CommandQueue;
use cl3::error_codes::{CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT};
use cl3::types::cl_context;

use super::allocator::Allocator;
use super::memory::Memory;
use super::options::PoolOptions;
use super::order::Target;
use super::pooled::Pooled;
use super::shared::Shared;
use super::statistics::Statistics;
use crate::error::{Error, Result};
use crate::memory::{Buffer, SvmAllocation};

/// A pool of memory; see the [module documentation](super).
///
/// Clones are the same pool. When the last is dropped, what it holds is freed, and what is active when it
/// is dropped.
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
///     enqueue_fill(&queue, &buffer, &7_u8, .., [])?;
/// }
/// queue.finish()?;
/// assert!(pool.active_blocks() == 0 && pool.managed_bytes() >= 1023);
/// # Ok(())
/// # }
/// ```
pub type MemoryPool = Pool<Buffer>;

/// A pool of shared virtual memory (PyOpenCL's `SVMPool`).
pub type SvmPool = Pool<SvmAllocation>;

/// What users have of a pool: blocks that are held keep the pool, until the last of these goes.
#[derive(Debug)]
struct Handle<M: Memory>(Arc<Shared<M>>);

impl<M: Memory> Drop for Handle<M> {
    fn drop(&mut self) {
        self.0.stop_holding();
        if let Some(insight) = &self.0.insight {
            insight.report_leaks();
        }
    }
}

impl<M: Memory> Pool<M> {
    /// A pool as PyOpenCL's, but ordered across queues.
    ///
    /// A deferred allocator draws a warning: the pool cannot know when memory has run out.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT where the allocator's queue is of another context, and CL_INVALID_COMMAND_QUEUE
    /// where it may reorder its commands.
    pub fn new(allocator: impl Allocator<Memory = M> + 'static) -> Result<Self> {
        Self::with_options(allocator, PoolOptions::default())
    }

    /// A pool that is as `options` say.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for more than 26 leading bits, and where shared virtual memory is to be split; those of [`new`](Self::new).
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
        let home = allocator.queue().cloned();
        if let Some(queue) = &home {
            check_context("MemoryPool::new", queue, &allocator)?;
        }
        if home.as_ref().is_some_and(|queue| !queue.is_in_order()) {
            let why = "the allocator's queue is out-of-order; return `None` from `queue()` for such a queue";
            return Err(Error::refused("MemoryPool::new", CL_INVALID_COMMAND_QUEUE, why));
        }
        let shared = Shared::new(Box::new(allocator), home, options)?;
        Ok(Self(Arc::new(Handle(Arc::new(shared)))))
    }

    fn shared(&self) -> &Arc<Shared<M>> {
        &self.0.0
    }

    pub(super) fn allocator(&self) -> &dyn Allocator<Memory = M> {
        &*self.shared().allocator
    }

    /// `size` bytes of undefined content, for the allocator's queue, or for any if it has none.
    ///
    /// Where memory has run out, the pool frees what it holds, the largest blocks first, and asks its
    /// allocator again after each. It waits for the commands that use a block that it frees, and for other
    /// threads that free blocks or look at whether some can be used: what lets these run must not come
    /// after this call.
    ///
    /// # Errors
    /// CL_INVALID_BUFFER_SIZE for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every device; what class
    /// [`OutOfMemory`](crate::Class::OutOfMemory) is where memory has run out although the pool has freed
    /// all that it held; and what the allocator and the driver answer.
    #[inline]
    pub fn allocate(&self, size: usize) -> Result<Pooled<M>> {
        let shared = self.shared();
        shared.watched(size, || shared.allocate(size))
    }

    /// `size` bytes of undefined content, for `queue`: what is enqueued there comes after what the block
    /// was used for before.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for a queue of another context, and those of [`allocate`](Self::allocate).
    pub fn allocate_on(&self, queue: &CommandQueue, size: usize) -> Result<Pooled<M>> {
        let shared = self.shared();
        if shared.home.as_ref() == Some(queue) {
            return self.allocate(size);
        }
        check_context("MemoryPool::allocate_on", queue, &*shared.allocator)?;
        let target = Target::Other(queue.clone());
        shared.watched(size, || shared.allocate_for(size, &target))
    }

    /// The number of blocks that wait to be used again.
    pub fn held_blocks(&self) -> usize {
        self.statistics().held_blocks
    }

    /// The number of blocks in use.
    pub fn active_blocks(&self) -> usize {
        self.statistics().active_blocks
    }

    /// The size of all blocks in bytes, held and active.
    pub fn managed_bytes(&self) -> usize {
        self.statistics().managed_bytes
    }

    /// How many bytes were asked for of the blocks in use.
    pub fn active_bytes(&self) -> usize {
        self.statistics().active_bytes
    }

    /// All counts, at one moment.
    pub fn statistics(&self) -> Statistics {
        self.shared().statistics()
    }

    /// Frees all that is held; shared virtual memory that is bound to a queue, when it is its turn there.
    pub fn free_held(&self) {
        self.shared().free_held();
    }

    /// Frees all that is held, and from now on what comes back, at once.
    pub fn stop_holding(&self) {
        self.shared().stop_holding();
    }

    /// Frees held blocks, the largest first, until the pool has no more than `bytes` from its allocator, or
    /// holds nothing.
    pub fn trim_to(&self, bytes: usize) {
        self.shared().trim_to(bytes);
    }

    /// Frees what has been held for longer than [`PoolOptions::idle_age`].
    pub fn trim_idle(&self) {
        self.shared().trim_idle();
    }

    /// The number of the bin of `size` bytes (PyOpenCL's `bin_number`).
    pub fn bin_number(&self, size: usize) -> u32 {
        self.shared().binning.bin(size)
    }

    /// The size in bytes of the blocks of a bin (PyOpenCL's `alloc_size`).
    pub fn alloc_size(&self, bin: u32) -> usize {
        self.shared().binning.size(bin)
    }
}

/// Allocates from the pool. All else is as its own allocator says.
impl<M: Memory> Allocator for Pool<M> {
    type Memory = Pooled<M>;

    fn allocate(&self, size: usize) -> Result<Option<Pooled<M>>> {
        if size == 0 { Ok(None) } else { Pool::allocate(self, size).map(Some) }
    }

    fn queue(&self) -> Option<&CommandQueue> {
        self.allocator().queue()
    }

    fn is_deferred(&self) -> bool {
        self.allocator().is_deferred()
    }

    fn max_size(&self) -> Option<usize> {
        self.allocator().max_size()
    }

    fn context_raw(&self) -> cl_context {
        self.allocator().context_raw()
    }
}

/// Refuses a queue of another context than the allocator's.
fn check_context<M>(
    call: &'static str,
    queue: &CommandQueue,
    allocator: &dyn Allocator<Memory = M>,
) -> Result<()> {
    if queue.context_raw() == allocator.context_raw() {
        return Ok(());
    }
    let why = "the queue belongs to another context than the allocator";
    Err(Error::refused(call, CL_INVALID_CONTEXT, why))
}

impl<M: Memory> Clone for Pool<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Memory> fmt::Debug for Pool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("allocator", &self.shared().allocator)
            .field("options", &self.shared().options)
            .field("statistics", &self.statistics())
            .finish()
    }
}
