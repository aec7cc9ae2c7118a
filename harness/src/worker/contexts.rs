//! The contexts that a worker keeps: those of the running test, until the worker has looked at their
//! references, and idle ones for later tests.

use std::mem;

use clmatrix::{Context, Device, Result};
use parking_lot::{Mutex, MutexGuard};

use super::kept_context::KeptContext;

/// The most contexts of one test that are kept for later tests. A context may take hundreds of MB.
const MOST_FOR_LATER: usize = 4;

/// The contexts that a worker keeps.
#[derive(Debug)]
pub(super) struct KeptContexts {
    /// True if contexts are kept until their references are looked at, to find leaks.
    pub finds_leaks: bool,
    /// True if contexts are kept for later tests.
    pub reuses: bool,
    /// True if the running test gets new contexts only.
    is_fresh: bool,
    /// True if the running test has a context that another test had.
    has_reused: bool,
    of_test: Vec<KeptContext>,
    idle: Vec<KeptContext>,
}

static KEPT: Mutex<KeptContexts> = Mutex::new(KeptContexts {
    finds_leaks: false,
    reuses: false,
    is_fresh: false,
    has_reused: false,
    of_test: Vec::new(),
    idle: Vec::new(),
});

/// Returns the contexts of this process.
pub(super) fn kept() -> MutexGuard<'static, KeptContexts> {
    KEPT.lock()
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
    /// Adds a context that no test has had.
    pub fn add_idle(&mut self, context: &Context) {
        self.idle.extend(KeptContext::retain(context, true));
    }

    /// Begins a test. With `is_fresh`, it gets new contexts only. Returns whether contexts are kept for later
    /// tests.
    pub fn begin_test(&mut self, is_fresh: bool) -> bool {
        self.is_fresh = is_fresh;
        self.has_reused = false;
        self.reuses
    }

    fn reuse(&mut self) -> Option<Context> {
        if self.is_fresh {
            return None;
        }
        let kept = self.idle.pop()?;
        let context = kept.context()?;
        self.has_reused |= kept.is_used;
        self.of_test.push(kept);
        Some(context)
    }

    /// Keeps a new context of the running test. Returns the contexts that the test does not use any more
    /// and that are not for later, to be released, because drivers limit the number of contexts.
    // quirk: DRIVER-15
    fn keep(&mut self, context: &Context) -> Vec<KeptContext> {
        let is_unused = |kept: &mut KeptContext| !kept.is_for_later && kept.other_references() == 0;
        let unused = self.of_test.extract_if(.., is_unused).collect();
        let for_later = self.of_test.iter().filter(|kept| kept.is_for_later).count();
        let is_for_later = self.reuses && !self.is_fresh && for_later < MOST_FOR_LATER;
        if is_for_later || self.finds_leaks {
            self.of_test.extend(KeptContext::retain(context, is_for_later));
        }
        unused
    }

    /// Takes the contexts of the test that has ended.
    pub fn take(&mut self) -> Vec<KeptContext> {
        mem::take(&mut self.of_test)
    }

    /// Makes contexts idle of which the test that has ended uses nothing any more. Returns the others, to be
    /// released.
    pub fn make_idle(&mut self, contexts: Vec<KeptContext>) -> Vec<KeptContext> {
        let (unused, used): (Vec<_>, Vec<_>) =
            contexts.into_iter().partition(|kept| kept.other_references() == 0);
        self.idle.extend(unused.into_iter().map(KeptContext::used));
        used
    }

    /// Returns whether the test has had a context of another test, and whether there is an idle context that a
    /// test has had.
    pub fn use_of_contexts(&self) -> (bool, bool) {
        (self.has_reused, self.idle.iter().any(|kept| kept.is_used))
    }
}
