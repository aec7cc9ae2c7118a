//! What a pool needs to know of the memory that it hands out.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::error::Result;
use crate::memory::context::MemContext;
use crate::memory::uses::Uses;
use crate::memory::{Buffer, MemoryObject, SvmAllocation, SvmPointer};

/// Memory that a pool can hand out: a [`Buffer`], or an [`SvmAllocation`].
pub trait Memory: sealed::Block {}

pub(crate) mod sealed {
    use super::*;

    pub trait Block: Send + Sync + Sized + 'static {
        /// Its size in bytes.
        fn size(&self) -> usize;

        /// Makes handles say that it is smaller than it is.
        fn shrink(&mut self, size: usize);

        /// Whether nobody else has a handle to it or to a part of it, or a map.
        fn is_sole(&self) -> bool;

        /// Which uses of its bytes are known.
        fn uses(&self) -> &Arc<Uses>;

        /// Which of the bytes that these count are its own, all `size` of them.
        fn in_uses(&self, size: usize) -> Range<usize>;

        fn context(&self) -> &Arc<MemContext>;

        /// From now on, it is freed at once when it is dropped, not when it is a queue's turn.
        fn be_freed_at_once(&self) -> Result<()>;
    }
}

/// Whether this is the only handle. What others did with theirs comes before what follows.
#[inline]
fn is_only<T>(handle: &Arc<T>) -> bool {
    let is_only = Arc::strong_count(handle) == 1;
    // Counting says nothing about order by itself.
    fence(Ordering::Acquire);
    is_only
}

impl Memory for Buffer {}

impl sealed::Block for Buffer {
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
    fn uses(&self) -> &Arc<Uses> {
        self.held().object().uses()
    }

    fn in_uses(&self, size: usize) -> Range<usize> {
        self.held().object().in_uses(&(self.offset()..self.offset() + size))
    }

    fn context(&self) -> &Arc<MemContext> {
        self.held().object().context()
    }

    fn be_freed_at_once(&self) -> Result<()> {
        Ok(())
    }
}

impl Memory for SvmAllocation {}

impl sealed::Block for SvmAllocation {
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
    fn uses(&self) -> &Arc<Uses> {
        self.shared().uses()
    }

    fn in_uses(&self, size: usize) -> Range<usize> {
        0..size
    }

    fn context(&self) -> &Arc<MemContext> {
        self.shared().context()
    }

    fn be_freed_at_once(&self) -> Result<()> {
        self.unbind_from_queue()
    }
}
