//! Counts the commands that the driver is just being asked for, without a lock: every command ends
//! here, and only maps wait for that.

use std::array;

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

/// A power of two, so that a number needs no check.
const SLOTS: usize = 8;

/// How many queues have a counter for themselves.
pub(super) const QUEUES: usize = SLOTS - 1;

/// A counter, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u8);

impl Slot {
    /// One that is not among these; the last one is for all queues beyond [`QUEUES`].
    pub fn beside(taken: impl Iterator<Item = Slot> + Clone) -> Self {
        let is_free = |slot: &u8| taken.clone().all(|taken| taken.0 != *slot);
        Self((0..QUEUES as u8).find(is_free).unwrap_or(QUEUES as u8))
    }
}

/// Commands of in-order queues that the driver is just being asked for.
#[derive(Debug)]
pub(super) struct Issuing {
    /// Of each slot: whether a thread waits, and from the next bit on the number.
    counters: [AtomicU32; SLOTS],
}

const AWAITED: u32 = 1;
const ONE: u32 = 2;

impl Default for Issuing {
    fn default() -> Self {
        Self { counters: array::from_fn(|_| AtomicU32::new(0)) }
    }
}

impl Issuing {
    #[inline]
    fn counter(&self, slot: Slot) -> &AtomicU32 {
        &self.counters[usize::from(slot.0) % SLOTS]
    }

    /// The driver is about to be asked. The table is locked meanwhile.
    #[inline]
    pub fn begin(&self, slot: Slot) {
        self.counter(slot).fetch_add(ONE, Ordering::Relaxed);
    }

    /// The driver has been asked. `true` where a thread may wait for that.
    #[inline]
    pub fn end(&self, slot: Slot) -> bool {
        self.counter(slot).fetch_sub(ONE, Ordering::AcqRel) & AWAITED != 0
    }

    /// Whether the driver is being asked.
    #[inline]
    pub fn is_busy(&self, slot: Slot) -> bool {
        self.counter(slot).load(Ordering::Acquire) >= ONE
    }

    /// Whether the driver is being asked; if so, who ends that will tell. The table is locked
    /// meanwhile.
    pub fn await_end(&self, slot: Slot) -> bool {
        self.counter(slot).fetch_or(AWAITED, Ordering::AcqRel) >= ONE
    }

    /// Whoever waits is being told. The table is locked meanwhile.
    pub fn let_be(&self, slot: Slot) {
        self.counter(slot).fetch_and(!AWAITED, Ordering::Relaxed);
    }
}
