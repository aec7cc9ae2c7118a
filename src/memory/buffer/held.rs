//! The driver's objects behind a handle to a buffer.

use std::sync::Arc;

use cl3::memory as cl;
use cl3::types::cl_mem;

use crate::error::Error;
use crate::memory::object::MemObject;

/// What a handle to a buffer, or a map of it, keeps alive: the whole buffer, and the driver's object
/// for the part, where it is one of a part.
#[derive(Debug)]
pub struct Held {
    /// The whole's, or the part's.
    raw: cl_mem,
    /// Whether it is a part's, with a reference of its own.
    is_part: bool,
    object: Arc<MemObject>,
}

// SAFETY: memory objects may be used from any thread at once (OpenCL 3.0, appendix A.2).
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    pub(super) fn whole(object: Arc<MemObject>) -> Self {
        Self { raw: object.raw(), is_part: false, object }
    }

    /// # Safety
    /// `raw` is a valid region of the object, of which the caller owns a reference.
    pub(super) unsafe fn part(raw: cl_mem, object: Arc<MemObject>) -> Self {
        Self { raw, is_part: true, object }
    }

    #[inline]
    pub(crate) fn raw(&self) -> cl_mem {
        self.raw
    }

    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    /// The whole buffer.
    #[inline]
    pub(crate) fn object(&self) -> &Arc<MemObject> {
        &self.object
    }
}

impl Clone for Held {
    #[inline]
    fn clone(&self) -> Self {
        if self.is_part {
            self.retain();
        }
        Self { object: Arc::clone(&self.object), ..*self }
    }
}

impl Held {
    #[cold]
    fn retain(&self) {
        // SAFETY: the object is alive while it is borrowed.
        if let Err(code) = unsafe { cl::retain_mem_object(self.raw) } {
            // The driver has nothing to refuse here but a want of memory.
            panic!("{}", Error::from_call("clRetainMemObject", code));
        }
    }
}

impl Drop for Held {
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
