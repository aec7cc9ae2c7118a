//! The blocks of a pool.

use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::core::PoolCore;
use super::memory::Memory;
use crate::error::Result;
use crate::memory::command::AccessedRange;
use crate::memory::track::{Access, AccessTracker};
use crate::queue::{CommandQueue, enqueue_marker};
use crate::queue_state::QueueState;

pub(super) const CALL: &str = "MemoryPool::allocate";

/// Memory from the allocator, as long as a pool has it.
pub(super) struct Block<M: Memory> {
    /// Freed before the reservation of its bytes ends.
    pub memory: M,
    /// The tracker of `memory`.
    pub tracker: Arc<AccessTracker>,
    pub reserved: Reserved<M>,
    pub bytes: usize,
    pub bin: u32,
    /// The queue for which the block was handed out, which a held block does not keep alive.
    pub queue: Option<Weak<QueueState>>,
    /// The queue to which the user has bound the active block: commands on it may use the block without the
    /// pool's knowledge.
    pub bound: Option<CommandQueue>,
    /// True until a new block of the allocator has been handed out.
    pub is_new: bool,
}

/// Bytes of a pool's limit.
pub(super) struct Reserved<M: Memory> {
    pub pool: Arc<PoolCore<M>>,
    pub bytes: usize,
    /// False until the allocator has returned the block.
    pub is_allocated: bool,
    /// The time since when the block is held or being freed, for pools that need it.
    pub since: Option<Instant>,
}

impl<M: Memory> Drop for Reserved<M> {
    fn drop(&mut self) {
        self.pool.unreserve(self);
    }
}

impl<M: Memory> Drop for Block<M> {
    fn drop(&mut self) {
        if self.pool().trace.is_some() {
            self.reserved.since = Some(Instant::now());
        }
    }
}

impl<M: Memory> Block<M> {
    pub fn pool(&self) -> &Arc<PoolCore<M>> {
        &self.reserved.pool
    }

    /// Makes this a block of `size` bytes for `queue`.
    #[inline]
    pub fn activate(&mut self, size: usize, queue: Option<&CommandQueue>) {
        self.memory.shrink(size);
        let is_same = match (&self.queue, queue) {
            (Some(last), Some(queue)) => queue.is(last),
            (last, queue) => last.is_none() && queue.is_none(),
        };
        if !is_same {
            self.queue = queue.map(CommandQueue::downgrade);
        }
    }

    /// Returns the queue to which the block is bound, or else the one for which it was handed out, if there
    /// still are commands or handles of it.
    fn last_queue(&self) -> Option<CommandQueue> {
        self.bound.clone().or_else(|| self.queue.as_ref().and_then(CommandQueue::upgrade))
    }

    /// Returns the address of the block, which no other block has while this one is active.
    pub fn key(&self) -> usize {
        (&raw const *self).addr()
    }

    /// Returns the bytes of the block, as its tracker counts them.
    pub fn range(&self) -> Range<usize> {
        self.memory.in_tracker(&(0..self.bytes))
    }

    /// Frees a block that was held, and returns when its bytes are available to others: drivers keep memory as long
    /// as commands may use it.
    pub fn free_now(self) {
        if self.memory.is_unique()
            && let Err(error) =
                self.tracker.wait_until_idle(CALL).and_then(|()| self.memory.free_without_queue())
        {
            log::warn!("{error}: memory that a pool frees may become available late");
        }
    }

    /// Returns all bytes of the block for a command that may write them.
    pub fn accessed(&self) -> AccessedRange<'_> {
        AccessedRange {
            tracker: &self.tracker,
            context: self.memory.context().raw(),
            range: self.range(),
            access: Access::Write,
        }
    }

    /// Binds the block to `queue`, whose later commands run after those of the queue that it was bound to.
    pub fn bind(&mut self, queue: &CommandQueue) -> Result<()> {
        if let Some(last) = self.last_queue().filter(|last| last != queue) {
            let marker = enqueue_marker(&last)?;
            self.accessed().record(&marker)?;
            queue.order_after(&[marker])?;
        }
        (self.queue, self.bound) = (Some(queue.downgrade()), Some(queue.clone()));
        Ok(())
    }

    /// Waits for the commands of the queue that the block is bound to, and unbinds the block.
    pub fn unbind(&mut self) -> Result<()> {
        if let Some(last) = self.last_queue() {
            last.finish()?;
        }
        (self.queue, self.bound) = (None, None);
        Ok(())
    }
}
