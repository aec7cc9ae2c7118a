//! Shelves against a model that is too simple to be wrong, and under many threads.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::*;

type Block = Box<Fields>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    number: usize,
    bin: u32,
    size: usize,
    requested: usize,
    below: Option<Block>,
}

fn block(number: usize, bin: u32, size: usize, requested: usize) -> Block {
    Box::new(Fields { number, bin, size, requested, below: None })
}

impl Linked for Block {
    fn below(&mut self) -> &mut Option<Self> {
        &mut self.below
    }
}

impl Shelved for Block {
    fn bin(&self) -> u32 {
        self.bin
    }

    fn size(&self) -> usize {
        self.size
    }

    fn requested(&self) -> usize {
        self.requested
    }
}

/// The largest size that there is: less than that of its bin.
const MOST: usize = (1 << 40) + 5;

fn size_of_new(binning: Binning, size: usize) -> usize {
    binning.size(binning.bin(size)).min(MOST)
}

fn wanted(binning: Binning, size: usize, percent: usize) -> Wanted {
    let of_bin = binning.size(binning.bin(size));
    let at_most = of_bin + of_bin / 100 * percent;
    Wanted { bin: binning.bin(size), at_least: size, at_most, last_bin: binning.bin(at_most) }
}

fn will_do(block: &Block, wanted: &Wanted) -> bool {
    block.size >= wanted.at_least && block.size <= wanted.at_most
}

/// What is done to a pool.
#[derive(Clone, Debug)]
enum Step {
    /// `take`, and a new block where there is none.
    Allocate {
        thread: usize,
        size: usize,
    },
    /// `take_any` of those whose number is not divided by this.
    TakeAny {
        thread: usize,
        size: usize,
        percent: usize,
        divisor: usize,
    },
    /// Looks at up to `most` blocks, and chooses one of them, or none.
    Look {
        thread: usize,
        size: usize,
        percent: usize,
        most: usize,
        pick: usize,
        meanwhile: Meanwhile,
    },
    GiveBack {
        thread: usize,
        which: usize,
    },
    TakeLargest,
    /// Frees those whose number is divided by this.
    Sweep {
        divisor: usize,
    },
    Drain,
    StopHolding,
}

/// What another thread does while blocks are looked at.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Nothing,
    Drain,
    StopHolding,
    /// Gives a block back.
    GiveBack,
}

/// All held blocks in the order in which they came, by shelf; and the others.
#[derive(Debug, Default)]
struct Model {
    held: Vec<Vec<Block>>,
    active: Vec<Block>,
    /// Being looked at.
    looked_at: usize,
    looked_at_bytes: usize,
    made: usize,
    has_stopped: bool,
}

impl Model {
    fn counts(&self) -> Counts {
        let held = || self.held.iter().flatten();
        let bytes = |blocks: &[Block]| blocks.iter().map(Block::size).sum::<usize>();
        let held_bytes: usize = held().map(Block::size).sum();
        Counts {
            held_blocks: Wrapping(held().count() + self.looked_at),
            active_blocks: Wrapping(self.active.len()),
            managed_bytes: Wrapping(held_bytes + self.looked_at_bytes + bytes(&self.active)),
            active_bytes: Wrapping(self.active.iter().map(Block::requested).sum()),
        }
    }

    /// Takes the last of the bin, if it is one like this.
    fn pop(&mut self, shelf: usize, bin: u32, is_one: impl Fn(&Block) -> bool) -> Option<Block> {
        let held = &mut self.held[shelf];
        let last = held.iter().rposition(|block| block.bin == bin)?;
        is_one(&held[last]).then(|| held.remove(last))
    }

    /// All shelves, this thread's first.
    fn shelves_from(&self, thread: usize) -> impl Iterator<Item = usize> + use<> {
        let shelves = self.held.len();
        (0..shelves).map(move |nth| (thread + nth) % shelves)
    }

    /// The bins of the held blocks of a shelf that may do, the lowest first.
    fn bins(&self, shelf: usize, wanted: &Wanted) -> Vec<u32> {
        let mut bins: Vec<_> = self.held[shelf].iter().map(|block| block.bin).collect();
        bins.retain(|bin| (wanted.bin..=wanted.last_bin).contains(bin));
        bins.sort_unstable();
        bins
    }

    fn take_any(&mut self, thread: usize, wanted: &Wanted, divisor: usize) -> Option<Block> {
        let will_do =
            |block: &Block| will_do(block, wanted) && !block.number.is_multiple_of(divisor);
        self.shelves_from(thread).find_map(|shelf| {
            let lowest = *self.bins(shelf, wanted).first()?;
            self.pop(shelf, lowest, will_do)
        })
    }

    fn look(&mut self, thread: usize, wanted: &Wanted, most: usize) -> Vec<(usize, Block)> {
        let mut found = Vec::new();
        for shelf in self.shelves_from(thread) {
            for bin in self.bins(shelf, wanted) {
                if found.len() < most
                    && let Some(block) = self.pop(shelf, bin, |block| will_do(block, wanted))
                {
                    found.push((shelf, block));
                }
            }
        }
        found
    }

    fn give_back(&mut self, thread: usize, block: Block) -> Option<Block> {
        if self.has_stopped {
            return Some(block);
        }
        let shelf = thread % self.held.len();
        self.held[shelf].push(block);
        None
    }

    fn drain(&mut self) -> Vec<Block> {
        self.held.iter_mut().flat_map(std::mem::take).collect()
    }

    /// The last of the highest bin.
    fn take_largest(&mut self) -> Option<Block> {
        let bins = |(shelf, held): (usize, &Vec<Block>)| {
            held.iter().map(|block| block.bin).max().map(|bin| (bin, shelf))
        };
        let (bin, shelf) = self.held.iter().enumerate().filter_map(bins).max()?;
        self.pop(shelf, bin, |_| true)
    }
}

/// The same blocks, in whatever order.
fn assert_same(mut found: Vec<Block>, mut expected: Vec<Block>) {
    found.sort_by_key(|block| block.number);
    expected.sort_by_key(|block| block.number);
    assert_eq!(found, expected);
}

/// Shelves, and what they should be.
struct Pair {
    binning: Binning,
    shelves: Shelves<Block>,
    model: Model,
}

impl Pair {
    fn new(bits: u32, shelves: usize) -> Self {
        let binning = Binning::new(bits).unwrap();
        let model = Model { held: vec![Vec::new(); shelves], ..Model::default() };
        Self { binning, shelves: Shelves::new(shelves, binning), model }
    }

    fn allocate(&mut self, thread: usize, size: usize) {
        let bin = self.binning.bin(size);
        let fits = |block: &Block| block.size >= size;
        let found = self.shelves.take(thread, bin, fits, |block| block.requested = size);
        let shelf = thread % self.model.held.len();
        let mut expected = self.model.pop(shelf, bin, fits);
        if let Some(block) = &mut expected {
            block.requested = size;
        }
        assert_eq!(found, expected, "the last of its bin, if it is large enough");
        let block = match found {
            Some(block) => block,
            None if size > MOST => return,
            None => {
                let (number, size_of_new) = (self.model.made, size_of_new(self.binning, size));
                self.model.made += 1;
                let block = block(number, bin, size_of_new, size);
                self.shelves.add(thread, &block);
                block
            }
        };
        self.model.active.push(block);
    }

    fn look(&mut self, thread: usize, wanted: &Wanted, most: usize, pick: usize, then: Meanwhile) {
        let mut found = self.shelves.candidates(thread, wanted, most);
        let mut expected = self.model.look(thread, wanted, most);
        assert!(found.iter().map(|block| &**block).eq(expected.iter().map(|(_, block)| block)));
        self.model.looked_at = expected.len();
        self.model.looked_at_bytes = expected.iter().map(|(_, block)| block.size).sum();
        assert_eq!(self.shelves.counts(), self.model.counts());
        let are_freed = matches!(then, Meanwhile::Drain | Meanwhile::StopHolding);
        match then {
            Meanwhile::Nothing => {}
            Meanwhile::Drain => assert_same(self.shelves.drain(), self.model.drain()),
            Meanwhile::StopHolding => {
                assert_same(self.shelves.stop_holding(), self.model.drain());
                self.model.has_stopped = true;
            }
            Meanwhile::GiveBack => {
                if let Some(block) = self.model.active.pop() {
                    let shelf = self.shelves.of(thread);
                    let freed = give_back(shelf, block.clone());
                    assert_eq!(freed, self.model.give_back(thread, block));
                }
            }
        }
        assert_eq!(self.shelves.counts(), self.model.counts());
        if pick < found.len() {
            let at_least = wanted.at_least;
            let block = found.remove(pick).choose(|block| block.requested = at_least);
            assert_eq!(block.number, expected.remove(pick).1.number);
            assert!(block.size >= at_least && block.size <= wanted.at_most);
            self.model.active.push(block);
        }
        drop(found);
        (self.model.looked_at, self.model.looked_at_bytes) = (0, 0);
        for (shelf, block) in expected {
            if !are_freed && !self.model.has_stopped {
                self.model.held[shelf].insert(0, block);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Allocate { thread, size } => self.allocate(thread, size),
            Step::TakeAny { thread, size, percent, divisor } => {
                let wanted = wanted(self.binning, size, percent);
                let ready = |block: &Block| !block.number.is_multiple_of(divisor);
                let found =
                    self.shelves.take_any(thread, &wanted, ready, |block| block.requested = size);
                let expected = self.model.take_any(thread, &wanted, divisor);
                let number = |block: &Option<Block>| block.as_ref().map(|block| block.number);
                assert_eq!(number(&found), number(&expected));
                self.model.active.extend(found);
            }
            Step::Look { thread, size, percent, most, pick, meanwhile } => {
                let wanted = wanted(self.binning, size, percent);
                self.look(thread, &wanted, most, pick, meanwhile);
            }
            Step::GiveBack { thread, which } => {
                if !self.model.active.is_empty() {
                    let which = which % self.model.active.len();
                    let block = self.model.active.swap_remove(which);
                    let freed = give_back(self.shelves.of(thread), block.clone());
                    assert_eq!(freed, self.model.give_back(thread, block));
                }
            }
            Step::TakeLargest => {
                let found = self.shelves.take_largest();
                assert_eq!(found, self.model.take_largest());
                let bin = found.map_or(0, |block| block.bin);
                assert!(self.model.held.iter().flatten().all(|block| block.bin <= bin));
            }
            Step::Sweep { divisor } => {
                let is_kept = |block: &Block| !block.number.is_multiple_of(divisor);
                let mut expected = Vec::new();
                for held in &mut self.model.held {
                    expected.extend(held.extract_if(.., |block| !is_kept(block)));
                }
                assert_same(self.shelves.sweep(is_kept), expected);
            }
            Step::Drain => assert_same(self.shelves.drain(), self.model.drain()),
            Step::StopHolding => {
                self.model.has_stopped = true;
                assert_same(self.shelves.stop_holding(), self.model.drain());
            }
        }
        assert_eq!(self.shelves.counts(), self.model.counts());
    }
}

/// Few bins, so that blocks meet; beside and above the largest size, too.
fn sizes() -> impl Strategy<Value = usize> {
    let exponent = prop_oneof![Just(0_u32), Just(7), Just(11), Just(12), Just(40)];
    let near = (exponent, 0..12_usize).prop_map(|(exponent, more)| (1 << exponent) + more);
    prop_oneof![8 => near, 1 => Just(0), 1 => 1..MOST]
}

/// So few that many blocks of one bin are held.
fn few_sizes() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 1000..1003_usize, 1 => sizes()]
}

fn steps(sizes: fn() -> BoxedStrategy<usize>) -> impl Strategy<Value = Step> {
    let meanwhile = prop_oneof![
        6 => Just(Meanwhile::Nothing),
        1 => Just(Meanwhile::Drain),
        1 => Just(Meanwhile::StopHolding),
        2 => Just(Meanwhile::GiveBack),
    ];
    let threads = || 0..9_usize;
    let percent = || prop_oneof![Just(0_usize), Just(25), Just(100)];
    let look = (threads(), sizes(), percent(), 0..5_usize, 0..6_usize, meanwhile);
    let take_any = (threads(), sizes(), percent(), 1..4_usize);
    prop_oneof![
        12 => take_any.prop_map(|(thread, size, percent, divisor)| {
            Step::TakeAny { thread, size, percent, divisor }
        }),
        30 => (threads(), sizes()).prop_map(|(thread, size)| Step::Allocate { thread, size }),
        28 => (threads(), 0..99_usize).prop_map(|(thread, which)| Step::GiveBack { thread, which }),
        12 => look.prop_map(|(thread, size, percent, most, pick, meanwhile)| {
            Step::Look { thread, size, percent, most, pick, meanwhile }
        }),
        4 => Just(Step::TakeLargest),
        2 => (1..4_usize).prop_map(|divisor| Step::Sweep { divisor }),
        1 => Just(Step::Drain),
        // Little is left to be seen after it.
        1 => Just(Step::StopHolding),
    ]
}

#[test]
fn shelves_are_as_a_simple_model() {
    const SEED: [u8; 32] = *b"clmatrix's shelves and its model";
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let case = |shelves, sizes| {
        (0..=Binning::MOST_BITS, shelves, prop::collection::vec(steps(sizes), 1..120))
    };
    let cases =
        prop_oneof![case(0..3_u32, || sizes().boxed()), case(0..1, || few_sizes().boxed()),];
    let tried = TestRunner::new_with_rng(config, rng).run(&cases, |(bits, shelves, steps)| {
        let mut pair = Pair::new(bits, 1 << shelves);
        steps.iter().for_each(|step| pair.step(step));
        Ok(())
    });
    match tried {
        Ok(()) => {}
        Err(TestError::Fail(why, smallest)) => {
            let seed = String::from_utf8_lossy(&SEED);
            panic!("{why}\nfor {smallest:#?}\n(from the seed {seed:?})")
        }
        Err(TestError::Abort(why)) => panic!("no cases: {why}"),
    }
}

#[test]
fn what_was_looked_at_and_not_chosen_goes_last() {
    for bits in [4, Binning::MOST_BITS] {
        let mut pair = Pair::new(bits, 1);
        let give_back = Step::GiveBack { thread: 0, which: 0 };
        let (thread, size, percent, most, meanwhile) = (0, 100, 0, 3, Meanwhile::GiveBack);
        let look = |pick| Step::Look { thread, size, percent, most, pick, meanwhile };
        (0..8).for_each(|_| pair.allocate(0, 100));
        (0..7).for_each(|_| pair.step(&give_back));
        [look(most), look(1), give_back, look(most)].iter().for_each(|step| pair.step(step));
        pair.step(&Step::Sweep { divisor: 3 });
        (0..8).for_each(|_| pair.allocate(0, 100));
        assert_eq!(pair.model.made, 8 + 3, "of the first, those are gone that 3 divides");
    }
}

#[test]
fn what_is_looked_at_goes_back_where_something_unwinds() {
    let mut pair = Pair::new(4, 2);
    (0..3).for_each(|_| pair.allocate(0, 100));
    (0..3).for_each(|which| pair.step(&Step::GiveBack { thread: 0, which }));
    let unwinding = || {
        let candidates = pair.shelves.candidates(1, &wanted(pair.binning, 100, 0), 2);
        assert_eq!(candidates.len(), 3, "it unwinds");
    };
    let unwound = panic::catch_unwind(AssertUnwindSafe(unwinding));
    assert!(unwound.is_err());
    assert_eq!(pair.shelves.counts(), pair.model.counts());
    assert_same(pair.shelves.drain(), pair.model.drain());
    assert_eq!(pair.shelves.counts(), Counts::default());
}

#[test]
fn what_unwinds_under_the_lock_releases_it() {
    let mut pair = Pair::new(4, 1);
    pair.allocate(0, 100);
    pair.step(&Step::GiveBack { thread: 0, which: 0 });
    let bin = pair.binning.bin(100);
    let unwinding = || pair.shelves.take(0, bin, |_| panic!("it unwinds"), |_| ());
    let unwound = panic::catch_unwind(AssertUnwindSafe(unwinding));
    assert!(unwound.is_err());
    pair.allocate(0, 101);
    assert_eq!((pair.model.made, pair.shelves.counts()), (1, pair.model.counts()));
}

/// A block that goes from one shelf to the other and back, with another size asked for on each.
#[test]
fn counts_of_a_shelf_may_wrap_around() {
    let half = usize::MAX / 2;
    let binning = Binning::new(0).unwrap();
    let shelves = Shelves::new(2, binning);
    let mut block = block(0, binning.bin(half), half, half);
    shelves.add(0, &block);
    for round in 0..8 {
        let (thread, requested) = [(1, 1), (0, half)][round % 2];
        assert_eq!(give_back(shelves.of(thread), block), None);
        assert_eq!(shelves.counts().active_bytes.0, 0);
        let taken =
            shelves.take(thread, binning.bin(half), |_| true, |block| block.requested = requested);
        block = taken.expect("it has just come");
        let counts = shelves.counts();
        assert_eq!((counts.active_bytes.0, counts.managed_bytes.0), (requested, half));
    }
}

/// Numbers that look like any others.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// A million times, takes a block of some size or gives one back, on this thread's shelf or, as if a block
/// had been sent to another thread, on another. Returns what it still has.
fn work(shelves: &Shelves<Block>, binning: Binning, made: &AtomicUsize, nth: usize) -> Vec<Block> {
    const STEPS: usize = 1_000_000;
    let mut random = Random(0x9e37_79b9_7f4a_7c15 + nth as u64);
    let mut kept = Vec::new();
    for step in 0..STEPS {
        if kept.len() < 16 && random.below(2) == 0 {
            let size = (1 << random.below(20)) + random.below(64);
            let bin = binning.bin(size);
            let taken = shelves.take(nth, bin, |_| true, |block| block.requested = size);
            let block = taken.unwrap_or_else(|| {
                let number = made.fetch_add(1, Ordering::Relaxed);
                let block = block(number, bin, binning.size(bin), size);
                shelves.add(nth, &block);
                block
            });
            assert!(block.size >= size);
            kept.push(block);
        } else if !kept.is_empty() {
            let block = kept.swap_remove(random.below(kept.len()));
            let thread = if step % 8 == 0 { random.below(8) } else { nth };
            assert_eq!(give_back(shelves.of(thread), block), None);
        }
    }
    kept
}

#[test]
fn counts_are_exact_after_a_million_steps_in_each_of_eight_threads() {
    let binning = Binning::new(4).unwrap();
    let (shelves, made) = (Shelves::new(4, binning), AtomicUsize::new(0));
    let active: Vec<Block> = thread::scope(|scope| {
        let work = |nth| {
            let (shelves, made) = (&shelves, &made);
            scope.spawn(move || work(shelves, binning, made, nth))
        };
        let threads: Vec<_> = (0..8).map(work).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    let counts = shelves.counts();
    let held = shelves.drain();
    let made = made.into_inner();
    let all: BTreeMap<_, _> =
        held.iter().chain(&active).map(|block| (block.number, block.size)).collect();
    assert_eq!((all.len(), held.len() + active.len()), (made, made), "each is there once");
    let expected = Counts {
        held_blocks: Wrapping(held.len()),
        active_blocks: Wrapping(active.len()),
        managed_bytes: Wrapping(all.values().sum()),
        active_bytes: Wrapping(active.iter().map(Block::requested).sum()),
    };
    assert_eq!(counts, expected);
}
