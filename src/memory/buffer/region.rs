//! The part of a buffer that a handle stands for.

use cl3::memory as cl;
use cl3::types::cl_mem;

use crate::error::Error;
use crate::memory::object::{About, MemObject};

/// The driver's object for a buffer or a part of it.
pub(super) struct Region {
    raw: cl_mem,
    about: About,
    /// Where it begins in the whole, in bytes.
    offset: usize,
    /// Whether it is a part, with a reference of its own.
    is_part: bool,
}

// SAFETY: memory objects may be used from any thread at once (OpenCL 3.0, appendix A.2).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// A part.
    ///
    /// # Safety
    /// `raw` is a valid region of which the caller owns a reference, and the rest is true of it.
    pub(super) unsafe fn adopt(raw: cl_mem, about: About, offset: usize) -> Self {
        Self { raw, about, offset, is_part: true }
    }

    /// The whole, which must outlive it.
    pub(super) fn whole(object: &MemObject) -> Self {
        Self { raw: object.raw(), about: object.about(), offset: 0, is_part: false }
    }

    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    #[inline]
    pub(super) fn raw(&self) -> cl_mem {
        self.raw
    }

    #[inline]
    pub(super) fn about(&self) -> About {
        self.about
    }

    #[inline]
    pub(super) fn offset(&self) -> usize {
        self.offset
    }
}

impl Clone for Region {
    #[inline]
    fn clone(&self) -> Self {
        if self.is_part
            // SAFETY: the object is alive while it is borrowed.
            && let Err(code) = unsafe { cl::retain_mem_object(self.raw) }
        {
            // The driver has nothing to refuse here but a want of memory.
            panic!("{}", Error::from_call("clRetainMemObject", code));
        }
        Self { ..*self }
    }
}

impl Drop for Region {
    #[inline]
    fn drop(&mut self) {
        if self.is_part
            // SAFETY: the reference is ours, and given up once.
            && let Err(code) = unsafe { cl::release_mem_object(self.raw) }
        {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
    }
}
