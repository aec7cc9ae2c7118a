//! The lock of a shelf: held for some ten instructions, and released by one store.
//!
//! Why not a library's: whoever gives the last block back may find the pool freed by another thread as
//! soon as the lock is released, so the release must be the last that touches it. Others do not promise
//! that.

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
/// All of it is in a cell, the bytes that it is padded with, too: a reference is promised to outlive the
/// function that it is given to, but for what is in a cell.
pub(super) struct Lock<T>(UnsafeCell<Padded<T>>);

/// It fills its cache lines, so that threads with different ones do not disturb each other.
#[repr(align(128))]
struct Padded<T> {
    is_taken: AtomicBool,
    value: UnsafeTracked<T>,
}

// SAFETY: the value is reached by one thread at a time.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        let (is_taken, value) = (AtomicBool::new(false), UnsafeTracked::new(value));
        Self(UnsafeCell::new(Padded { is_taken, value }))
    }

    /// Runs `f`, which must not take long and must not lock this again, with the value.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: while it is borrowed, it is reached only by references like these.
        let Padded { is_taken, value } = unsafe { &*self.0.get() };
        take(is_taken);
        let release = Release(is_taken);
        // SAFETY: nobody else has it until it is released.
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
    /// How often it is looked at before another thread may run: its holder may be one.
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
            // Loom would have it see what was there before for as long as it likes.
            if cfg!(loom) || !is_taken.load(Ordering::Relaxed) {
                break;
            }
        }
    }
}

/// Releases the lock, also where something unwinds.
struct Release<'a>(&'a AtomicBool);

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Has loom complain of threads that touch it when it has been dropped.
#[cfg(loom)]
impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        let Padded { is_taken, value } = self.0.get_mut();
        value.with_mut(|_| ());
        // SAFETY: it is borrowed mutably, which loom checks.
        assert!(!unsafe { is_taken.unsync_load() });
    }
}

impl<T> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}
