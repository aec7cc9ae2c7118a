//! Counts the commands that the driver is just being asked for, without a lock: every command ends
//! here, and only maps wait for that. The usual command begins without a lock, too.

use std::array;
use std::ops::Range;

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::Access;

/// A power of two, so that the lowest bits of an address can tell one.
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
    /// The queue of which a usual command is, with its slot in the lowest bits; 0 while there is
    /// none.
    usual: AtomicUsize,
    /// Of each slot: which bytes its queue has touched at least, by [`Access`].
    touched: [[Bytes; 2]; SLOTS],
}

const AWAITED: u32 = 1;
const ONE: u32 = 2;

/// A range of bytes.
#[derive(Debug)]
struct Bytes {
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Default for Issuing {
    fn default() -> Self {
        let bytes = || Bytes { start: AtomicUsize::new(0), end: AtomicUsize::new(0) };
        Self {
            counters: array::from_fn(|_| AtomicU32::new(0)),
            usual: AtomicUsize::new(0),
            touched: array::from_fn(|_| array::from_fn(|_| bytes())),
        }
    }
}

impl Issuing {
    #[inline]
    fn counter(&self, slot: Slot) -> &AtomicU32 {
        // SAFETY: slots are only made here, and below `SLOTS`.
        unsafe { self.counters.get_unchecked(usize::from(slot.0)) }
    }

    #[inline]
    fn touched(&self, slot: Slot, access: Access) -> &Bytes {
        // SAFETY: as above; there are two ways to access bytes.
        unsafe { self.touched.get_unchecked(usize::from(slot.0)).get_unchecked(access as usize) }
    }

    /// Enables the fast path for queue `key`: commands within the byte ranges it has already touched
    /// start without locking or updating the table. The caller holds the table's lock.
    #[inline]
    pub fn open(&self, key: usize, slot: Slot, touched: [&Range<usize>; 2]) {
        // The slot takes the bits of an address that are usually free. In one that queues share, a
        // command could take what another queue has touched for what its own has.
        if !key.is_multiple_of(SLOTS) || usize::from(slot.0) == QUEUES {
            return self.close();
        }
        for (access, touched) in [Access::Read, Access::Write].into_iter().zip(touched) {
            let bytes = self.touched(slot, access);
            bytes.start.store(touched.start, Ordering::Relaxed);
            bytes.end.store(touched.end, Ordering::Relaxed);
        }
        // Not a store: it would hide from `close` which commands have begun before.
        self.usual.swap(key | usize::from(slot.0), Ordering::AcqRel);
    }

    /// From now on, all commands begin with the table. Those that have begun without it are counted.
    /// The table is locked meanwhile.
    #[inline]
    pub fn close(&self) {
        // This and `begin_usual` change the same number, so one of them comes first: either the
        // command sees that it is not usual any more, or it is seen in its counter. That holds
        // however often `open` comes between the two, as all of them read what they change.
        self.usual.swap(0, Ordering::AcqRel);
    }

    /// Starts a command of queue `key` on the fast path, if the command qualifies. If the attempt is
    /// abandoned, calls `tell`, since a waiter may have seen the temporary increment.
    #[inline]
    pub fn begin_usual(
        &self,
        key: usize,
        range: &Range<usize>,
        access: Access,
        tell: impl FnOnce(Slot),
    ) -> Option<Slot> {
        let usual = self.usual.load(Ordering::Relaxed);
        let slot = Slot((usual % SLOTS) as u8);
        if usual != key | usize::from(slot.0) {
            return None;
        }
        self.begin(slot);
        // Only now does it count, and nothing changes any more.
        let is_so_still = self.usual.fetch_add(0, Ordering::AcqRel) == usual;
        let touched = self.touched(slot, access);
        if is_so_still
            && touched.start.load(Ordering::Relaxed) <= range.start
            && range.end <= touched.end.load(Ordering::Relaxed)
        {
            return Some(slot);
        }
        if self.end(slot) {
            tell(slot);
        }
        None
    }

    /// The driver is about to be asked.
    #[inline]
    pub fn begin(&self, slot: Slot) {
        self.counter(slot).fetch_add(ONE, Ordering::Relaxed);
    }

    /// The driver has been asked. `true` where a thread may wait for that.
    #[inline]
    pub fn end(&self, slot: Slot) -> bool {
        self.counter(slot).fetch_sub(ONE, Ordering::AcqRel) & AWAITED != 0
    }

    /// Returns whether the driver is being asked.
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
