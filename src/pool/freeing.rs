//! What threads free for themselves, which others in need of memory come to know of.

use std::cell::Cell;

use parking_lot::{Condvar, Mutex};

/// Which threads are about to free a block, and how often one has.
#[derive(Debug, Default)]
pub(super) struct Freeing {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    threads: usize,
    times: u64,
}

thread_local! {
    /// Whether this thread is about to free a block, of whatever pool.
    static IS_FREEING: Cell<bool> = const { Cell::new(false) };
}

impl Freeing {
    /// How often a block has been freed.
    pub fn times(&self) -> u64 {
        self.counts.lock().times
    }

    /// Frees the block that `take` finds, if it does, with `free`.
    pub fn free<B>(&self, take: impl FnOnce() -> Option<B>, free: impl FnOnce(B)) -> bool {
        self.counts.lock().threads += 1;
        let mut end =
            End { freeing: self, was_freeing: IS_FREEING.replace(true), has_freed: false };
        let block = take();
        // Also where it panics.
        end.has_freed = block.is_some();
        block.map(free).is_some()
    }

    /// Whether a block has been freed since it was so many times, or will be by those threads that are
    /// about to, for which this waits.
    pub fn has_freed_since(&self, times: u64) -> bool {
        let mut counts = self.counts.lock();
        // Who waits within what it does to free a block would wait for itself.
        while counts.times == times && counts.threads > 0 && !IS_FREEING.get() {
            self.changed.wait(&mut counts);
        }
        counts.times != times
    }
}

/// A thread has freed a block, or found none.
struct End<'a> {
    freeing: &'a Freeing,
    was_freeing: bool,
    has_freed: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        IS_FREEING.set(self.was_freeing);
        let mut counts = self.freeing.counts.lock();
        counts.threads -= 1;
        counts.times += u64::from(self.has_freed);
        self.freeing.changed.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn what_others_are_about_to_free_is_waited_for() {
        let (freeing, taken) = (Freeing::default(), Barrier::new(2));
        assert!(!freeing.has_freed_since(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                freeing.free(
                    || {
                        taken.wait();
                        Some(())
                    },
                    |()| assert!(!freeing.has_freed_since(0), "it does not wait for itself"),
                )
            });
            taken.wait();
            assert!(freeing.has_freed_since(0));
        });
        assert!(!freeing.free(|| None, |(): ()| ()));
        assert!(freeing.times() == 1 && !freeing.has_freed_since(1));
    }
}
