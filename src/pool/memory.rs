//! The kinds of memory that a pool hands out.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::error::Result;
use crate::mem_context::MemContext;
use crate::memory::svm::memory::Svm;
use crate::memory::track::AccessTracker;
use crate::memory::{Buffer, MemoryObject, SvmAllocation, SvmPointer};

/// Memory that a pool hands out: a [`Buffer`], or an [`SvmAllocation`].
pub trait Memory: sealed::PoolMemory {}

pub(crate) mod sealed {
    use super::*;

    pub trait PoolMemory: Send + Sync + Sized + 'static {
        /// Returns the size in bytes.
        fn size(&self) -> usize;

        /// Restricts this handle to the first `size` bytes.
        fn shrink(&mut self, size: usize);

        /// Returns whether there is no other handle to the memory or to a part of it, and no map.
        fn is_unique(&self) -> bool;

        /// Returns the tracker of the memory.
        fn tracker(&self) -> &Arc<AccessTracker>;

        /// Returns the bytes of `range`, as the tracker counts them.
        fn in_tracker(&self, range: &Range<usize>) -> Range<usize>;

        fn context(&self) -> &Arc<MemContext>;

        /// Makes the drop free the memory at once, instead of in the order of a queue.
        fn free_without_queue(&self) -> Result<()>;
    }
}

/// Returns whether this is the only handle. The uses of other handles happen before the return.
#[inline]
fn is_only_handle<T>(handle: &Arc<T>) -> bool {
    let is_only_handle = Arc::strong_count(handle) == 1;
    // A count alone gives no order.
    fence(Ordering::Acquire);
    is_only_handle
}

impl Memory for Buffer {}

impl sealed::PoolMemory for Buffer {
    fn size(&self) -> usize {
        MemoryObject::size(self)
    }

    #[inline]
    fn shrink(&mut self, size: usize) {
        self.set_size(size);
    }

    #[inline]
    fn is_unique(&self) -> bool {
        is_only_handle(self.reference().object())
    }

    #[inline]
    fn tracker(&self) -> &Arc<AccessTracker> {
        self.reference().object().tracker()
    }

    fn in_tracker(&self, range: &Range<usize>) -> Range<usize> {
        Buffer::in_tracker(self, range)
    }

    fn context(&self) -> &Arc<MemContext> {
        self.reference().object().context()
    }

    fn free_without_queue(&self) -> Result<()> {
        Ok(())
    }
}

impl Memory for SvmAllocation {}

impl sealed::PoolMemory for SvmAllocation {
    fn size(&self) -> usize {
        SvmPointer::size(self)
    }

    #[inline]
    fn shrink(&mut self, size: usize) {
        self.set_size(size);
    }

    #[inline]
    fn is_unique(&self) -> bool {
        is_only_handle(self.memory())
    }

    #[inline]
    fn tracker(&self) -> &Arc<AccessTracker> {
        self.memory().tracker()
    }

    fn in_tracker(&self, range: &Range<usize>) -> Range<usize> {
        range.clone()
    }

    fn context(&self) -> &Arc<MemContext> {
        self.memory().context()
    }

    fn free_without_queue(&self) -> Result<()> {
        self.unbind_from_queue()
    }
}
