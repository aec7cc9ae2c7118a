//! Numbers of live threads.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use parking_lot::Mutex;

/// The numbers that no live thread has.
#[derive(Debug)]
struct FreeNumbers {
    /// Numbers below `next` whose threads have ended.
    returned: BinaryHeap<Reverse<usize>>,
    /// The smallest number that no thread ever had.
    next: usize,
}

impl FreeNumbers {
    const fn new() -> Self {
        Self { returned: BinaryHeap::new(), next: 0 }
    }

    /// Takes the smallest number.
    fn take(&mut self) -> usize {
        if let Some(Reverse(number)) = self.returned.pop() {
            return number;
        }
        self.next += 1;
        self.next - 1
    }

    fn release(&mut self, number: usize) {
        self.returned.push(Reverse(number));
    }
}

static FREE: Mutex<FreeNumbers> = Mutex::new(FreeNumbers::new());

/// The number of a thread, until the thread ends.
struct Registration(usize);

impl Registration {
    fn new() -> Self {
        Self(FREE.lock().take())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        FREE.lock().release(self.0);
    }
}

/// Returns the number of this thread: the smallest that no other live thread had when this function was
/// first called. A thread that is ending may have the number of another.
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
    use std::collections::BTreeSet;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn the_smallest_free_number_is_taken_first() {
        let mut free = FreeNumbers::new();
        assert_eq!([free.take(), free.take(), free.take(), free.take()], [0, 1, 2, 3]);
        [2, 0, 1].into_iter().for_each(|number| free.release(number));
        assert_eq!([free.take(), free.take()], [0, 1]);
        free.release(0);
        assert_eq!([free.take(), free.take(), free.take()], [0, 2, 4]);
    }

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
