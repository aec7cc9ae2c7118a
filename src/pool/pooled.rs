//! Memory of a pool.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use crate::event::Event;
use crate::queue::{CommandQueue, enqueue_marker};

use super::block::Block;
use super::core::PoolCore;
use super::memory::Memory;
use crate::error::Result;
use crate::memory::command::enqueue;
use crate::memory::object::sealed::Handle;
use crate::memory::svm::memory::{Svm, SvmMemory};
use crate::memory::{AnyMemoryObject, Buffer, IntoMemory, Order, SvmAllocation, SvmPointer};

/// Memory of a pool. A drop of this handle returns it to the pool (PyOpenCL's `PooledBuffer` and `PooledSVM`).
///
/// The handle has the requested size, and dereferences to a [`Buffer`] or an [`SvmAllocation`]. Clones and
/// regions of these stay usable when the handle has been dropped: the pool reuses the block when the last
/// of them is gone.
pub struct Pooled<M: Memory>(Active<M>);

/// An active block, which goes back to its pool even if a logger panics in the drop of its handle.
struct Active<M: Memory>(Option<Box<Block<M>>>);

impl<M: Memory> Drop for Active<M> {
    #[inline]
    fn drop(&mut self) {
        let Some(block) = self.0.take() else { return };
        PoolCore::release(block);
    }
}

/// A buffer of a pool.
pub type PooledBuffer = Pooled<Buffer>;

/// Shared virtual memory of a pool.
pub type PooledSvm = Pooled<SvmAllocation>;

impl<M: Memory> Pooled<M> {
    #[inline]
    pub(super) fn new(block: Box<Block<M>>) -> Self {
        Self(Active(Some(block)))
    }

    #[inline]
    pub(super) fn block(&self) -> &Block<M> {
        self.0.0.as_ref().expect("it is there until it is dropped")
    }

    #[inline]
    pub(super) fn block_mut(&mut self) -> &mut Block<M> {
        self.0.0.as_mut().expect("it is there until it is dropped")
    }

    /// Returns the size of the block in bytes, which may be larger than the requested size.
    pub fn block_size(&self) -> usize {
        self.block().bytes
    }

    /// Names the block until it is returned. The name appears in the event of its return
    /// ([`PoolOptions::on_event`](super::PoolOptions::on_event)) and in the report of leaks
    /// ([`PoolOptions::report_leaks`](super::PoolOptions::report_leaks)). A pool that reports neither keeps
    /// no names.
    ///
    /// ```
    /// use clmatrix::memory::MemFlags;
    /// use clmatrix::pool::{DeferredAllocator, MemoryPool, PoolOptions};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// let allocator = DeferredAllocator::new(&context, MemFlags::READ_WRITE)?;
    /// let pool = MemoryPool::with_options(allocator, PoolOptions::new().report_leaks())?;
    /// let weights = pool.allocate(1 << 20)?.named("weights");
    /// # drop(weights);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        if let Some(trace) = &self.block().pool().trace {
            trace.name(self.block().key(), name.into());
        }
        self
    }

    /// Returns the block to the pool; its next uses come after a marker on a queue, after its wait list (PyOpenCL's
    /// `enqueue_release`). Returns the event of the marker.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for a queue or event of another context, CL_INVALID_OPERATION if the block is
    /// mapped, and the driver's errors. The block goes back to the pool in any case.
    pub fn enqueue_release<'a>(self, order: impl Into<Order<'a>>) -> Result<Event> {
        const CALL: &str = "clEnqueueMarkerWithWaitList";
        let accessed = [self.block().accessed()];
        enqueue(CALL, &order.into(), &accessed, |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, and so is the list during the call.
            unsafe { cl3::command_queue::enqueue_marker_with_wait_list(queue, count, events) }
        })
    }

    /// Binds the memory to `queue` (PyOpenCL's `bind_to_queue`): commands that are enqueued on `queue` from now on
    /// run after all commands so far on the queue to which the memory was bound before.
    ///
    /// When the memory is returned to the pool, all commands on `queue` count as uses of it. Memory is first bound to
    /// the queue for which it was allocated; there, only commands that the library knows count.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for a queue of another context, CL_INVALID_OPERATION where it is mapped, and
    /// the driver's errors.
    pub fn bind_to_queue(&mut self, queue: &CommandQueue) -> Result<()> {
        let context = self.block().memory.context().raw();
        queue.check_context("MemoryPool::bind_to_queue", "pool", context)?;
        self.block_mut().bind(queue)
    }

    /// Unbinds the memory from its queue (PyOpenCL's `unbind_from_queue`), and waits for all commands of that queue.
    /// From now on, only the uses that this crate knows count.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn unbind_from_queue(&mut self) -> Result<()> {
        self.block_mut().unbind()
    }
}

impl<M: Memory> Deref for Pooled<M> {
    type Target = M;

    #[inline]
    fn deref(&self) -> &M {
        &self.block().memory
    }
}

impl<M: Memory> Drop for Pooled<M> {
    #[inline]
    fn drop(&mut self) {
        let block = self.block_mut();
        if let Some(queue) = block.bound.take()
            && let Err(error) = enqueue_marker(&queue).and_then(|end| block.accessed().record(&end))
        {
            log::error!("{error}: a pool may use memory again before commands on it have ended");
        }
        if block.pool().tracks_returns {
            record_return(block);
        }
    }
}

#[cold]
fn record_return<M: Memory>(block: &mut Block<M>) {
    block.reserved.since = Some(Instant::now());
    if let Some(trace) = &block.pool().trace {
        trace.report_return(block.key(), block.pool().binning);
    }
}

impl Borrow<Buffer> for PooledBuffer {
    fn borrow(&self) -> &Buffer {
        self
    }
}

impl<'a> IntoMemory for &'a PooledBuffer {
    type Kind = &'a Buffer;

    #[inline]
    fn into_memory(self) -> &'a Buffer {
        self
    }
}

impl<'a> IntoMemory for &'a PooledSvm {
    type Kind = &'a dyn SvmPointer;

    #[inline]
    fn into_memory(self) -> &'a dyn SvmPointer {
        &**self
    }
}

impl AnyMemoryObject for PooledBuffer {
    fn as_handle(&self) -> &dyn Handle {
        &**self
    }
}

impl SvmPointer for PooledSvm {}

impl Svm for PooledSvm {
    fn memory(&self) -> &Arc<SvmMemory> {
        self.block().memory.memory()
    }

    fn usable_size(&self) -> usize {
        self.block().memory.usable_size()
    }
}

impl<M: Memory + fmt::Debug> fmt::Debug for Pooled<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled")
            .field("memory", &**self)
            .field("block_size", &self.block_size())
            .finish()
    }
}

/// Compares the driver's handles, or the addresses of shared virtual memory.
impl<M: Memory + PartialEq> PartialEq for Pooled<M> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<M: Memory + Eq> Eq for Pooled<M> {}

impl<M: Memory + Hash> Hash for Pooled<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
