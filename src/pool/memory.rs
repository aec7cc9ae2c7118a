//! What a pool needs to know of the memory that it hands out.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use cl3::error_codes::CL_INVALID_OPERATION;

use crate::error::{Error, Result};
use crate::memory::context::MemContext;
use crate::memory::track::AccessTracker;
use crate::memory::{Buffer, MemoryObject, SvmAllocation, SvmPointer};

/// Memory that a pool can hand out: a [`Buffer`], or an [`SvmAllocation`].
pub trait Memory: sealed::Block {}

pub(crate) mod sealed {
    use super::*;

    pub trait Block: Send + Sync + Sized + 'static {
        /// True if it can be handed out in parts.
        const HAS_PARTS: bool;

        /// True if the driver keeps it until the commands on it have ended, whoever enqueued them.
        const IS_KEPT_BY_COMMANDS: bool;

        /// Its size in bytes.
        fn size(&self) -> usize;

        /// Makes handles say that it is smaller than it is.
        fn shrink(&mut self, size: usize);

        /// Returns whether nobody else has a handle to it or to a part of it, or a map.
        fn is_sole(&self) -> bool;

        /// Which uses of its bytes are known.
        fn tracker(&self) -> &Arc<AccessTracker>;

        /// Which of the bytes that these count are its own, all `size` of them.
        fn in_tracker(&self, size: usize) -> Range<usize>;

        fn context(&self) -> &Arc<MemContext>;

        /// From now on, it is freed at once when it is dropped, not when it is a queue's turn.
        fn be_freed_at_once(&self) -> Result<()>;

        /// At multiples of how many bytes a part of it may begin.
        fn alignment_of_parts(&self) -> usize;

        /// A handle to `size` bytes of it, which may be used by itself.
        fn part(&self, start: usize, size: usize) -> Result<Self>;

        /// Returns whether nobody else has a handle to this part, or to a part of it, or a map.
        fn is_sole_part(&self) -> bool;
    }
}

/// Returns whether this is the only handle. What others did with theirs comes before what follows.
#[inline]
fn is_only<T>(handle: &Arc<T>) -> bool {
    let is_only = Arc::strong_count(handle) == 1;
    // Counting says nothing about order by itself.
    fence(Ordering::Acquire);
    is_only
}

impl Memory for Buffer {}

impl sealed::Block for Buffer {
    const HAS_PARTS: bool = true;
    const IS_KEPT_BY_COMMANDS: bool = true;

    fn size(&self) -> usize {
        MemoryObject::size(self)
    }

    #[inline]
    fn shrink(&mut self, size: usize) {
        self.set_size(size);
    }

    #[inline]
    fn is_sole(&self) -> bool {
        is_only(self.held().object())
    }

    #[inline]
    fn tracker(&self) -> &Arc<AccessTracker> {
        self.held().object().tracker()
    }

    fn in_tracker(&self, size: usize) -> Range<usize> {
        self.held().object().in_tracker(&(self.offset()..self.offset() + size))
    }

    fn context(&self) -> &Arc<MemContext> {
        self.held().object().context()
    }

    fn be_freed_at_once(&self) -> Result<()> {
        Ok(())
    }

    fn alignment_of_parts(&self) -> usize {
        /// Of `long16` and `double16`: any type can begin there.
        const LARGEST_TYPE: usize = 128;
        // One that all devices can use. They are powers of two.
        self.context().base_alignments().max().unwrap_or(1).max(LARGEST_TYPE)
    }

    fn part(&self, start: usize, size: usize) -> Result<Self> {
        self.lease(start, size)
    }

    fn is_sole_part(&self) -> bool {
        self.held().is_sole_lease()
    }
}

impl Memory for SvmAllocation {}

impl sealed::Block for SvmAllocation {
    const HAS_PARTS: bool = false;
    const IS_KEPT_BY_COMMANDS: bool = false;

    fn size(&self) -> usize {
        SvmPointer::size(self)
    }

    #[inline]
    fn shrink(&mut self, size: usize) {
        self.set_size(size);
    }

    #[inline]
    fn is_sole(&self) -> bool {
        is_only(self.shared())
    }

    #[inline]
    fn tracker(&self) -> &Arc<AccessTracker> {
        self.shared().tracker()
    }

    fn in_tracker(&self, size: usize) -> Range<usize> {
        0..size
    }

    fn context(&self) -> &Arc<MemContext> {
        self.shared().context()
    }

    fn be_freed_at_once(&self) -> Result<()> {
        self.unbind_from_queue()
    }

    fn alignment_of_parts(&self) -> usize {
        1
    }

    fn part(&self, _start: usize, _size: usize) -> Result<Self> {
        let why = "shared virtual memory cannot be split";
        Err(Error::refused("clSVMAlloc", CL_INVALID_OPERATION, why))
    }

    fn is_sole_part(&self) -> bool {
        self.is_sole()
    }
}
