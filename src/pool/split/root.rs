//! A root, and what is taken of one.

use std::sync::Arc;
use std::time::Instant;

use super::ranges::{Free, Note, Place};
use crate::error::Result;
use crate::memory::uses::KnownQueue;
use crate::pool::block::{Block, Reserved};
use crate::pool::memory::Memory;
use crate::pool::shared::CALL;

/// A block that is handed out in parts.
#[derive(Debug)]
pub(super) struct Root<M: Memory> {
    /// Parts that have come back while there were other handles to them.
    pub aside: Vec<Box<Block<M>>>,
    /// Freed before its bytes are reserved no more.
    pub memory: Arc<M>,
    pub reserved: Reserved<M>,
    /// Parts that are in use.
    pub active: usize,
    /// Parts of which it is not decided yet whether they will be.
    pub looked_at: usize,
    /// It was to be freed while a part was looked at.
    pub is_unwanted: bool,
    /// For those pools that want to know.
    pub held_since: Option<Instant>,
}

impl<M: Memory> Root<M> {
    /// One that nobody uses yet.
    pub fn new(memory: M, reserved: Reserved<M>) -> Self {
        Self {
            aside: Vec::new(),
            memory: Arc::new(memory),
            reserved,
            active: 0,
            looked_at: 0,
            is_unwanted: false,
            held_since: None,
        }
    }

    /// Whether it can be freed.
    pub fn is_unused(&self) -> bool {
        self.active == 0 && self.looked_at == 0
    }
}

/// A root that the pool has no more, to be dropped when the lock is released.
#[derive(Debug)]
pub(in crate::pool) struct Removed<M: Memory> {
    root: Root<M>,
    free: Free<Queues>,
}

impl<M: Memory> Drop for Removed<M> {
    fn drop(&mut self) {
        let reserved = &mut self.root.reserved;
        reserved.freeing = reserved.pool.insight.is_some().then(Instant::now);
    }
}

impl<M: Memory> Removed<M> {
    pub(super) fn new(root: Root<M>, free: Free<Queues>) -> Self {
        Self { root, free }
    }

    pub fn bytes(&self) -> usize {
        self.root.reserved.bytes
    }

    /// Waits for all that may use it, unless there are other handles to its bytes.
    pub fn wait_until_unused(&self) -> Result<()> {
        if !self.root.memory.is_sole() {
            return Ok(());
        }
        let mut queues = Queues::new();
        self.free.values().for_each(|(_, more)| queues.join(more.clone()));
        queues.iter().try_for_each(|queue| queue.finish())?;
        self.root.memory.uses().wait_until_idle(CALL)
    }
}

/// The queues that bytes were bound to since they were new: what these have been given may use them.
pub(super) type Queues = Vec<Arc<KnownQueue>>;

impl Note for Queues {
    fn join(&mut self, other: Self) {
        for queue in other {
            if !self.iter().any(|known| Arc::ptr_eq(known, &queue)) {
                self.push(queue);
            }
        }
    }
}

/// Bytes that were free.
#[derive(Debug)]
pub(super) struct Taken<M: Memory> {
    pub place: Place,
    pub queues: Queues,
    /// The root's.
    pub memory: Arc<M>,
    /// Whether the root is.
    pub is_new: bool,
}
