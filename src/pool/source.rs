//! The interface between a pool and its two sources of held memory: [`Shards`](super::shards::Shards) and
//! [`Slabs`](super::slabs::Slabs).

use std::ops::Range;
use std::sync::Arc;

use super::block::Block;
use super::memory::Memory;
use super::pooled::Pooled;
use super::request::{Request, Reuse};
use crate::error::Result;
use crate::memory::track::AccessTracker;

/// The number of blocks of a shard, or of slabs, that are looked at for a request.
pub(super) const MOST: usize = 8;

/// A source of held memory.
pub(super) trait Source<M: Memory> {
    /// Returns the trackers and bytes of the memory that the next [`take`](Self::take) looks at, so that
    /// the caller can ask the driver about the commands on it.
    fn candidates(&self, request: &Request<'_>) -> Vec<(Arc<AccessTracker>, Range<usize>)>;

    /// Hands out held memory that the request accepts.
    fn take(&self, request: &Request<'_>, reuse: Reuse) -> Result<Option<Pooled<M>>>;

    /// Returns the bytes of the largest block that [`take_largest`](Self::take_largest) returns.
    fn largest(&self) -> Option<usize>;

    /// Removes the largest block that is held as a whole.
    fn take_largest(&self) -> Option<Box<Block<M>>>;

    /// Removes the blocks that are held as a whole and are selected.
    fn take_all(&self, is_selected: &dyn Fn(&Block<M>) -> bool) -> Vec<Box<Block<M>>>;

    /// From now on, no block is held.
    fn stop_holding(&self);
}
