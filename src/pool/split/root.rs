//! A root, and what is known of its bytes.

use std::sync::Arc;
use std::time::Instant;

use super::RemovedRoot;
use super::ranges::{Free, Note};
use crate::error::Result;
use crate::pool::block::Reserved;
use crate::pool::memory::Memory;
use crate::pool::shared::CALL;

/// Something that is handed out in parts.
#[derive(Debug)]
pub(super) struct Root<W, P> {
    /// Parts that have come back while there were other handles to them.
    pub aside: Vec<P>,
    pub whole: W,
    pub bytes: usize,
    /// Parts that are in use.
    pub active: usize,
    /// Parts of which it is not decided yet whether they will be.
    pub looked_at: usize,
    /// It was to be freed while a part was looked at.
    pub is_unwanted: bool,
    /// For those pools that want to know.
    pub held_since: Option<Instant>,
}

impl<W, P> Root<W, P> {
    /// One of which the first part is looked at.
    pub fn new(whole: W, bytes: usize) -> Self {
        let (aside, is_unwanted, held_since) = (Vec::new(), false, None);
        Self { aside, whole, bytes, active: 0, looked_at: 1, is_unwanted, held_since }
    }

    /// Returns whether it can be freed.
    pub fn is_unused(&self) -> bool {
        self.active == 0 && self.looked_at == 0
    }
}

/// A root that the pool has no more, to be dropped when the lock is released.
#[derive(Debug)]
pub(in crate::pool) struct Removed<W, P, N> {
    root: Root<W, P>,
    _free: Free<N>,
}

impl<W, P, N> Removed<W, P, N> {
    pub(super) fn new(root: Root<W, P>, free: Free<N>) -> Self {
        Self { root, _free: free }
    }

    pub fn bytes(&self) -> usize {
        self.root.bytes
    }
}

/// A block of the allocator's that is a root.
#[derive(Debug)]
pub(in crate::pool) struct Whole<M: Memory> {
    /// Freed before its bytes are reserved no more.
    pub memory: Arc<M>,
    pub reserved: Reserved<M>,
}

impl<M: Memory> Drop for Whole<M> {
    fn drop(&mut self) {
        self.reserved.since = self.reserved.pool.insight.is_some().then(Instant::now);
    }
}

impl<M: Memory> RemovedRoot<M> {
    /// Waits for all that may use it, unless there are other handles to its bytes.
    pub fn wait_until_unused(&self) -> Result<()> {
        let memory = &self.root.whole.memory;
        if !memory.is_sole() {
            return Ok(());
        }
        memory.tracker().wait_until_idle(CALL)
    }
}

impl Note for () {
    fn join(&mut self, (): Self) {}
}
