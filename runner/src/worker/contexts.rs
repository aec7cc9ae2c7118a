//! The contexts that a worker keeps: those of the running test, until the worker has checked their references, and
//! idle ones for later tests.

use std::sync::LazyLock;

use clmatrix::{Context, Device, Result};
use parking_lot::{Mutex, MutexGuard};

use super::kept_context::KeptContext;
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
