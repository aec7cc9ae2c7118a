//! The driver's objects behind a handle to a buffer.

use std::mem::MaybeUninit;
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
    /// True if it is a part's, with a reference of its own.
    is_part: bool,
    object: Arc<MemObject>,
    /// Of a part, and for no other there: shared by all handles to a part that was handed out as one, and
    /// to parts of it. Maps have one of these, and wholes need not pay for it.
    lease: MaybeUninit<Option<Arc<Lease>>>,
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
        Self { raw: object.raw(), is_part: false, object, lease: MaybeUninit::uninit() }
    }

    /// # Safety
    /// `raw` is a valid region of the object, of which the caller owns a reference.
    pub(super) unsafe fn part(raw: cl_mem, object: Arc<MemObject>) -> Self {
        Self { raw, is_part: true, object, lease: MaybeUninit::new(None) }
    }

    #[inline]
    pub(crate) fn raw(&self) -> cl_mem {
        self.raw
    }

    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    fn lease(&self) -> Option<&Arc<Lease>> {
        // SAFETY: a part has one, and keeps it until it is dropped.
        if self.is_part { unsafe { self.lease.assume_init_ref() }.as_ref() } else { None }
    }

    fn set_lease(&mut self, lease: Option<Arc<Lease>>) {
        assert!(self.is_part, "only parts are leased");
        // SAFETY: a part has one, and keeps it until it is dropped.
        *unsafe { self.lease.assume_init_mut() } = lease;
    }

    /// Hands this part out, of which nobody has another handle yet.
    pub(super) fn lease_out(&mut self) {
        self.set_lease(Some(Arc::new(Lease { _of: self.lease().cloned() })));
    }

    /// Makes this one of the parts of what `other` is a handle to.
    pub(super) fn join_lease(self, other: &Self) -> Self {
        let mut part = self;
        part.set_lease(other.lease().cloned());
        part
    }

    /// Returns whether nobody else has a handle to what was handed out, or to a part of it.
    pub(crate) fn is_sole_lease(&self) -> bool {
        let is_sole = self.lease().is_some_and(|lease| Arc::strong_count(lease) == 1);
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
        let lease = if self.is_part { self.retain() } else { MaybeUninit::uninit() };
        Self { object: Arc::clone(&self.object), lease, ..*self }
    }
}

impl Held {
    /// Adds a reference of the part's. Returns the lease for it.
    #[cold]
    fn retain(&self) -> MaybeUninit<Option<Arc<Lease>>> {
        // SAFETY: the object is alive while it is borrowed.
        if let Err(code) = unsafe { cl::retain_mem_object(self.raw) } {
            // The driver has nothing to refuse here but a want of memory.
            panic!("{}", Error::from_call("clRetainMemObject", code));
        }
        MaybeUninit::new(self.lease().cloned())
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        if self.is_part {
            self.let_go_of_part();
        }
    }
}

impl Held {
    #[cold]
    fn let_go_of_part(&mut self) {
        // SAFETY: the reference is ours, and given up once.
        if let Err(code) = unsafe { cl::release_mem_object(self.raw) } {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
        self.set_lease(None);
    }
}
