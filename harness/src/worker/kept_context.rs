//! The contexts of a test, kept until the worker has looked at their references.

use std::sync::{Mutex, MutexGuard, PoisonError};

use clmatrix::Context;
use clmatrix::cl3::context::{
    CL_CONTEXT_REFERENCE_COUNT, get_context_info, release_context, retain_context,
};
use clmatrix::cl3::types::cl_context;

/// A reference to a context.
#[derive(Debug)]
pub(super) struct KeptContext(cl_context);

// SAFETY: contexts may be used from any thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for KeptContext {}

/// The contexts of the running test; `None` where no contexts are kept.
static KEPT: Mutex<Option<Vec<KeptContext>>> = Mutex::new(None);

fn kept() -> MutexGuard<'static, Option<Vec<KeptContext>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeptContext {
    fn retain(context: &Context) -> Option<Self> {
        let raw = context.get();
        // SAFETY: the context is alive while it is borrowed.
        unsafe { retain_context(raw) }.ok().map(|()| Self(raw))
    }

    /// Returns the number of references that others have, as the driver counts.
    pub(super) fn other_references(&self) -> u32 {
        let count = get_context_info(self.0, CL_CONTEXT_REFERENCE_COUNT).map_or(1, u32::from);
        count.saturating_sub(1)
    }

    /// Returns whether others have references, but not the library because of a driver's fault.
    // quirk: POCL-3
    pub(super) fn is_left_behind(&self) -> bool {
        self.other_references() > 0 && !clmatrix::keeps_events_of(self.0)
    }
}

impl Drop for KeptContext {
    fn drop(&mut self) {
        // SAFETY: the reference is this struct's, and released once. An error leaves the context as it is.
        let _ = unsafe { release_context(self.0) };
    }
}

/// Keeps contexts from now on.
pub(super) fn start() {
    kept().get_or_insert_default();
}

/// Keeps a new context of the running test. Releases the contexts that the test does not use any more,
/// because drivers limit the number of contexts.
// quirk: DRIVER-15
pub(crate) fn keep(context: &Context) {
    if let Some(kept) = &mut *kept() {
        kept.retain(|context| context.other_references() > 0);
        kept.extend(KeptContext::retain(context));
    }
}

/// Takes the contexts of the test that has ended.
pub(super) fn take() -> Vec<KeptContext> {
    kept().as_mut().map(std::mem::take).unwrap_or_default()
}
