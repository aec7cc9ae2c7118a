//! Shared virtual memory, and its end.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::calls;
use super::flags::SvmFlags;
use super::free;
use crate::error::{Result, in_call};
use crate::live::{Live, OBJECTS};
use crate::mem_context::MemContext;
use crate::memory::command::AccessedRange;
use crate::memory::range::{check_not_empty, checked_elements, checked_range, checked_span};
use crate::memory::track::{Access, AccessTracker};
use crate::queue::CommandQueue;
use crate::wait_list::WaitList;

/// Memory that host and device share. It is freed once its last handle is dropped and all known commands on it have
/// ended; if the end of a command is unknown, it is never freed.
pub struct SvmMemory {
    /// Null for 0 bytes.
    pointer: *mut c_void,
    /// In bytes.
    size: usize,
    flags: SvmFlags,
    context: Arc<MemContext>,
    tracker: Arc<AccessTracker>,
    /// An in-order queue on which the memory is freed.
    queue: Mutex<Option<CommandQueue>>,
    /// `None` when it has been freed. Only code that takes it out drops it: as long as commands may use
    /// the memory, no unwinding drops it.
    origin: ManuallyDrop<Option<Origin>>,
    _live: Live,
}

/// The origin of memory.
pub(super) enum Origin {
    /// From `clSVMAlloc`.
    Driver,
    /// The host's own, owned by this.
    Host(Box<dyn Any + Send>),
}

// SAFETY: the pointer is only handed out, `queue` is behind a lock, and `origin` is only reached
// through exclusive access; all else is Send.
unsafe impl Send for SvmMemory {}
// SAFETY: as above.
unsafe impl Sync for SvmMemory {}

impl SvmMemory {
    /// # Safety
    /// `size` bytes at `pointer` can be used according to `flags`, by the context's devices, too, and
    /// belong to `origin`. It is null if they are none.
    pub(super) unsafe fn from_raw_owned(
        pointer: *mut c_void,
        size: usize,
        flags: SvmFlags,
        context: Arc<MemContext>,
        origin: Origin,
    ) -> Self {
        let (tracker, queue) = (AccessTracker::new(), Mutex::new(None));
        let origin = ManuallyDrop::new(Some(origin));
        Self { pointer, size, flags, context, tracker, queue, origin, _live: Live::new(&OBJECTS) }
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn flags(&self) -> SvmFlags {
        self.flags
    }

    pub(crate) fn context(&self) -> &Arc<MemContext> {
        &self.context
    }

    pub(crate) fn tracker(&self) -> &Arc<AccessTracker> {
        &self.tracker
    }

    /// Returns the queue on which it is freed.
    pub(super) fn queue(&self) -> MutexGuard<'_, Option<CommandQueue>> {
        self.queue.lock()
    }

    /// Returns the address of byte `offset`, which is within the memory.
    pub(crate) fn at(&self, offset: usize) -> *mut c_void {
        self.pointer.wrapping_byte_add(offset)
    }

    /// Returns bytes of it for a command.
    pub(crate) fn accessed(&self, range: Range<usize>, access: Access) -> AccessedRange<'_> {
        AccessedRange { tracker: &self.tracker, context: self.context.raw(), range, access }
    }

    /// Returns whether it has not been freed.
    pub(super) fn is_allocated(&self) -> bool {
        self.origin.is_some()
    }

    /// Returns whether `clSVMAlloc` allocated it.
    pub(super) fn is_from_driver(&self) -> bool {
        matches!(*self.origin, Some(Origin::Driver))
    }

    /// Takes the origin: the memory has been freed, is about to be, or is returned to the caller.
    pub(super) fn end(&mut self) -> Option<Origin> {
        self.origin.take()
    }

    /// Frees it after its uses: on its queue, or at once.
    fn free(&mut self) -> Result<()> {
        let bound = self.queue().take();
        if let Some(queue) = bound {
            let freed = free::enqueue_after_uses(&queue, self, &WaitList::default());
            if !self.is_allocated() {
                return freed.map(drop);
            }
            // The memory must stay where an unmap has failed, which the following finds, too.
        }
        self.free_now()
    }

    fn free_now(&mut self) -> Result<()> {
        const CALL: &str = "clSVMFree";
        self.tracker.wait_until_idle(CALL)?;
        match self.end() {
            Some(Origin::Driver) => {
                // SAFETY: it comes from `clSVMAlloc` in this context, no handle to it is left, and
                // the commands on it have ended.
                unsafe { calls::free(self.context.raw(), self.pointer) }.map_err(in_call(CALL))
            }
            Some(Origin::Host(_)) | None => Ok(()),
        }
    }
}

impl Drop for SvmMemory {
    fn drop(&mut self) {
        if self.size == 0 {
            // No command can use it.
            self.end();
        }
        if self.is_allocated()
            && let Err(error) = self.free()
        {
            log::error!("{error}: {} bytes of shared virtual memory are never freed", self.size);
        }
    }
}

impl fmt::Debug for SvmMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SvmMemory")
            .field("pointer", &self.pointer)
            .field("size", &self.size)
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}

/// A handle to shared virtual memory.
pub trait Svm {
    /// Returns the memory, which handles share.
    fn memory(&self) -> &Arc<SvmMemory>;

    /// Returns the number of bytes, from the first on, that this handle covers.
    fn usable_size(&self) -> usize {
        self.memory().size()
    }
}

/// The name of shared virtual memory in errors.
const WHAT: &str = "shared allocation";

/// Returns the bytes `range` of `svm` with its ends filled in, checked.
pub(super) fn bytes(
    call: &'static str,
    svm: &(impl Svm + ?Sized),
    range: impl RangeBounds<usize>,
) -> Result<Range<usize>> {
    checked_range(call, WHAT, svm.usable_size(), range)
}

/// Returns the `size` bytes of `svm` from `offset` on, at least one.
pub(super) fn span(
    call: &'static str,
    svm: &(impl Svm + ?Sized),
    offset: usize,
    size: usize,
) -> Result<Range<usize>> {
    let range = checked_span(call, WHAT, svm.usable_size(), offset, size)?;
    check_not_empty(call, &range).map(|()| range)
}

/// Returns the bytes of the elements `range` of `svm`, at least one.
pub(super) fn elements<T>(
    call: &'static str,
    svm: &impl Svm,
    range: impl RangeBounds<usize>,
) -> Result<Range<usize>> {
    checked_elements::<T>(call, WHAT, svm.usable_size(), range)
}

/// Returns all bytes of `svm` for a command.
pub(crate) fn all_bytes(svm: &(impl Svm + ?Sized), access: Access) -> AccessedRange<'_> {
    svm.memory().accessed(0..svm.usable_size(), access)
}
