//! Memory of pools with commands of queues without handles.
//!
//! A callback for each command would not report every end: PoCL and rusticl call none of commands that fail, Oclgrind
//! none of commands that have ended.

use std::collections::VecDeque;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::memory::track::{AccessTracker, Few};

/// The memory of a context's pools that keeps queues without handles, by tracker.
#[derive(Debug, Default)]
pub(crate) struct DroppedQueues {
    keepers: Mutex<VecDeque<Weak<AccessTracker>>>,
    /// False if there are none. Changes with the keepers locked.
    has_some: AtomicBool,
}

impl DroppedQueues {
    /// Adds a keeper, if it is not there.
    pub fn add(&self, keeper: &Weak<AccessTracker>) {
        let mut keepers = self.keepers.lock();
        if !keepers.iter().any(|other| other.ptr_eq(keeper)) {
            keepers.push_back(keeper.clone());
        }
        self.has_some.store(true, Ordering::Release);
    }

    /// Makes a few keepers release queues whose commands have ended. Runs no callback.
    #[inline]
    pub fn look(&self) {
        if self.has_some.load(Ordering::Acquire) {
            self.look_at_some();
        }
    }

    #[cold]
    fn look_at_some(&self) {
        let mut keepers = self.keepers.lock();
        let count = keepers.len().min(4);
        let some: Few<_> = keepers.drain(..count).collect();
        self.has_some.store(!keepers.is_empty(), Ordering::Release);
        drop(keepers);
        some.iter().filter_map(Weak::upgrade).for_each(|keeper| _ = keeper.let_queues_go());
    }
}
