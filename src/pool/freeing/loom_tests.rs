//! Every order in which a thread that needs memory and others that look at held blocks or free them can
//! get in each other's way, tried by loom: `cargo xtask loom`.
//!
//! What is shown: nobody gives up while a block is held, and nobody waits for ever.

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::*;
use crate::pool::bin::Binning;
use crate::pool::shelf::{Shelved, Shelves, Wanted, give_back};
use crate::pool::stack::Linked;

/// All blocks are alike.
#[derive(Default)]
struct Block {
    below: Option<Box<Self>>,
}

const BIN: u32 = 6;
const SIZE: usize = 100;

impl Linked for Box<Block> {
    fn below(&mut self) -> &mut Option<Self> {
        &mut self.below
    }
}

impl Shelved for Box<Block> {
    fn bin(&self) -> u32 {
        BIN
    }

    fn size(&self) -> usize {
        SIZE
    }

    fn requested(&self) -> usize {
        SIZE
    }
}

/// A pool, and how many blocks there is memory for.
struct Pool {
    shelves: Shelves<Box<Block>>,
    freeing: Freeing,
    left: AtomicUsize,
    /// How many of the others' requests have been met.
    served: AtomicUsize,
}

impl Pool {
    /// Looks at the block that is held as a pool does, and puts it back, or hands it out.
    fn look(&self, is_handed_out: bool) -> Option<Box<Block>> {
        let wanted = Wanted { bin: BIN, at_least: SIZE, at_most: SIZE, last_bin: BIN };
        let out = self.freeing.begin();
        let candidate = self.shelves.candidates(0, &wanted, 1).pop()?;
        out.is_of_use(!is_handed_out);
        is_handed_out.then(|| candidate.choose(|_| ()))
    }

    /// Asks for memory that no held block will do for.
    fn allocate(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        let attempt = || {
            let taken = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
            Ok(taken.ok())
        };
        let free = |_| {
            self.left.fetch_add(1, Ordering::AcqRel);
        };
        let found = self.freeing.until(true, 0, attempt, || self.shelves.take_largest(), free);
        found.expect("no driver fails").is_some()
    }
}

/// Runs this in a thread of its own and asks for memory in this one, in every order, when a block is held
/// and there is no memory for another.
fn explore(other: fn(&Pool), check: fn(&Pool, bool)) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let shelves = Shelves::new(1, Binning::new(0).unwrap());
        shelves.add(0, &Box::default());
        assert!(give_back(shelves.of(0), Box::default()).is_none());
        let (left, served) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let pool = Arc::new(Pool { shelves, freeing: Freeing::default(), left, served });
        let others = Arc::clone(&pool);
        let handle = thread::spawn(move || other(&others));
        let found = pool.allocate();
        handle.join().expect("it ends");
        check(&pool, found);
    });
}

#[test]
fn what_is_looked_at_is_freed_when_it_is_put_back() {
    explore(|pool| drop(pool.look(false)), |_, found| assert!(found));
}

#[test]
fn what_is_looked_at_again_is_freed_all_the_same() {
    explore(|pool| drop([pool.look(false), pool.look(false)]), |_, found| assert!(found));
}

#[test]
fn what_another_thread_frees_is_there() {
    explore(
        |pool| {
            let free = |_| {
                pool.left.fetch_add(1, Ordering::AcqRel);
            };
            pool.freeing.free(|| pool.shelves.take_largest(), free);
        },
        |_, found| assert!(found),
    );
}

/// It is handed out, and comes back later or not at all.
#[test]
fn nobody_waits_for_what_is_handed_out() {
    let hand_out: fn(&Pool) = |pool| {
        if let Some(block) = pool.look(true) {
            assert!(give_back(pool.shelves.of(0), block).is_none());
        }
    };
    explore(hand_out, |_, _| ());
}

/// Both need memory, and there is a block for one of them.
#[test]
fn of_two_threads_one_gets_what_is_held() {
    let allocate: fn(&Pool) = |pool| {
        pool.served.fetch_add(usize::from(pool.allocate()), Ordering::AcqRel);
    };
    explore(allocate, |pool, found| {
        assert_eq!(pool.served.load(Ordering::Acquire) + usize::from(found), 1);
    });
}
