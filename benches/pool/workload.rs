//! The requests of a thread to a source.

use std::fs;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sizes::Random;
use crate::source::Source;
use crate::time::nanoseconds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// One size again and again, one block at a time.
    Hot,
    /// Random sizes, with 1000 blocks in use: each new one replaces a random one.
    Random,
}

/// Blocks in use per thread.
pub const LIVE: usize = 1000;

const HOT_SIZE: usize = 64 << 10;

/// Random sizes are drawn from this many, which fit into a processor's nearest cache.
const SIZES: usize = 2048;

/// Pairs before it is measured, after which hardly any block comes from the driver.
const WARM_UP: usize = 200_000;

/// Pairs before each round.
const WARM_UP_AGAIN: usize = 4_000;

/// Pairs that are measured at a time, and between looks at whether others have ended.
const PAIRS: usize = 40_000;
const CHUNK: usize = 250;

/// The work of a thread in a round.
#[derive(Clone, Copy)]
pub struct Pace {
    pub pairs: usize,
    pub nanoseconds: f64,
    /// How much of that it could not run because others had the processor.
    pub waited: f64,
}

/// For how many nanoseconds this thread could not run because others had the processor, where Linux
/// tells (Documentation/scheduler/sched-stats).
fn waited() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// A thread's blocks.
pub struct Worker<'s, S: Source> {
    source: &'s S,
    workload: Workload,
    random: Random,
    sizes: Vec<usize>,
    live: Vec<S::Block>,
}

impl<'s, S: Source> Worker<'s, S> {
    pub fn new(source: &'s S, workload: Workload, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let sizes: Vec<_> = (0..SIZES).map(|_| random.size()).collect();
        let live = match workload {
            Workload::Hot => vec![],
            Workload::Random => (0..LIVE).map(|_| source.allocate(random.size())).collect(),
        };
        let mut worker = Self { source, workload, random, sizes, live };
        worker.pairs(WARM_UP);
        worker
    }

    /// Has the caches as they are between pairs.
    pub fn warm_up(&mut self) {
        self.pairs(WARM_UP_AGAIN);
    }

    /// Makes pairs until the first of all threads has made [`PAIRS`].
    pub fn round(&mut self, one_has_ended: &AtomicBool) -> Pace {
        let mut pairs = 0;
        let waited_before = waited();
        let nanoseconds = nanoseconds(|| {
            loop {
                self.pairs(CHUNK);
                pairs += CHUNK;
                if pairs >= PAIRS || one_has_ended.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        one_has_ended.store(true, Ordering::Relaxed);
        Pace { pairs, nanoseconds, waited: waited() - waited_before }
    }

    fn pairs(&mut self, number: usize) {
        match self.workload {
            Workload::Hot => {
                for _ in 0..number {
                    drop(black_box(self.source.allocate(black_box(HOT_SIZE))));
                }
            }
            Workload::Random => {
                for _ in 0..number {
                    let size = self.sizes[self.random.below(SIZES)];
                    let slot = self.random.below(LIVE);
                    self.live[slot] = self.source.allocate(size);
                }
            }
        }
    }
}
