//! The contexts that a worker keeps: those of the running test, until the worker has checked their references, and
//! idle ones for later tests.

use std::sync::LazyLock;

use clmatrix::cl3::context::{
    CL_CONTEXT_REFERENCE_COUNT, get_context_info, release_context, retain_context,
};
use clmatrix::cl3::types::cl_context;
use clmatrix::{Context, ContextWatch, Device, Result};
use parking_lot::{Mutex, MutexGuard};

use crate::fixtures;
use crate::result::attempt::ContextUse;

/// The most contexts of one test that are kept for later tests. A context may take hundreds of MB.
const MOST_FOR_LATER: usize = 4;

/// The contexts that a worker keeps.
#[derive(Debug, Default)]
pub(super) struct KeptContexts {
    /// True if contexts are kept until their references are checked, to find leaks.
    pub finds_leaks: bool,
    /// True if contexts are kept for later tests.
    reuses: bool,
    /// True if the running test gets new contexts only.
    is_fresh: bool,
    /// The kind of context that the running test has had. One that another test had takes precedence.
    pub use_of_test: ContextUse,
    /// The contexts of the running test.
    pub of_test: Vec<KeptContext>,
    idle: Vec<KeptContext>,
}

static KEPT: LazyLock<Mutex<KeptContexts>> = LazyLock::new(Mutex::default);

/// Returns the contexts of this process.
pub(super) fn kept() -> MutexGuard<'static, KeptContexts> {
    KEPT.lock()
}

/// Creates the first context of this process, and keeps it for the first test or releases it.
///
/// Drivers change signal handlers and start threads and helpers when they create their first context. An
/// error is left to the tests.
pub(super) fn prepare(finds_leaks: bool, reuses: bool) {
    let context = fixtures::first_context();
    let mut kept = kept();
    (kept.finds_leaks, kept.reuses) = (finds_leaks, reuses);
    let for_later = context.as_ref().filter(|_| reuses);
    kept.idle.extend(for_later.and_then(|context| KeptContext::retain(context, true)));
}

/// Returns an idle context for the running test, or a new one.
pub(crate) fn for_test(device: &Device) -> Result<Context> {
    if let Some(context) = kept().reuse() {
        return Ok(context);
    }
    let context = Context::new([device])?;
    // Released without the lock: a release takes time.
    let unused = kept().keep(&context);
    drop(unused);
    Ok(context)
}

impl KeptContexts {
    /// Begins a test. With `is_fresh`, it gets new contexts only. Returns whether contexts are kept for later
    /// tests.
    pub fn begin_test(&mut self, is_fresh: bool) -> bool {
        self.is_fresh = is_fresh;
        self.use_of_test = ContextUse::None;
        self.reuses
    }

    fn reuse(&mut self) -> Option<Context> {
        if self.is_fresh {
            return None;
        }
        let mut kept = self.idle.pop()?;
        let context = kept.context()?;
        let its_use = if kept.is_used { ContextUse::Used } else { ContextUse::Fresh };
        self.use_of_test = self.use_of_test.max(its_use);
        self.of_test.push(kept);
        Some(context)
    }

    /// Keeps a new context of the running test. Returns the contexts that the test no longer uses and that are not
    /// for later, to be released, because drivers limit the number of contexts.
    // quirk: DRIVER-15
    fn keep(&mut self, context: &Context) -> Vec<KeptContext> {
        let is_unused = |kept: &mut KeptContext| !kept.is_for_later && kept.other_references() == 0;
        let unused = self.of_test.extract_if(.., is_unused).collect();
        self.use_of_test = self.use_of_test.max(ContextUse::Fresh);
        let for_later = self.of_test.iter().filter(|kept| kept.is_for_later).count();
        let is_for_later = self.reuses && !self.is_fresh && for_later < MOST_FOR_LATER;
        if is_for_later || self.finds_leaks {
            self.of_test.extend(KeptContext::retain(context, is_for_later));
        }
        unused
    }

    /// Makes the contexts idle that the test that has ended no longer uses. Returns the others, to be released.
    pub fn make_idle(&mut self, contexts: Vec<KeptContext>) -> Vec<KeptContext> {
        let (mut unused, used): (Vec<_>, Vec<_>) =
            contexts.into_iter().partition(|kept| kept.other_references() == 0);
        unused.iter_mut().for_each(|kept| kept.is_used = true);
        self.idle.extend(unused);
        used
    }

    /// Returns whether there is an idle context that a test has had.
    pub fn has_used(&self) -> bool {
        self.idle.iter().any(|kept| kept.is_used)
    }
}

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
    fn retain(context: &Context, is_for_later: bool) -> Option<Self> {
        let raw = context.as_raw();
        // SAFETY: the context is alive while it is borrowed.
        unsafe { retain_context(raw) }.ok()?;
        Some(Self { raw, watch: context.watch(), is_for_later, is_used: false })
    }

    /// Returns the context with a reference of its own, for the next test.
    fn context(&mut self) -> Option<Context> {
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
