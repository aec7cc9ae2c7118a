//! A barrier for threads that are about to be measured.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{panicking, yield_now};

/// Spins before a thread yields its processor.
const SPINS: usize = 100_000;

/// Threads that wait here spin, so that all of them continue at the same time: a thread that sleeps
/// would continue late.
pub struct SpinBarrier {
    threads: usize,
    /// Calls of [`wait`](Self::wait) up to now.
    arrived: AtomicUsize,
    /// True once a thread has panicked.
    is_abandoned: AtomicBool,
}

/// A thread of a barrier. If the thread panics, the others do so instead of waiting for it.
#[must_use]
pub struct Member<'a>(&'a SpinBarrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.is_abandoned.store(true, Ordering::Relaxed);
        }
    }
}

impl SpinBarrier {
    pub fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), is_abandoned: AtomicBool::new(false) }
    }

    /// Returns the membership of the calling thread.
    pub fn member(&self) -> Member<'_> {
        Member(self)
    }

    /// Returns once all threads have called it as many times as this one.
    pub fn wait(&self) {
        let number = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (number / self.threads + 1) * self.threads;
        let mut spins = 0;
        while self.arrived.load(Ordering::Acquire) < all {
            if spins < SPINS {
                spins += 1;
                spin_loop();
            } else {
                assert!(!self.is_abandoned.load(Ordering::Relaxed), "another thread has panicked");
                yield_now();
            }
        }
    }
}
