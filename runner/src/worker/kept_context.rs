//! A context that a worker keeps.

use clmatrix::cl3::context::{
    CL_CONTEXT_REFERENCE_COUNT, get_context_info, release_context, retain_context,
};
use clmatrix::cl3::types::cl_context;
use clmatrix::{Context, ContextWatch};

/// A reference of the worker to a context.
#[derive(Debug)]
pub(super) struct KeptContext {
    raw: cl_context,
    /// The handle that the running test has: the references that the library holds for the test, even where the driver
    /// counts none.
    pub watch: ContextWatch,
    /// True if later tests may get it.
    pub is_for_later: bool,
    /// True if a test has had it.
    pub is_used: bool,
}

// SAFETY: contexts may be used from any thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for KeptContext {}

impl KeptContext {
    pub fn retain(context: &Context, is_for_later: bool) -> Option<Self> {
        let raw = context.as_raw();
        // SAFETY: the context is alive while it is borrowed.
        unsafe { retain_context(raw) }.ok()?;
        Some(Self { raw, watch: context.watch(), is_for_later, is_used: false })
    }

    /// Returns the context with a reference of its own, for the next test.
    pub fn context(&mut self) -> Option<Context> {
        // SAFETY: this struct has a reference.
        let context = unsafe { Context::retain_raw(self.raw) }.ok()?;
        self.watch = context.watch();
        Some(context)
    }

    /// Returns the driver's count of the references that others have.
    pub fn other_references(&self) -> u32 {
        let count = get_context_info(self.raw, CL_CONTEXT_REFERENCE_COUNT).map_or(1, u32::from);
        count.saturating_sub(1)
    }
}

impl Drop for KeptContext {
    fn drop(&mut self) {
        // SAFETY: the reference is this struct's, and released once. An error leaves the context as it is.
        let _ = unsafe { release_context(self.raw) };
    }
}
