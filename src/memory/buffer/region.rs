//! What makes a handle one to a part of a buffer.

use cl3::memory as cl;
use cl3::types::cl_mem;

use crate::error::Error;
use crate::memory::object::About;

/// The driver's object for a part of a buffer, with a reference of its own.
pub(super) struct Region {
    raw: cl_mem,
    about: About,
    /// Where it begins in the whole, in bytes.
    offset: usize,
}

// SAFETY: memory objects may be used from any thread at once (OpenCL 3.0, appendix A.2).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// # Safety
    /// `raw` is a valid region of which the caller owns a reference, and the rest is true of it.
    pub(super) unsafe fn adopt(raw: cl_mem, about: About, offset: usize) -> Self {
        Self { raw, about, offset }
    }

    pub(super) fn raw(&self) -> cl_mem {
        self.raw
    }

    pub(super) fn about(&self) -> About {
        self.about
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }
}

impl Clone for Region {
    fn clone(&self) -> Self {
        // SAFETY: the object is alive while it is borrowed.
        if let Err(code) = unsafe { cl::retain_mem_object(self.raw) } {
            // The driver has nothing to refuse here but a want of memory.
            panic!("{}", Error::from_call("clRetainMemObject", code));
        }
        Self { ..*self }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and given up once.
        if let Err(code) = unsafe { cl::release_mem_object(self.raw) } {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
    }
}
