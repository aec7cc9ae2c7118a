//! Every order in which threads can get in each other's way at a pool's shelves, tried by loom:
//! `cargo xtask loom`.
//!
//! What is shown: a block has one owner at a time, who sees what the one before did to it; none is lost;
//! the counts are exact; and nobody touches a pool that has been freed.

use std::sync::{Arc as Untracked, Mutex};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

use super::*;

/// What blocks keep, as they do a pool's.
struct Pool {
    shelves: Shelves<Box<Block>>,
    log: Untracked<Log>,
}

/// What became of the blocks and the pool, of which loom need not know.
#[derive(Default)]
struct Log {
    made: Mutex<usize>,
    freed: Mutex<Vec<usize>>,
}

struct Block {
    pool: Arc<Pool>,
    number: usize,
    requested: usize,
    /// Changed by whoever has the block: loom complains where two do at the same time, and where one does
    /// not come after the other.
    bytes: UnsafeCell<usize>,
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
        self.requested
    }
}

impl Block {
    /// What its owner may do.
    fn touch(&self) {
        // SAFETY: loom checks that nobody else does so meanwhile.
        self.bytes.with_mut(|bytes| unsafe { *bytes += 1 });
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.touch();
        self.pool.log.freed.lock().unwrap().push(self.number);
    }
}

/// Does what `Pooled` does when it is dropped.
fn release(thread: usize, block: Box<Block>) {
    block.touch();
    let pool: *const Pool = Arc::as_ptr(&block.pool);
    // SAFETY: the block keeps the pool. That no more is touched than may be is what is shown.
    let shelf = unsafe { (*pool).shelves.of(thread) };
    drop(give_back(shelf, block));
}

impl Pool {
    fn wanted() -> Wanted {
        Wanted { bin: BIN, at_least: SIZE, at_most: SIZE, last_bin: BIN }
    }

    fn take(&self, thread: usize) -> Option<Box<Block>> {
        let block = self.shelves.take(thread, BIN, |_| true, |block| block.requested = 60);
        block.inspect(|block| block.touch())
    }

    fn look(&self, thread: usize) -> Vec<Candidate<'_, Box<Block>>> {
        self.shelves.candidates(thread, &Self::wanted(), 1)
    }

    fn reuse(&self, thread: usize) -> Option<Box<Block>> {
        let candidate = self.look(thread).pop()?;
        candidate.touch();
        let block = candidate.choose(|block| block.requested = 70);
        Some(block)
    }

    fn look_and_put_back(&self, thread: usize) {
        self.look(thread).iter().for_each(|candidate| candidate.touch());
    }

    fn counted(&self) -> (usize, usize, usize, usize) {
        let Counts { held_blocks, active_blocks, managed_bytes, active_bytes } =
            self.shelves.counts();
        (held_blocks.0, active_blocks.0, managed_bytes.0, active_bytes.0)
    }
}

/// A new block, which is active.
fn make(pool: &Arc<Pool>, thread: usize) -> Box<Block> {
    let mut made = pool.log.made.lock().unwrap();
    let (pool, number) = (Arc::clone(pool), *made);
    *made += 1;
    drop(made);
    let block =
        Box::new(Block { pool, number, requested: 50, bytes: UnsafeCell::new(0), below: None });
    block.pool.shelves.add(thread, &block);
    block
}

/// As a pool does.
fn allocate(pool: &Arc<Pool>, thread: usize) -> Box<Block> {
    pool.take(thread).or_else(|| pool.reuse(thread)).unwrap_or_else(|| make(pool, thread))
}

/// A pool with this many shelves, and a block held on the last one.
fn pool_with_a_block(shelves: usize) -> Arc<Pool> {
    let binning = Binning::new(0).unwrap();
    let pool = Pool { shelves: Shelves::new(shelves, binning), log: Untracked::default() };
    let pool = Arc::new(pool);
    release(shelves - 1, make(&pool, 0));
    pool
}

/// Runs each of these in a thread of its own and the last one in this, in every order; then `check`.
/// Then whatever was made has been freed, and once.
fn explore<const N: usize>(shelves: usize, threads: [fn(&Arc<Pool>); N], check: fn(&Arc<Pool>)) {
    let mut builder = Builder::new();
    // Few bugs need more than two threads to be interrupted at the wrong time.
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let pool = pool_with_a_block(shelves);
        let log = Untracked::clone(&pool.log);
        let [others @ .., last] = &threads[..] else { return };
        let handles: Vec<_> = others
            .iter()
            .map(|&work| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || work(&pool))
            })
            .collect();
        last(&pool);
        handles.into_iter().for_each(|handle| handle.join().expect("it ends"));
        check(&pool);
        drop(pool.shelves.stop_holding());
        assert_eq!(pool.counted(), (0, 0, 0, 0));
        drop(pool);
        let (made, mut freed) = (*log.made.lock().unwrap(), log.freed.lock().unwrap().clone());
        freed.sort_unstable();
        assert!(freed.iter().copied().eq(0..made), "{made} were made, {freed:?} freed");
    });
}

fn allocate_and_release_in_two_threads(shelves: usize) {
    let threads: [fn(&Arc<Pool>); 2] =
        [|pool| release(0, allocate(pool, 0)), |pool| release(1, allocate(pool, 1))];
    explore(shelves, threads, |pool| {
        let made = *pool.log.made.lock().unwrap();
        assert!(made <= 2, "a block was there for one of them");
        assert_eq!(pool.counted(), (made, 0, made * SIZE, 0));
    });
}

#[test]
fn two_threads_at_one_shelf() {
    allocate_and_release_in_two_threads(1);
}

#[test]
fn two_threads_at_two_shelves() {
    allocate_and_release_in_two_threads(2);
}

#[test]
fn counts_are_those_of_one_moment() {
    let threads: [fn(&Arc<Pool>); 2] = [
        |pool| {
            let block = pool.take(1).expect("nobody else takes it");
            release(0, block);
        },
        |pool| {
            let counted = pool.counted();
            assert!([(1, 0, SIZE, 0), (0, 1, SIZE, 60)].contains(&counted), "{counted:?}");
        },
    ];
    explore(2, threads, |pool| assert_eq!(pool.counted(), (1, 0, SIZE, 0)));
}

/// Returns whether the block came to the shelf before or after, or was looked at meanwhile.
fn all_is_freed(pool: &Arc<Pool>) {
    assert_eq!(pool.counted(), (0, 0, 0, 0));
    assert_eq!(pool.log.freed.lock().unwrap().len(), *pool.log.made.lock().unwrap());
}

#[test]
fn what_is_looked_at_is_not_held_once_all_was_freed() {
    let threads: [fn(&Arc<Pool>); 2] =
        [|pool| pool.look_and_put_back(0), |pool| drop(pool.shelves.drain())];
    explore(1, threads, all_is_freed);
    explore(2, threads, all_is_freed);
}

#[test]
fn what_is_looked_at_is_not_held_once_holding_has_stopped() {
    let threads: [fn(&Arc<Pool>); 2] =
        [|pool| pool.look_and_put_back(0), |pool| drop(pool.shelves.stop_holding())];
    explore(2, threads, all_is_freed);
}

#[test]
fn what_is_handed_out_is_not_held_once_holding_has_stopped() {
    let threads: [fn(&Arc<Pool>); 2] =
        [|pool| release(0, allocate(pool, 0)), |pool| drop(pool.shelves.stop_holding())];
    explore(2, threads, all_is_freed);
}

#[test]
fn all_is_freed_while_a_block_is_handed_out() {
    let threads: [fn(&Arc<Pool>); 2] =
        [|pool| release(0, allocate(pool, 0)), |pool| drop(pool.shelves.drain())];
    explore(2, threads, |pool| {
        let (held, active, managed, requested) = pool.counted();
        assert_eq!((active, managed, requested), (0, held * SIZE, 0));
    });
}

#[test]
fn the_largest_is_freed_while_a_block_is_handed_out() {
    let threads: [fn(&Arc<Pool>); 2] =
        [|pool| release(0, allocate(pool, 0)), |pool| drop(pool.shelves.take_largest())];
    explore(2, threads, |pool| {
        let (held, active, managed, requested) = pool.counted();
        assert_eq!((active, managed, requested), (0, held * SIZE, 0));
    });
}

#[test]
fn idle_blocks_are_freed_while_a_block_is_handed_out() {
    let threads: [fn(&Arc<Pool>); 2] =
        [|pool| release(0, allocate(pool, 0)), |pool| drop(pool.shelves.sweep(|_| false))];
    explore(2, threads, |pool| {
        let (held, active, managed, requested) = pool.counted();
        assert_eq!((active, managed, requested), (0, held * SIZE, 0));
    });
}

/// Releases a block in a thread of its own, while `end` does away with the pool: the block may then be the
/// last that keeps it, or the pool may be freed before that thread has come back from it.
fn outlive(end: fn(Arc<Pool>)) {
    loom::model(move || {
        let pool = pool_with_a_block(1);
        let log = Untracked::clone(&pool.log);
        let block = make(&pool, 0);
        let releases = thread::spawn(move || release(0, block));
        end(pool);
        releases.join().expect("it ends");
        assert_eq!(log.freed.lock().unwrap().len(), *log.made.lock().unwrap());
        // The pool, too, has been freed.
        assert_eq!(Untracked::strong_count(&log), 1);
    });
}

/// As the last handle of a pool does.
fn drop_pool(pool: Arc<Pool>) {
    drop(pool.shelves.stop_holding());
}

#[test]
fn a_pool_is_dropped_while_its_last_block_is_released() {
    outlive(drop_pool);
}

#[test]
fn a_pool_is_dropped_before_two_threads_release_its_last_blocks() {
    outlive(|pool| {
        let block = make(&pool, 0);
        drop_pool(pool);
        release(0, block);
    });
}

/// Another thread has what was the last block as soon as it is on the shelf.
#[test]
fn the_last_block_is_handed_out_and_dropped_with_the_pool() {
    outlive(|pool| {
        let block = pool.take(0).expect("there was one");
        drop_pool(pool);
        release(0, block);
    });
}
