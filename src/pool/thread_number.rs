//! Numbers of live threads.
//!
//! Hashes of the ids of threads would sometimes collide. With two threads in one shard, a hot pair of the pool takes
//! 191 ns in place of 29 (`bench pool`).

use std::cell::Cell;
use std::collections::BTreeSet;

use parking_lot::Mutex;

/// The numbers of live threads.
static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The number of a thread, until the thread ends.
struct Registration(usize);

impl Registration {
    fn new() -> Self {
        let mut taken = TAKEN.lock();
        let free = (0..).zip(&*taken).find(|(number, taken)| number != *taken);
        let number = free.map_or(taken.len(), |(number, _)| number);
        taken.insert(number);
        Self(number)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        TAKEN.lock().remove(&self.0);
    }
}

/// Returns the number of this thread: the smallest that no other live thread had when this function was
/// first called. A thread that is ending may have the number of another one.
#[inline]
pub(super) fn thread_number() -> usize {
    const NONE: usize = usize::MAX;
    thread_local! {
        // Without a destructor, so that reading it takes one load.
        static NUMBER: Cell<usize> = const { Cell::new(NONE) };
        static REGISTRATION: Registration = Registration::new();
    }
    #[cold]
    fn register() -> usize {
        let number = REGISTRATION.try_with(|registration| registration.0).unwrap_or(0);
        NUMBER.set(number);
        number
    }
    match NUMBER.get() {
        NONE => register(),
        number => number,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn live_threads_have_different_numbers_and_return_them() {
        const THREADS: usize = 8;
        for _ in 0..100 {
            let all_live = Barrier::new(THREADS);
            let number = || {
                let number = thread_number();
                all_live.wait();
                assert_eq!(thread_number(), number);
                number
            };
            let numbers: BTreeSet<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(number)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            assert_eq!(numbers.len(), THREADS);
            // Other tests run in threads of the same process.
            assert!(*numbers.last().expect("some") < 100 * THREADS / 2, "{numbers:?}");
        }
    }
}
