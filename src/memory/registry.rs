//! What is known of handles: asked for once, and shared as long as somebody needs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What is known of each of several handles, by their addresses. Each `T` keeps its handle alive, so
/// that no other object can have the same one meanwhile.
pub(crate) struct Registry<T>(Mutex<Vec<(usize, Weak<T>)>>);

impl<T> Registry<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Weak<T>)>> {
        // Nothing panics while it is changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of `handle`, or a new one from `ask`.
    pub fn find_or_ask<E>(
        &self,
        handle: usize,
        ask: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let find = |known: &[(usize, Weak<T>)]| {
            known.iter().filter(|(of, _)| *of == handle).find_map(|(_, known)| known.upgrade())
        };
        if let Some(known) = find(&self.lock()) {
            return Ok(known);
        }
        let new = Arc::new(ask()?);
        let mut known = self.lock();
        if let Some(known) = find(&known) {
            return Ok(known);
        }
        known.retain(|(_, known)| known.strong_count() > 0);
        known.push((handle, Arc::downgrade(&new)));
        Ok(new)
    }
}
