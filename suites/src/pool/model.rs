//! A pool against a model that is too simple to be wrong: after every step, all counts are equal, and a
//! block that is used again is the one that should be.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::*;
use crate::support::property::holds_for;

#[derive(Clone, Copy, Debug)]
enum Step {
    Allocate(usize),
    Drop(usize),
    EnqueueRelease(usize),
    /// Drops a block while there is a clone of it.
    DropButForAClone(usize),
    DropClone(usize),
    FreeHeld,
    TrimTo(usize),
    StopHolding,
}

/// The options of a pool.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    bits: u32,
    larger_percent: u32,
    limit: usize,
}

/// A block, by the driver's handle, and its size in bytes.
type Block = (usize, usize);

/// The expected state.
#[derive(Default)]
struct Model {
    kind: Kind,
    has_queue: bool,
    /// The blocks of each bin, the one that goes first last.
    held: BTreeMap<u32, Vec<Block>>,
    /// With what was asked for.
    active: Vec<(Block, usize)>,
    /// The blocks that have clones.
    cloned: Vec<usize>,
    has_stopped: bool,
    peaks: [usize; 2],
}

/// The outcome of an allocation.
#[derive(Debug, PartialEq)]
enum Outcome {
    Reused(Block),
    New(usize),
    OutOfMemory,
}

impl Model {
    fn bytes_managed(&self) -> usize {
        let held: usize = self.held.values().flatten().map(|block| block.1).sum();
        held + self.active.iter().map(|((_, bytes), _)| bytes).sum::<usize>()
    }

    /// Held and active blocks, managed and active bytes, and the most of these.
    fn counts(&mut self) -> [usize; 6] {
        let (held, active) = (self.held.values().flatten().count(), self.active.len());
        let now = [self.bytes_managed(), self.active.iter().map(|(_, requested)| requested).sum()];
        self.peaks = [self.peaks[0].max(now[0]), self.peaks[1].max(now[1])];
        [held, active, now[0], now[1], self.peaks[0], self.peaks[1]]
    }

    fn allocate(&mut self, pool: &MemoryPool, size: usize) -> Outcome {
        let of_bin = |bin| pool.alloc_size(bin).expect("a bin");
        let (bin, Kind { larger_percent, limit, .. }) = (pool.bin_number(size), self.kind);
        let at_most = of_bin(bin) + of_bin(bin) * larger_percent as usize / 100;
        if let Some(block) = self.take(bin..=pool.bin_number(at_most), at_most) {
            return Outcome::Reused(block);
        }
        if of_bin(bin) > limit {
            return Outcome::OutOfMemory;
        }
        if self.bytes_managed() + of_bin(bin) > limit
            && let Some(block) = self.look(bin..=pool.bin_number(at_most), at_most)
        {
            return Outcome::Reused(block);
        }
        while self.bytes_managed() + of_bin(bin) > limit {
            if !self.free_largest() {
                return Outcome::OutOfMemory;
            }
        }
        Outcome::New(of_bin(bin))
    }

    /// Takes the block of the bin that came last, if it has no clone, or else another.
    fn take(&mut self, bins: RangeInclusive<u32>, at_most: usize) -> Option<Block> {
        let cloned = &self.cloned;
        let last = self.held.get_mut(bins.start());
        let last = last.and_then(|stack| stack.pop_if(|(raw, _)| !cloned.contains(raw)));
        let found = last.or_else(|| self.look(bins, at_most));
        self.tidy();
        found
    }

    /// Takes the first block without a clone of the eight blocks that came last, of the lowest bins. Blocks
    /// before it go below the others of their bins. A pool for no queue tries this twice, one for a queue three times.
    fn look(&mut self, bins: RangeInclusive<u32>, at_most: usize) -> Option<Block> {
        for _ in 0..if self.has_queue { 3 } else { 2 } {
            let mut left = 8;
            for (_, stack) in self.held.range_mut(bins.clone()) {
                for _ in 0..stack.len().min(left) {
                    let block = stack.pop()?;
                    if block.1 <= at_most && !self.cloned.contains(&block.0) {
                        self.tidy();
                        return Some(block);
                    }
                    stack.insert(0, block);
                    left -= 1;
                }
            }
        }
        None
    }

    fn tidy(&mut self) {
        self.held.retain(|_, stack| !stack.is_empty());
    }

    fn free_largest(&mut self) -> bool {
        let found = self.held.last_entry().map(|mut stack| stack.get_mut().pop());
        self.tidy();
        found.is_some()
    }

    fn give_back(&mut self, which: usize, pool: &MemoryPool) {
        let (block, _) = self.active.swap_remove(which);
        if !self.has_stopped {
            self.held.entry(pool.bin_number(block.1)).or_default().push(block);
        }
    }
}

/// A pool, what has been allocated, and what should be so.
struct Pair<'a> {
    pool: MemoryPool,
    /// The pool's own.
    queue: Option<&'a CommandQueue>,
    blocks: Vec<PooledBuffer>,
    clones: Vec<Buffer>,
    model: Model,
}

fn block(buffer: &PooledBuffer) -> Block {
    (buffer.as_raw().addr(), buffer.block_size())
}

impl Pair<'_> {
    /// Takes one of the blocks that are active.
    fn give_back(&mut self, which: usize) -> Option<PooledBuffer> {
        let which = which.checked_rem(self.blocks.len())?;
        self.model.give_back(which, &self.pool);
        Some(self.blocks.swap_remove(which))
    }

    fn allocate(&mut self, size: usize) -> Result<std::result::Result<(), String>> {
        let expected = self.model.allocate(&self.pool, size);
        let outcome = match self.pool.allocate(size) {
            Ok(buffer) => {
                let found = block(&buffer);
                let is_new = !matches!(expected, Outcome::Reused(_));
                let outcome = if is_new { Outcome::New(found.1) } else { Outcome::Reused(found) };
                self.model.active.push((found, size));
                self.blocks.push(buffer);
                outcome
            }
            Err(error) if error.class() == Class::OutOfMemory => Outcome::OutOfMemory,
            Err(error) => return Err(error),
        };
        let is_same = outcome == expected;
        Ok(is_same.then_some(()).ok_or_else(|| format!("{outcome:?}, not {expected:?}")))
    }

    fn step(&mut self, step: Step) -> Result<std::result::Result<(), String>> {
        match step {
            Step::Allocate(size) => {
                if let Err(reason) = self.allocate(size)? {
                    return Ok(Err(reason));
                }
            }
            Step::Drop(which) => drop(self.give_back(which)),
            Step::EnqueueRelease(which) => {
                // Without a queue of its own, the pool would have to see that this has ended.
                if let (Some(block), Some(queue)) = (self.give_back(which), self.queue) {
                    block.enqueue_release(queue)?;
                }
            }
            Step::DropButForAClone(which) => {
                if let Some(block) = self.give_back(which) {
                    self.model.cloned.push(block.as_raw().addr());
                    self.clones.push(block.clone());
                }
            }
            Step::DropClone(which) => {
                if let Some(which) = which.checked_rem(self.clones.len()) {
                    drop(self.clones.swap_remove(which));
                    self.model.cloned.swap_remove(which);
                }
            }
            Step::FreeHeld => {
                self.pool.free_held();
                self.model.held.clear();
            }
            Step::TrimTo(bytes) => {
                self.pool.trim_to(bytes);
                while self.model.bytes_managed() > bytes && self.model.free_largest() {}
            }
            Step::StopHolding => {
                self.pool.stop_holding();
                self.model.held.clear();
                self.model.has_stopped = true;
            }
        }
        Ok(self.compare())
    }

    fn compare(&mut self) -> std::result::Result<(), String> {
        let (held, active, managed, bytes) = counts(&self.pool);
        let most = self.pool.statistics();
        let most = [most.peak_managed_bytes, most.peak_active_bytes];
        let found = [held, active, managed, bytes, most[0], most[1]];
        let expected = self.model.counts();
        if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}")) }
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    let limit = prop_oneof![Just(usize::MAX), 2000..20_000_usize];
    let percent = prop_oneof![Just(0_u32), Just(25), Just(100), Just(1000)];
    (0..9_u32, percent, limit).prop_map(|(bits, larger_percent, limit)| Kind {
        bits,
        larger_percent,
        limit,
    })
}

/// Few bins, so that blocks meet.
fn steps() -> impl Strategy<Value = Step> {
    let size = prop_oneof![0..40_usize, 990..1040_usize, 1000..5000_usize];
    let which = || 0..99_usize;
    prop_oneof![
        12 => size.prop_map(Step::Allocate),
        6 => which().prop_map(Step::Drop),
        1 => which().prop_map(Step::EnqueueRelease),
        3 => which().prop_map(Step::DropButForAClone),
        2 => which().prop_map(Step::DropClone),
        1 => Just(Step::FreeHeld),
        1 => (0..20_000_usize).prop_map(Step::TrimTo),
    ]
}

#[rstest]
#[clmatrix_harness::test]
fn a_pool_matches_the_model(on_device: OnDevice, #[values(true, false)] has_queue: bool) {
    let queue = has_queue.then_some(&on_device.queue);
    // After they have stopped, little is left to be seen.
    let stop = prop::option::of(0..50_usize);
    let cases = (kinds(), prop::collection::vec(steps(), 1..50), stop);
    holds_for(cases, |(kind, steps, stop)| {
        let options = PoolOptions::new().leading_bits(kind.bits).limit(kind.limit);
        let options = options.max_oversize_percent(kind.larger_percent);
        let pool = pool(&on_device, queue, options)?;
        let model = Model { kind: *kind, has_queue: queue.is_some(), ..Model::default() };
        let mut pair = Pair { pool, queue, blocks: vec![], clones: vec![], model };
        for (nth, step) in steps.iter().enumerate() {
            for step in (*stop == Some(nth)).then_some(Step::StopHolding).iter().chain([step]) {
                if let Err(reason) = pair.step(*step)? {
                    return Ok(Err(format!("after step {nth}, {step:?}: {reason}")));
                }
            }
        }
        while !pair.blocks.is_empty() {
            _ = pair.step(Step::Drop(0))?;
        }
        pair.step(Step::FreeHeld)
    });
}
