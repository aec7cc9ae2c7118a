//! The driver's objects behind a handle to a buffer.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

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
    /// Shared by all handles to a part that was handed out as one, and to parts of it.
    lease: Option<Arc<Lease>>,
}

/// What tells whether there are other handles to a part.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The part that this one is of, if that was handed out, too.
    _of: Option<Arc<Lease>>,
}

// SAFETY: memory objects may be used from any thread at once (OpenCL 3.0, appendix A.2).
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    pub(super) fn whole(object: Arc<MemObject>) -> Self {
        Self { raw: object.raw(), is_part: false, object, lease: None }
    }

    /// # Safety
    /// `raw` is a valid region of the object, of which the caller owns a reference.
    pub(super) unsafe fn part(raw: cl_mem, object: Arc<MemObject>) -> Self {
        Self { raw, is_part: true, object, lease: None }
    }

    #[inline]
    pub(crate) fn raw(&self) -> cl_mem {
        self.raw
    }

    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    /// Hands this part out, of which nobody has another handle yet.
    pub(super) fn lease_out(&mut self) {
        self.lease = Some(Arc::new(Lease { _of: self.lease.take() }));
    }

    /// Makes this one of the parts of what `other` is a handle to.
    pub(super) fn join_lease(self, other: &Self) -> Self {
        let mut part = self;
        part.lease.clone_from(&other.lease);
        part
    }

    /// Whether nobody else has a handle to what was handed out, or to a part of it.
    pub(crate) fn is_sole_lease(&self) -> bool {
        let is_sole = self.lease.as_ref().is_some_and(|lease| Arc::strong_count(lease) == 1);
        // What others have done with theirs comes before.
        fence(Ordering::Acquire);
        is_sole
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
        let lease = if self.is_part { self.retain() } else { None };
        Self { object: Arc::clone(&self.object), lease, ..*self }
    }
}

impl Held {
    /// Adds a reference of the part's. Returns the lease for it.
    #[cold]
    fn retain(&self) -> Option<Arc<Lease>> {
        // SAFETY: the object is alive while it is borrowed.
        if let Err(code) = unsafe { cl::retain_mem_object(self.raw) } {
            // The driver has nothing to refuse here but a want of memory.
            panic!("{}", Error::from_call("clRetainMemObject", code));
        }
        self.lease.clone()
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
