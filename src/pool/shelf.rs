//! What a pool holds, and its counts: one shelf for each of several groups of threads, so that threads
//! do not wait for each other.
//!
//! A block may come back to another shelf than the one that it was taken from, so the counts of one
//! shelf say nothing; those of all together are exact.

use std::num::Wrapping;
use std::ops::{Deref, DerefMut};

use super::bin::Binning;
use super::bins::Bins;
use super::lock::Lock;
use super::stack::Linked;

/// What shelves need to know of a block.
pub(super) trait Shelved: Linked {
    /// Its bin.
    fn bin(&self) -> u32;

    /// Its size in bytes.
    fn size(&self) -> usize;

    /// How many of them were asked for, while it is active.
    fn requested(&self) -> usize;
}

/// Which blocks will do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The bin of the size that was asked for.
    pub bin: u32,
    /// Bytes: a smaller block is too small. A device's largest blocks are smaller than their bin's size.
    pub at_least: usize,
    /// Bytes: a larger block is too large.
    pub at_most: usize,
    /// The bin of `at_most`.
    pub last_bin: u32,
}

impl Wanted {
    fn fits(&self, block: &impl Shelved) -> bool {
        (self.at_least..=self.at_most).contains(&block.size())
    }
}

/// Counters of one shelf. Blocks may return to another shelf than they came from, so the counters of one
/// shelf may wrap below zero; only the sum over all shelves is meaningful, and it is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub held_blocks: Wrapping<usize>,
    pub active_blocks: Wrapping<usize>,
    /// Of all blocks, in bytes.
    pub managed_bytes: Wrapping<usize>,
    /// That were asked for.
    pub active_bytes: Wrapping<usize>,
}

impl Counts {
    pub fn add(self, other: Self) -> Self {
        Self {
            held_blocks: self.held_blocks + other.held_blocks,
            active_blocks: self.active_blocks + other.active_blocks,
            managed_bytes: self.managed_bytes + other.managed_bytes,
            active_bytes: self.active_bytes + other.active_bytes,
        }
    }
}

/// What is held for a group of threads.
#[derive(Debug)]
pub(super) struct Shelf<B: Linked> {
    bins: Bins<B>,
    counts: Counts,
    /// True if blocks that come back are held.
    is_holding: bool,
    /// Changes when all that was held is freed, what is being looked at, too.
    generation: u64,
}

/// A block that is being looked at, and still counts as held. Unless it is chosen, it goes back below the
/// others, or is freed if they were, also where something unwinds.
#[derive(Debug)]
pub(super) struct Candidate<'a, B: Shelved> {
    block: Option<B>,
    shelf: &'a Lock<Shelf<B>>,
    generation: u64,
}

/// All that a pool holds.
#[derive(Debug)]
pub(super) struct Shelves<B: Linked>(Box<[Lock<Shelf<B>>]>);

impl<B: Shelved> Shelves<B> {
    pub fn new(count: usize, binning: Binning) -> Self {
        let shelf = || {
            let (counts, bins) = (Counts::default(), Bins::new(binning));
            Lock::new(Shelf { bins, counts, is_holding: true, generation: 0 })
        };
        Self((0..count.next_power_of_two()).map(|_| shelf()).collect())
    }

    /// The shelf of the threads with this number.
    #[inline]
    pub fn of(&self, thread: usize) -> &Lock<Shelf<B>> {
        // There is a power of two of them.
        &self.0[thread & (self.0.len() - 1)]
    }

    /// Makes the next block of the bin on this thread's shelf active if it is `ready`, which must not take
    /// long; `prepare` is told of it.
    #[inline]
    pub fn take(
        &self,
        thread: usize,
        bin: u32,
        ready: impl FnOnce(&B) -> bool,
        prepare: impl FnOnce(&mut B),
    ) -> Option<B> {
        self.of(thread).with(|shelf| {
            let mut block = shelf.bins.pop_if(bin, ready)?;
            prepare(&mut block);
            shelf.was_taken(&block);
            Some(block)
        })
    }

    /// The same for any shelf, this thread's first, and any block that will do.
    pub fn take_any(
        &self,
        thread: usize,
        wanted: &Wanted,
        ready: impl Fn(&B) -> bool,
        prepare: impl Fn(&mut B),
    ) -> Option<B> {
        (0..self.0.len()).find_map(|nth| {
            self.of(thread.wrapping_add(nth)).with(|shelf| {
                let bin = shelf.bins.lowest(wanted.bin..=wanted.last_bin)?;
                let will_do = |block: &B| wanted.fits(block) && ready(block);
                let mut block = shelf.bins.pop_if(bin, will_do)?;
                prepare(&mut block);
                shelf.was_taken(&block);
                Some(block)
            })
        })
    }

    /// Up to `most` blocks that will do, this thread's first, smaller ones before larger ones, and of one
    /// bin those that came last: to take these out is what is short under the lock. Those that are not
    /// chosen go below the others, so whoever looks next finds other ones.
    pub fn candidates(&self, thread: usize, wanted: &Wanted, most: usize) -> Vec<Candidate<'_, B>> {
        let mut found = Vec::new();
        for nth in 0..self.0.len() {
            let shelf = self.of(thread.wrapping_add(nth));
            let left = most - found.len();
            shelf.with(|inner| inner.candidates(shelf, wanted, left, &mut found));
            if found.len() == most {
                break;
            }
        }
        found
    }

    /// Counts a new block, which is active.
    pub fn add(&self, thread: usize, block: &B) {
        self.of(thread).with(|shelf| {
            shelf.counts.managed_bytes += Wrapping(block.size());
            shelf.counts.active_blocks += Wrapping(1);
            shelf.counts.active_bytes += Wrapping(block.requested());
        });
    }

    /// The highest bin of which something is held.
    pub fn highest(&self) -> Option<u32> {
        self.0.iter().filter_map(|shelf| shelf.with(|shelf| shelf.bins.highest())).max()
    }

    /// Takes out one of the largest blocks that are held.
    pub fn take_largest(&self) -> Option<B> {
        loop {
            let highest = |(nth, shelf): (usize, &Lock<Shelf<B>>)| {
                shelf.with(|shelf| shelf.bins.highest()).map(|bin| (bin, nth))
            };
            let (bin, nth) = self.0.iter().enumerate().filter_map(highest).max()?;
            let block = self.0[nth].with(|shelf| {
                let block = shelf.bins.pop_if(bin, |_| true)?;
                shelf.was_removed(&block);
                Some(block)
            });
            // Another thread may have been faster.
            if block.is_some() {
                return block;
            }
        }
    }

    /// Takes out all that is held.
    pub fn drain(&self) -> Vec<B> {
        self.0.iter().flat_map(|shelf| shelf.with(Shelf::drain)).collect()
    }

    /// Takes out what is held and not `wanted` any more.
    pub fn sweep(&self, wanted: impl Fn(&B) -> bool) -> Vec<B> {
        let mut out = Vec::new();
        for shelf in &self.0 {
            let mut first = Some(0);
            // One bin at a time, so that nobody waits long for the lock.
            while let Some(bin) = first {
                let swept = shelf.with(|shelf| shelf.sweep(bin, &wanted, &mut out));
                first = swept.and_then(|bin| bin.checked_add(1));
            }
        }
        out
    }

    /// From now on, blocks that come back are not held. Takes out all that is.
    pub fn stop_holding(&self) -> Vec<B> {
        let stop = |shelf: &mut Shelf<B>| {
            shelf.is_holding = false;
            shelf.drain()
        };
        self.0.iter().flat_map(|shelf| shelf.with(stop)).collect()
    }

    /// The counts at one moment.
    pub fn counts(&self) -> Counts {
        sum(&self.0, Counts::default())
    }
}

/// Adds the counts of these shelves while all of them are locked; always in this order, and nobody else
/// locks two.
fn sum<B: Linked>(shelves: &[Lock<Shelf<B>>], counts: Counts) -> Counts {
    match shelves.split_first() {
        None => counts,
        Some((first, others)) => first.with(|shelf| sum(others, counts.add(shelf.counts))),
    }
}

/// Gives an active block back. Returns it where it is to be freed.
///
/// It is given no more than the lock, because nothing else may be touched once another thread can take
/// the block and free all that the shelf belongs to.
#[inline]
pub(super) fn give_back<B: Shelved>(shelf: &Lock<Shelf<B>>, block: B) -> Option<B> {
    shelf.with(|shelf| {
        shelf.counts.active_blocks -= Wrapping(1);
        shelf.counts.active_bytes -= Wrapping(block.requested());
        if shelf.is_holding {
            shelf.counts.held_blocks += Wrapping(1);
            shelf.bins.push(block.bin(), block);
            return None;
        }
        shelf.counts.managed_bytes -= Wrapping(block.size());
        Some(block)
    })
}

impl<B: Shelved> Candidate<'_, B> {
    /// Makes it active.
    pub fn choose(mut self, prepare: impl FnOnce(&mut B)) -> B {
        prepare(&mut self);
        let block = self.block.take().expect("it is there until it is chosen");
        self.shelf.with(|shelf| shelf.was_taken(&block));
        block
    }
}

impl<B: Shelved> Deref for Candidate<'_, B> {
    type Target = B;

    fn deref(&self) -> &B {
        self.block.as_ref().expect("it is there until it is chosen")
    }
}

impl<B: Shelved> DerefMut for Candidate<'_, B> {
    fn deref_mut(&mut self) -> &mut B {
        self.block.as_mut().expect("it is there until it is chosen")
    }
}

impl<B: Shelved> Drop for Candidate<'_, B> {
    fn drop(&mut self) {
        let Some(block) = self.block.take() else { return };
        let freed = self.shelf.with(|shelf| shelf.put_back(block, self.generation));
        // Not while the shelf is locked.
        drop(freed);
    }
}

impl<B: Shelved> Shelf<B> {
    #[inline]
    fn was_taken(&mut self, block: &B) {
        self.counts.held_blocks -= Wrapping(1);
        self.counts.active_blocks += Wrapping(1);
        self.counts.active_bytes += Wrapping(block.requested());
    }

    fn was_removed(&mut self, block: &B) {
        self.counts.held_blocks -= Wrapping(1);
        self.counts.managed_bytes -= Wrapping(block.size());
    }

    fn candidates<'a>(
        &mut self,
        shelf: &'a Lock<Self>,
        wanted: &Wanted,
        most: usize,
        found: &mut Vec<Candidate<'a, B>>,
    ) {
        let most = found.len() + most;
        let mut first = wanted.bin;
        while found.len() < most
            && let Some(bin) = self.bins.lowest(first..=wanted.last_bin)
        {
            match self.bins.pop_if(bin, |block| wanted.fits(block)) {
                Some(block) => {
                    let generation = self.generation;
                    found.push(Candidate { block: Some(block), shelf, generation });
                }
                None => first = bin + 1,
            }
        }
    }

    /// Puts a block back that was looked at. Returns it where it is to be freed.
    fn put_back(&mut self, block: B, generation: u64) -> Option<B> {
        if self.is_holding && self.generation == generation {
            self.bins.push_below(block.bin(), block);
            return None;
        }
        self.was_removed(&block);
        Some(block)
    }

    /// Takes out what is not `wanted` of the first bin from this one on that has something.
    fn sweep(&mut self, first: u32, wanted: impl Fn(&B) -> bool, out: &mut Vec<B>) -> Option<u32> {
        let bin = self.bins.lowest(first..=self.bins.highest()?)?;
        let already = out.len();
        self.bins.extract(bin, |block| !wanted(block), out);
        out[already..].iter().for_each(|block| self.was_removed(block));
        Some(bin)
    }

    fn drain(&mut self) -> Vec<B> {
        self.generation += 1;
        let blocks = self.bins.drain();
        blocks.iter().for_each(|block| self.was_removed(block));
        blocks
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
