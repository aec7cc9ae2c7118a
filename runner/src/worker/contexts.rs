//! The contexts that a worker keeps: those of the running test, until the worker has checked their references, and
//! idle ones for later tests.

use std::mem;

use clmatrix::{Context, Device, Result};
use parking_lot::{Mutex, MutexGuard};

use super::kept_context::KeptContext;
use crate::result::attempt::ContextUse;

/// The most contexts of one test that are kept for later tests. A context may take hundreds of MB.
const MOST_FOR_LATER: usize = 4;

/// The contexts that a worker keeps.
#[derive(Debug)]
pub(super) struct KeptContexts {
    /// True if contexts are kept until their references are checked, to find leaks.
    pub finds_leaks: bool,
    /// True if contexts are kept for later tests.
    pub reuses: bool,
    /// True if the running test gets new contexts only.
    is_fresh: bool,
    /// The kind of context that the running test has had.
    use_of_test: ContextUse,
    of_test: Vec<KeptContext>,
    idle: Vec<KeptContext>,
}

static KEPT: Mutex<KeptContexts> = Mutex::new(KeptContexts {
    finds_leaks: false,
    reuses: false,
    is_fresh: false,
    use_of_test: ContextUse::None,
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
        self.use_of_test = ContextUse::None;
        self.reuses
    }

    fn reuse(&mut self) -> Option<Context> {
        if self.is_fresh {
            return None;
        }
        let mut kept = self.idle.pop()?;
        let context = kept.context()?;
        self.note(if kept.is_used { ContextUse::Used } else { ContextUse::Fresh });
        self.of_test.push(kept);
        Some(context)
    }

    /// Keeps a new context of the running test. Returns the contexts that the test no longer uses and that are not
    /// for later, to be released, because drivers limit the number of contexts.
    // quirk: DRIVER-15
    fn keep(&mut self, context: &Context) -> Vec<KeptContext> {
        let is_unused = |kept: &mut KeptContext| !kept.is_for_later && kept.other_references() == 0;
        let unused = self.of_test.extract_if(.., is_unused).collect();
        self.note(ContextUse::Fresh);
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

    /// Makes the contexts idle that the test that has ended no longer uses. Returns the others, to be released.
    pub fn make_idle(&mut self, contexts: Vec<KeptContext>) -> Vec<KeptContext> {
        let (unused, used): (Vec<_>, Vec<_>) =
            contexts.into_iter().partition(|kept| kept.other_references() == 0);
        self.idle.extend(unused.into_iter().map(KeptContext::used));
        used
    }

    /// Records a context of the running test. A context that another test had takes precedence.
    fn note(&mut self, context: ContextUse) {
        if self.use_of_test != ContextUse::Used {
            self.use_of_test = context;
        }
    }

    /// Returns the kind of context that the test has had.
    pub fn of_test(&self) -> ContextUse {
        self.use_of_test
    }

    /// Returns whether there is an idle context that a test has had.
    pub fn has_used(&self) -> bool {
        self.idle.iter().any(|kept| kept.is_used)
    }
}
