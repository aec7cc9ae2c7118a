//! The lock of the tables: one that knows no poison is a quarter cheaper than the standard library's.
//! Under loom, it is loom's.

#[cfg(loom)]
use std::sync::PoisonError;

#[cfg(loom)]
pub use loom::sync::MutexGuard;
#[cfg(not(loom))]
pub use parking_lot::MutexGuard;

#[cfg(loom)]
use loom::sync as inner;
#[cfg(not(loom))]
use parking_lot as inner;

/// A lock around a `T`.
#[derive(Debug, Default)]
pub struct Mutex<T>(inner::Mutex<T>);

impl<T> Mutex<T> {
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(not(loom))]
        return self.0.lock();
        #[cfg(loom)]
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What threads wait for that let go of a lock meanwhile.
#[derive(Debug, Default)]
pub struct Condvar(inner::Condvar);

impl Condvar {
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        #[cfg(not(loom))]
        {
            let mut guard = guard;
            self.0.wait(&mut guard);
            guard
        }
        #[cfg(loom)]
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
