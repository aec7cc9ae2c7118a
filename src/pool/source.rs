//! The interface between a pool and its two sources of held memory, [`Shards`](super::shards::Shards) and
//! [`Slabs`](super::slabs::Slabs): a request, and the memory that it accepts.

use std::ops::Range;
use std::sync::{Arc, Weak};

use super::block::{Block, BlockOwner};
use crate::error::Result;
use crate::memory::track::AccessTracker;
use crate::queue::CommandQueue;
use crate::queue_state::QueueState;

/// The number of blocks of a shard, or of slabs, that are looked at for a request.
pub(super) const MAX_CANDIDATES: usize = 8;

/// A source of held memory.
pub(super) trait Source<P: BlockOwner> {
    /// Returns the trackers and bytes of the memory that the next [`take`](Self::take) looks at, so that
    /// the caller can ask the driver about the commands on it.
    fn candidates(&self, request: &Request<'_>) -> Vec<(Arc<AccessTracker>, Range<usize>)>;

    /// Activates held memory that the request accepts.
    fn take(&self, request: &Request<'_>, reuse: Reuse) -> Result<Option<Box<Block<P>>>>;

    /// Returns the bytes of the largest block that [`take_largest`](Self::take_largest) returns.
    fn largest(&self) -> Option<usize>;

    /// Removes the largest block that is held as a whole.
    fn take_largest(&self) -> Option<Box<Block<P>>>;

    /// Removes the blocks that are held as a whole and are selected.
    fn take_all(&self, is_selected: &dyn Fn(&Block<P>) -> bool) -> Vec<Box<Block<P>>>;

    /// From now on, no block is held.
    fn stop_holding(&self);
}

/// A request for memory.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// Bytes.
    pub size: usize,
    pub bin: u32,
    /// Bytes of a new block.
    pub new_size: usize,
    /// Bytes of the largest block that is reused.
    pub at_most: usize,
    /// The bin of `at_most`.
    pub last_bin: u32,
    /// The queue whose commands will use the memory, if it is known.
    pub queue: Option<&'a CommandQueue>,
    /// False if blocks are reused without a look at the commands on them.
    pub is_ordered: bool,
}

/// The held memory that may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reuse {
    /// Memory without commands that the queue of the request would have to wait for.
    Ready,
    /// Also memory that was handed out for the same queue before, and parts of slabs. Other queues still
    /// use it, and the queue of the request has to wait for them.
    Own,
    /// Also memory that was handed out for other queues.
    Any,
}

impl Request<'_> {
    /// Returns whether a block of so many bytes has the right size.
    pub fn fits(&self, bytes: usize) -> bool {
        (self.size..=self.at_most).contains(&bytes)
    }

    /// Returns whether these bytes, which were handed out for the queue `last`, may be reused. Does not
    /// call the driver.
    pub fn accepts(
        &self,
        reuse: Reuse,
        tracker: &AccessTracker,
        range: &Range<usize>,
        last: Option<&Weak<QueueState>>,
    ) -> bool {
        if !self.is_ordered {
            return true;
        }
        match tracker.is_free_for(self.queue, range) {
            Some(true) => true,
            Some(false) if self.queue.is_some() => match reuse {
                Reuse::Ready => false,
                Reuse::Own => match (last, self.queue) {
                    (Some(last), Some(queue)) => queue.is(last),
                    _ => true,
                },
                Reuse::Any => true,
            },
            Some(false) | None => false,
        }
    }
}
