//! What threads have taken out of what is held, to look at it or to free it: others in need of memory wait
//! for that before they give up.

use std::cell::Cell;

use crate::error::Result;
use crate::lock::{Condvar, Mutex};

/// Which threads have held blocks out of sight, and how often that was of use to others.
#[derive(Debug, Default)]
pub(super) struct Freeing {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of each time that is under way.
    under_way: Vec<u64>,
    /// The number of the next.
    next: u64,
    /// How often a block was freed, or put back where it can be.
    times: u64,
}

#[cfg(not(loom))]
thread_local! {
    /// True if this thread has blocks out of sight, of whatever pool.
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
}

#[cfg(loom)]
loom::thread_local! {
    static IS_BUSY: Cell<bool> = Cell::new(false);
}

impl Freeing {
    /// How often a block has been freed, or put back.
    pub fn times(&self) -> u64 {
        self.state.lock().times
    }

    /// From now on, this thread may have held blocks out of sight.
    pub fn begin(&self) -> OutOfSight<'_> {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.under_way.push(number);
        drop(state);
        let was_busy = IS_BUSY.with(|busy| busy.replace(true));
        OutOfSight { freeing: self, number, was_busy, is_of_use: Cell::new(false) }
    }

    /// Frees what `take` finds, if it does, with `free`.
    pub fn free<B>(&self, take: impl FnOnce() -> Option<B>, free: impl FnOnce(B)) -> bool {
        let out = self.begin();
        let block = take();
        // Also where it panics.
        out.is_of_use(block.is_some());
        block.map(free).is_some()
    }

    /// Whether a block has been freed or put back since that was so many times, or will be by those threads
    /// that have some out of sight, for which this waits.
    pub fn has_changed_since(&self, times: u64) -> bool {
        // Who waits within what it does to blocks would wait for itself.
        if IS_BUSY.with(Cell::get) {
            return self.times() != times;
        }
        let mut state = self.state.lock();
        // Who begins later has nothing that was not to be seen before.
        let now = state.next;
        while state.times == times && state.under_way.iter().any(|began| *began < now) {
            state = self.changed.wait(state);
        }
        state.times != times
    }

    /// Frees what `take` finds, one at a time, until `attempt` has something after one: at first it is
    /// tried only where `is_worth_it`. It had nothing when blocks had been freed so many `times`.
    pub fn until<T, B>(
        &self,
        mut is_worth_it: bool,
        mut times: u64,
        mut attempt: impl FnMut() -> Result<Option<T>>,
        mut take: impl FnMut() -> Option<B>,
        mut free: impl FnMut(B),
    ) -> Result<Option<T>> {
        loop {
            if is_worth_it {
                times = self.times();
                if let Some(done) = attempt()? {
                    return Ok(Some(done));
                }
            }
            // Another thread may have been faster and have what it freed to spare, or have looked at what
            // this one did not find.
            if !self.free(&mut take, &mut free) && !self.has_changed_since(times) {
                return Ok(None);
            }
            is_worth_it = true;
        }
    }
}

/// Held blocks are out of sight until this is dropped, when they have been freed, put back or handed out.
#[derive(Debug)]
pub(super) struct OutOfSight<'a> {
    freeing: &'a Freeing,
    number: u64,
    was_busy: bool,
    is_of_use: Cell<bool>,
}

impl OutOfSight<'_> {
    /// Returns whether some of them will have been freed, or put back where they can be.
    pub fn is_of_use(&self, is_of_use: bool) {
        self.is_of_use.set(is_of_use);
    }
}

impl Drop for OutOfSight<'_> {
    fn drop(&mut self) {
        IS_BUSY.with(|busy| busy.set(self.was_busy));
        let mut state = self.freeing.state.lock();
        state.under_way.retain(|number| *number != self.number);
        state.times += u64::from(self.is_of_use.get());
        drop(state);
        self.freeing.changed.notify_all();
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
