//! What a pool hands out.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::Instant;

use crate::event::Event;
use crate::queue::CommandQueue;

use super::block::{Block, BoundTo};
use super::memory::Memory;
use super::shared::Shared;
use super::shelf;
use super::split;
use super::thread_number::thread_number;
use crate::error::{Error, Result};
use crate::memory::command::enqueue;
use crate::memory::object::sealed::Handle;
use crate::memory::svm::memory::SvmMemory;
use crate::memory::svm::sealed::Svm;
use crate::memory::{
    AnyMemoryObject, Buffer, IntoMemory, RecordedUse, SvmAllocation, SvmPointer, WaitList,
};
use cl3::error_codes::CL_INVALID_CONTEXT;

/// Memory of a pool, which goes back to it when this is dropped (PyOpenCL's `PooledBuffer` and
/// `PooledSVM`).
///
/// It has the size that was asked for, and is usable as what it dereferences to is. Clones and regions of
/// that are, too, when this has been dropped: the pool uses the block again when the last of them is
/// gone.
pub struct Pooled<M: Memory>(Option<Box<Block<M>>>);

/// A buffer of a pool.
pub type PooledBuffer = Pooled<Buffer>;

/// Shared virtual memory of a pool.
pub type PooledSvm = Pooled<SvmAllocation>;

impl<M: Memory> Pooled<M> {
    #[inline]
    pub(super) fn new(block: Box<Block<M>>) -> Self {
        Self(Some(block))
    }

    #[inline]
    pub(super) fn block(&self) -> &Block<M> {
        self.0.as_ref().expect("it is there until it is dropped")
    }

    fn block_mut(&mut self) -> &mut Block<M> {
        self.0.as_mut().expect("it is there until it is dropped")
    }

    /// The size of the block in bytes, which may be larger than what was asked for.
    pub fn block_size(&self) -> usize {
        self.block().reserved.bytes
    }

    /// Gives it back to the pool.
    pub fn release(self) {}

    /// Gives it back to the pool: what uses it next comes after `wait_for`, on `queue` and after what this
    /// crate has enqueued on it (PyOpenCL's `enqueue_release`). The event says when that is.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for a queue or event of another context, CL_INVALID_OPERATION where it is
    /// mapped, and the driver's errors. It goes back to the pool all the same.
    pub fn enqueue_release<'a>(
        self,
        queue: &CommandQueue,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<Event> {
        const CALL: &str = "clEnqueueMarkerWithWaitList";
        let bytes = [self.block().bytes()];
        enqueue(CALL, queue, &bytes, &wait_for.into(), |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, and so is the list during the call.
            unsafe { cl3::command_queue::enqueue_marker_with_wait_list(queue, count, events) }
        })
    }

    /// Refuses a queue of another context.
    fn check_queue(&self, queue: &CommandQueue) -> Result<()> {
        if queue.context_raw() == self.block().memory.context().raw() {
            return Ok(());
        }
        let why = "the queue belongs to another context than the memory";
        Err(Error::refused("MemoryPool::bind_to_queue", CL_INVALID_CONTEXT, why))
    }

    /// Binds the memory to `queue` (PyOpenCL's `bind_to_queue`): commands that the queue gets from now
    /// on run after those that the queue it was bound to has got so far. When the memory goes back to
    /// the pool, all commands of the queue count as uses of it. At first, it is bound to the queue for
    /// which it was allocated; only the commands that the library knows count there.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for a queue of another context, CL_INVALID_OPERATION where it is mapped, and
    /// the driver's errors.
    pub fn bind_to_queue(&mut self, queue: &CommandQueue) -> Result<()> {
        self.check_queue(queue)?;
        self.block_mut().bind(queue)
    }

    /// From now on, it is bound to no queue (PyOpenCL's `unbind_from_queue`): only the uses that this crate
    /// knows of are waited for. Waits for all that the queue that it was bound to has been given.
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
        let Some(block) = self.0.take() else { return };
        if let BoundTo::Bound(queue) = &block.queue
            && let Err(error) = RecordedUse::Queue(queue).record(&block.bytes())
        {
            log::error!("{error}: a pool may use memory again before commands on it have ended");
        }
        let back = Back(Some(block));
        if back.0.as_ref().is_some_and(|block| block.pool().looks_at_what_comes_back) {
            back.look();
        }
    }
}

/// A block that goes back when this is dropped, also where what looks at it before unwinds.
struct Back<M: Memory>(Option<Box<Block<M>>>);

impl<M: Memory> Back<M> {
    #[cold]
    fn look(mut self) {
        let Some(block) = &mut self.0 else { return };
        block.reserved.since = Some(Instant::now());
        if let Some(insight) = &block.pool().insight {
            insight.comes_back(block);
        }
    }
}

impl<M: Memory> Drop for Back<M> {
    #[inline]
    fn drop(&mut self) {
        let Some(block) = self.0.take() else { return };
        if block.reserved.place.is_some() {
            return split::give_back(block);
        }
        let pool: *const Shared<M> = Arc::as_ptr(block.pool());
        // SAFETY: the block keeps the pool. Once the block is on the shelf, others can free the pool, when
        // they have had the shelf's lock: nothing but that is touched any more.
        let shelf = unsafe { (*pool).shelves.of(thread_number()) };
        if let Some(block) = shelf::give_back(shelf, block) {
            free(block);
        }
    }
}

/// By itself, so that giving back is short.
#[cold]
fn free<M: Memory>(block: Box<Block<M>>) {
    drop(block);
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

    fn window(&self) -> Range<usize> {
        self.block().memory.window()
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

/// By the driver's handle, or where the memory is.
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

impl<M: Memory> Block<M> {
    /// The queue that it is bound to.
    fn bound(&self) -> Option<&CommandQueue> {
        match &self.queue {
            BoundTo::Home => self.pool().home.as_ref(),
            BoundTo::Other(bound) | BoundTo::Bound(bound) => Some(bound),
            BoundTo::Nothing => None,
        }
    }

    fn bind(&mut self, queue: &CommandQueue) -> Result<()> {
        if let Some(bound) = self.bound().filter(|bound| *bound != queue) {
            let marker = bound.enqueue_marker([])?;
            RecordedUse::Event(&marker).record(&self.bytes())?;
            queue.order_after(&[marker])?;
        }
        self.queue = BoundTo::Bound(queue.clone());
        Ok(())
    }

    fn unbind(&mut self) -> Result<()> {
        if let Some(bound) = self.bound() {
            bound.finish()?;
        }
        self.queue = BoundTo::Nothing;
        Ok(())
    }
}
