//! The blocks of a pool, from the allocator and back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::memory::Memory;
use super::shared::Shared;
use super::shelf::Shelved;
use super::split::Place;
use super::stack::Linked;
use crate::memory::track::AccessTracker;
use crate::queue::CommandQueue;

/// Memory from the allocator, as long as the pool has it.
#[derive(Debug)]
pub(super) struct Block<M: Memory> {
    /// Freed before its bytes are reserved no more.
    pub memory: M,
    /// The memory's, at hand for the common case.
    pub tracker: Arc<AccessTracker>,
    pub reserved: Reserved<M>,
    pub bin: u32,
    pub queue: BoundTo,
    /// True if its bytes are such as the allocator has just made, until a pool has told of that.
    pub is_new: bool,
    /// What lies below it on a shelf.
    pub below: Option<Box<Self>>,
}

/// The queue that a block is bound to.
#[derive(Clone, Debug)]
pub(super) enum BoundTo {
    /// The allocator's, if it has one.
    Home,
    /// The queue for which it was allocated.
    Other(CommandQueue),
    /// The queue that the user bound it to: commands there may use it without the pool's knowledge.
    Bound(CommandQueue),
    Nothing,
}

/// Bytes of a pool's limit, or of one of its roots, which has them from there.
#[derive(Debug)]
pub(super) struct Reserved<M: Memory> {
    pub pool: Arc<Shared<M>>,
    pub bytes: usize,
    /// Where they are in a root, if they are.
    pub place: Option<Box<Place>>,
    /// Since when the memory that has them is held, or being freed, for those pools that want to know.
    pub since: Option<Instant>,
}

impl<M: Memory> Drop for Reserved<M> {
    fn drop(&mut self) {
        if self.place.is_none() {
            self.pool.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
            if let Some(began) = self.since {
                self.pool.was_freed(self.bytes, began);
            }
        }
    }
}

impl<M: Memory> Drop for Block<M> {
    fn drop(&mut self) {
        // A region's bytes stay those of its root.
        if self.reserved.place.is_none() && self.pool().insight.is_some() {
            self.reserved.since = Some(Instant::now());
        }
    }
}

impl<M: Memory> Block<M> {
    /// Makes it one of `size` bytes for somebody on a queue.
    #[inline]
    pub fn hand_out(&mut self, size: usize, queue: BoundTo) {
        self.memory.shrink(size);
        self.queue = queue;
    }

    pub fn pool(&self) -> &Arc<Shared<M>> {
        &self.reserved.pool
    }
}

impl<M: Memory> Linked for Box<Block<M>> {
    #[inline]
    fn below(&mut self) -> &mut Option<Self> {
        &mut self.below
    }
}

impl<M: Memory> Shelved for Box<Block<M>> {
    #[inline]
    fn bin(&self) -> u32 {
        self.bin
    }

    #[inline]
    fn size(&self) -> usize {
        self.reserved.bytes
    }

    #[inline]
    fn requested(&self) -> usize {
        self.memory.size()
    }
}
