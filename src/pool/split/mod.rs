//! Roots: large blocks that are handed out in parts.
//!
//! While the lock is held, nothing is asked of the driver, and neither memory nor queues are dropped.

mod lending;
mod parts;
mod ranges;
mod root;
mod state;

use std::time::Instant;

use super::block::Block;
use super::shelf::Counts;
use crate::lock::Mutex;
pub(super) use parts::give_back;
use ranges::Note;
pub(super) use ranges::Place;
use root::{Removed, Whole};
use state::State;

/// The roots of a pool that splits them.
pub(super) type Split<M> = Roots<Whole<M>, Box<Block<M>>, ()>;

/// A root of such a pool that the pool has no more.
pub(super) type RemovedRoot<M> = Removed<Whole<M>, Box<Block<M>>, ()>;

/// Roots, each made of a `W`, of which parts are handed out; of free bytes, an `N` is known.
#[derive(Debug)]
pub(super) struct Roots<W, P, N> {
    /// Bytes of each root.
    pub root_size: usize,
    state: Mutex<State<W, P, N>>,
}

impl<W, P, N: Note> Roots<W, P, N> {
    pub fn new(root_size: usize) -> Self {
        Self { root_size, state: Mutex::default() }
    }

    /// Takes out the roots that nobody uses. One that is just being looked at goes as soon as it turns
    /// out not to be used.
    pub fn drain(&self) -> Vec<Removed<W, P, N>> {
        self.state.lock().drain()
    }

    /// From now on, roots that nobody uses are not held. Takes out those that are.
    pub fn stop_holding(&self) -> Vec<Removed<W, P, N>> {
        self.state.lock().stop_holding()
    }

    /// Takes out a root that nobody uses.
    pub fn take_unused(&self) -> Option<Removed<W, P, N>> {
        self.state.lock().take_unused(|_| true)
    }

    /// Takes out a root that nobody uses, and that has been held for long.
    pub fn take_idle(&self, is_young: impl Fn(Instant) -> bool) -> Option<Removed<W, P, N>> {
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
