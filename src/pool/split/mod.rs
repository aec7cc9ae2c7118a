//! Roots: large blocks that are handed out in parts.
//!
//! While the lock is held, nothing is asked of the driver, and neither memory nor queues are dropped.

mod parts;
mod ranges;
mod root;
mod state;

use std::time::Instant;

use parking_lot::Mutex;

use super::memory::Memory;
use super::shelf::Counts;
pub(super) use parts::give_back;
pub(super) use ranges::Place;
pub(super) use root::Removed;
use state::State;

/// The roots of a pool that splits them.
#[derive(Debug)]
pub(super) struct Split<M: Memory> {
    /// Bytes of each root.
    pub root_size: usize,
    state: Mutex<State<M>>,
}

impl<M: Memory> Split<M> {
    pub fn new(root_size: usize) -> Self {
        Self { root_size, state: Mutex::new(State::default()) }
    }

    /// Takes out the roots that nobody uses. One that is just being looked at goes as soon as it turns
    /// out not to be used.
    pub fn drain(&self) -> Vec<Removed<M>> {
        self.state.lock().drain()
    }

    /// From now on, roots that nobody uses are not held. Takes out those that are.
    pub fn stop_holding(&self) -> Vec<Removed<M>> {
        self.state.lock().stop_holding()
    }

    /// Takes out a root that nobody uses.
    pub fn take_unused(&self) -> Option<Removed<M>> {
        self.state.lock().take_unused(|_| true)
    }

    /// Takes out a root that nobody uses, and that has been held for long.
    pub fn take_idle(&self, is_young: impl Fn(Instant) -> bool) -> Option<Removed<M>> {
        let is_old = |since: Option<Instant>| since.is_some_and(|since| !is_young(since));
        self.state.lock().take_unused(|root| is_old(root.held_since))
    }

    /// The counts, with those of blocks of their own at the same moment, and the most bytes that were in
    /// use in roots.
    pub fn counts_with(&self, others: impl FnOnce() -> Counts) -> (Counts, usize) {
        let state = self.state.lock();
        (others().add(state.counts()), state.peak_active())
    }
}
