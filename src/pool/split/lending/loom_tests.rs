//! Every order in which threads can get in each other's way at the roots of a pool, tried by loom:
//! `cargo xtask loom`.
//!
//! What is shown: bytes have one owner at a time, who sees what the one before did to them; a root that is in
//! use is not freed, and each is freed once; the counts are exact.

use std::sync::{Arc as Untracked, Mutex};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::lock;
use crate::pool::freeing::Freeing;
use crate::pool::shelf::Counts;

/// Bytes of a root, and of a part.
const ROOT: usize = 2;
const SIZE: usize = 1;

/// Nothing is known of free bytes.
#[derive(Clone, Default)]
struct Nothing;

impl Note for Nothing {
    fn join(&mut self, _: Self) {}
}

/// The driver's memory, changed by whoever has a part of it: loom complains where two do at the same time, and
/// where one does not come after the other.
struct Bytes([UnsafeCell<usize>; ROOT]);

/// A root's, which notes when it is freed.
struct Whole {
    bytes: Arc<Bytes>,
    number: usize,
    freed: Untracked<Mutex<Vec<usize>>>,
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.freed.lock().unwrap().push(self.number);
    }
}

struct Region {
    place: Place,
    handle: Handle,
}

/// The region's, and those of its clones.
#[derive(Clone)]
struct Handle {
    bytes: Arc<Bytes>,
    start: usize,
    lease: Arc<()>,
}

impl Handle {
    fn touch(&self) {
        // SAFETY: loom checks that nobody else does so meanwhile.
        self.bytes.0[self.start].with_mut(|byte| unsafe { *byte += 1 });
    }
}

impl Part for Region {
    type Note = Nothing;

    fn place(&self) -> Place {
        self.place
    }

    fn requested(&self) -> usize {
        SIZE
    }

    fn is_sole(&self) -> bool {
        Arc::strong_count(&self.handle.lease) == 1
    }

    fn note(&self) -> Nothing {
        Nothing
    }
}

struct Pool {
    roots: Roots<Whole, Region, Nothing>,
    freeing: Freeing,
    freed: Untracked<Mutex<Vec<usize>>>,
    /// For another thread.
    clone: lock::Mutex<Option<Handle>>,
}

impl Pool {
    /// A root of which nothing is in use.
    fn new() -> Arc<Self> {
        let (freed, roots) = (Untracked::default(), Roots::new(ROOT));
        let pool =
            Self { roots, freeing: Freeing::default(), freed, clone: lock::Mutex::default() };
        let bytes = Arc::new(Bytes([UnsafeCell::new(0), UnsafeCell::new(0)]));
        let freed = Untracked::clone(&pool.freed);
        let whole = Whole { bytes: Arc::clone(&bytes), number: 0, freed };
        let out = pool.freeing.begin();
        let place = pool.roots.state.lock().add(whole, ROOT, 1, SIZE).ok().expect("there is room");
        drop(pool.looked(&out, place, bytes));
        drop(out);
        Arc::new(pool)
    }

    fn looked<'a>(
        &'a self,
        out: &'a OutOfSight<'a>,
        place: Place,
        bytes: Arc<Bytes>,
    ) -> Looked<'a, Whole, Region, Nothing> {
        let handle = Handle { bytes, start: place.start, lease: Arc::new(()) };
        handle.touch();
        let part = Some(Region { place, handle });
        Looked { roots: &self.roots, out, place, note: Nothing, part }
    }

    /// Looks at free bytes as a pool does, and puts them back, or hands them out.
    fn take(&self, is_handed_out: bool) -> Option<Region> {
        self.roots.tidy();
        let out = self.freeing.begin();
        let bytes = |whole: &Whole| Arc::clone(&whole.bytes);
        let (place, _, bytes) = self.roots.state.lock().take(SIZE, &[], bytes)?;
        let looked = self.looked(&out, place, bytes);
        is_handed_out.then(|| looked.hand_out(SIZE, |_| ()))
    }

    fn release(&self, region: Region) {
        assert!(self.freed.lock().unwrap().is_empty(), "its root is in use");
        region.handle.touch();
        self.roots.take_back(region, None);
    }

    fn take_and_release(&self) {
        if let Some(region) = self.take(true) {
            self.release(region);
        }
    }

    fn counted(&self) -> (usize, usize, usize, usize) {
        let (counts, _) = self.roots.counts_with(Counts::default);
        let Counts { held_blocks, active_blocks, managed_bytes, active_bytes } = counts;
        (held_blocks.0, active_blocks.0, managed_bytes.0, active_bytes.0)
    }

    /// Returns whether all bytes are free and joined, and nothing lies aside.
    fn are_all_free(&self) -> bool {
        let mut state = self.roots.state.lock();
        let taken = state.take(ROOT, &[], |_| ());
        taken.map(|(place, ..)| drop(state.put_back(place, Nothing))).is_some()
    }

    fn is_freed(&self) -> bool {
        !self.freed.lock().unwrap().is_empty()
    }
}

/// Runs one of these in a thread of its own and the other in this, in every order; then `check`. Then the
/// root has been freed, and once.
fn explore(first: fn(&Pool), second: fn(&Pool), check: fn(&Pool)) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let pool = Pool::new();
        let others = Arc::clone(&pool);
        let handle = thread::spawn(move || first(&others));
        second(&pool);
        handle.join().expect("it ends");
        let expected = if pool.is_freed() { (0, 0, 0, 0) } else { (1, 0, ROOT, 0) };
        assert_eq!(pool.counted(), expected);
        check(&pool);
        drop(pool.roots.stop_holding());
        assert_eq!((pool.counted(), &pool.freed.lock().unwrap()[..]), ((0, 0, 0, 0), &[0][..]));
    });
}

#[test]
fn two_threads_at_one_root() {
    explore(Pool::take_and_release, Pool::take_and_release, |pool| {
        // All bytes are free again, and joined.
        assert!(pool.are_all_free());
    });
}

#[test]
fn a_root_in_use_is_not_freed() {
    explore(Pool::take_and_release, |pool| drop(pool.roots.drain()), |_| ());
    explore(Pool::take_and_release, |pool| drop(pool.roots.take_unused()), |_| ());
}

#[test]
fn what_is_looked_at_is_not_held_once_all_was_freed() {
    let look: fn(&Pool) = |pool| drop(pool.take(false));
    explore(look, |pool| drop(pool.roots.drain()), |pool| assert!(pool.is_freed()));
    explore(look, |pool| drop(pool.roots.stop_holding()), |pool| assert!(pool.is_freed()));
}

#[test]
fn what_is_handed_out_is_not_held_once_holding_has_stopped() {
    let stop: fn(&Pool) = |pool| drop(pool.roots.stop_holding());
    explore(Pool::take_and_release, stop, |pool| assert!(pool.is_freed()));
}

/// As who runs out of memory does.
#[test]
fn what_is_looked_at_is_found_when_it_is_put_back() {
    let need: fn(&Pool) = |pool| {
        let attempt = || Ok(pool.is_freed().then_some(()));
        let found = pool.freeing.until(true, 0, attempt, || pool.roots.take_unused(), drop);
        assert!(found.is_ok_and(|found| found.is_some()));
    };
    explore(|pool| drop(pool.take(false)), need, |pool| assert!(pool.is_freed()));
}

/// Bytes of which there is a clone are not handed out, and are free when it has gone.
#[test]
fn a_clone_keeps_its_bytes() {
    let with_clone: fn(&Pool) = |pool| {
        let region = pool.take(true).expect("there are two");
        *pool.clone.lock() = Some(region.handle.clone());
        pool.roots.take_back(region, None);
        pool.take_and_release();
    };
    let clone: fn(&Pool) = |pool| {
        let handle = pool.clone.lock().take();
        handle.iter().for_each(Handle::touch);
    };
    explore(with_clone, clone, |pool| {
        drop(pool.clone.lock().take());
        pool.roots.tidy();
        assert!(pool.are_all_free());
    });
}
