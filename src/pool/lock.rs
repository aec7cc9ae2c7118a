//! The lock of a shard: held for some ten instructions, and released by one store.
//!
//! The release must be the last access to the lock: as soon as a shard is unlocked, another thread can take
//! the block that has just come back, and free the pool with the shard. `parking_lot` and the standard
//! library do not promise that for their locks, so a handle would have to keep the pool by an `Arc` during
//! the release.

use std::cell::UnsafeCell;
use std::fmt;

#[cfg(loom)]
use loom::cell::UnsafeCell as UnsafeTracked;
#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(loom)]
use loom::thread::yield_now;
#[cfg(not(loom))]
use std::cell::UnsafeCell as UnsafeTracked;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
use std::thread::yield_now;

/// A lock around a `T`.
///
/// All bytes are in a cell, also those of the padding: the compiler may assume that a reference outlives the
/// function that gets it, except for bytes in a cell.
pub(super) struct Lock<T>(UnsafeCell<Padded<T>>);

/// A lock that fills its cache lines, so that threads with different locks do not disturb each other.
#[repr(align(128))]
struct Padded<T> {
    is_taken: AtomicBool,
    value: UnsafeTracked<T>,
}

// SAFETY: one thread at a time accesses the value.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        let (is_taken, value) = (AtomicBool::new(false), UnsafeTracked::new(value));
        Self(UnsafeCell::new(Padded { is_taken, value }))
    }

    /// Runs `f` with the value. `f` must be short and must not lock this lock again.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: while the lock is borrowed, its bytes are accessed only through such references.
        let Padded { is_taken, value } = unsafe { &*self.0.get() };
        take(is_taken);
        let release = Release(is_taken);
        // SAFETY: this thread alone accesses the value until the release.
        #[cfg(not(loom))]
        let result = f(unsafe { &mut *value.get() });
        // SAFETY: as above, which loom checks.
        #[cfg(loom)]
        let result = value.with_mut(|value| f(unsafe { &mut *value }));
        drop(release);
        result
    }
}

#[inline]
fn take(is_taken: &AtomicBool) {
    if !try_take(is_taken) {
        wait(is_taken);
    }
}

#[inline]
fn try_take(is_taken: &AtomicBool) -> bool {
    is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

#[cold]
fn wait(is_taken: &AtomicBool) {
    /// The number of spins before a yield to the thread that may hold the lock.
    const SPINS: u32 = if cfg!(loom) { 0 } else { 64 };
    let mut spins = 0;
    while !try_take(is_taken) {
        loop {
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                yield_now();
            }
            // In loom's models, the load may return an old value forever.
            if cfg!(loom) || !is_taken.load(Ordering::Relaxed) {
                break;
            }
        }
    }
}

/// Releases the lock when dropped, also during unwinding.
struct Release<'a>(&'a AtomicBool);

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Makes loom report threads that access a lock after its drop.
#[cfg(loom)]
impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        let Padded { is_taken, value } = self.0.get_mut();
        value.with_mut(|_| ());
        // SAFETY: the lock is borrowed mutably, which loom checks.
        assert!(!unsafe { is_taken.unsync_load() });
    }
}

impl<T> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
