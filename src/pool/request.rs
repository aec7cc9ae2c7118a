//! A request to a pool, and the held memory that it accepts.

use std::ops::Range;
use std::sync::Weak;

use crate::memory::track::AccessTracker;
use crate::queue::CommandQueue;
use crate::queue_state::QueueState;

/// The number of blocks of a shard, or of slabs, that are tried for a request.
pub(in crate::pool) const MAX_CANDIDATES: usize = 8;

/// A request for memory.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// In bytes.
    pub size: usize,
    pub bin: u32,
    /// The bytes of a new block.
    pub new_size: usize,
    /// The bytes of the largest block that is reused.
    pub at_most: usize,
    /// The bin of `at_most`.
    pub last_bin: u32,
    /// The queue whose commands will use the memory, if it is known.
    pub queue: Option<&'a CommandQueue>,
    /// False if blocks are reused without a check of the commands on them.
    pub is_ordered: bool,
}

/// The held memory that may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reuse {
    /// Memory without commands that the queue of the request would have to wait for.
    Ready,
    /// Also memory that was handed out for the same queue before. Other queues still use it, and the queue of
    /// the request has to wait for them.
    Own,
    /// Also memory that was handed out for other queues.
    Any,
}

impl Request<'_> {
    /// Returns whether a block of `bytes` bytes has the right size.
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
                Reuse::Own => last.zip(self.queue).is_none_or(|(last, queue)| queue.is(last)),
                Reuse::Any => true,
            },
            Some(false) | None => false,
        }
    }
}
