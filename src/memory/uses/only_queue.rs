//! The only queue that an object has been used on, told without a lock.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The only queue of which there are uses, if that runs its commands in order.
#[derive(Debug)]
pub(super) struct OnlyQueue(AtomicUsize);

impl OnlyQueue {
    /// No use at all. No queue has this number.
    const NONE: usize = 0;

    /// Uses of several queues, or one that no queue orders. No queue has this number, either.
    const MANY: usize = usize::MAX;

    pub fn none() -> Self {
        Self(AtomicUsize::new(Self::NONE))
    }

    /// Returns whether all uses are of this queue, or there are none.
    #[inline]
    pub fn is(&self, key: usize) -> bool {
        let only = self.0.load(Ordering::Acquire);
        only == key || only == Self::NONE
    }

    /// As `Table::only_queue` has it, while the table is locked, or `None` from any time at which
    /// there is a use that no queue orders.
    pub fn set(&self, only: Option<usize>) {
        self.0.store(only.unwrap_or(Self::MANY), Ordering::Release);
    }
}
