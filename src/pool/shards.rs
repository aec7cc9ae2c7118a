//! The held blocks of a pool, and its counts: in shards, so that threads do not wait for each other.
//!
//! While a shard is locked, the driver is called only to release events, and neither memory nor queues are dropped.

use std::ops::Range;
use std::sync::Arc;

use super::bin::Binning;
use super::bins::Bins;
use super::block::{Block, BlockOwner};
use super::lock::Lock;
use super::memory::sealed::PoolMemory;
use super::source::{MAX_CANDIDATES, Request, Reuse, Source};
use super::statistics::Counts;
use super::thread_number::thread_number;
use crate::error::Result;
use crate::memory::track::AccessTracker;

/// The held blocks of a pool that are no parts of slabs.
pub(super) struct Shards<P: BlockOwner>(Box<[Lock<Shard<P>>]>);

/// The held blocks of the threads that share a shard.
pub(super) struct Shard<P: BlockOwner> {
    bins: Bins<Box<Block<P>>>,
    counts: Counts,
    /// True if blocks that come back are held.
    is_holding: bool,
}

impl<P: BlockOwner> Shard<P> {
    fn count_removal(&mut self, block: &Block<P>) {
        self.counts.held_blocks -= 1;
        self.counts.managed_bytes -= block.bytes;
    }

    /// Returns the highest bin that has a block.
    fn highest(&self) -> Option<u32> {
        self.bins.highest().map(|block| block.bin)
    }
}

impl<P: BlockOwner> Shards<P> {
    /// Returns at least `count` shards.
    pub fn new(count: usize, binning: Binning) -> Self {
        let shard = |_| {
            let (bins, counts) = (Bins::new(binning), Counts::default());
            Lock::new(Shard { bins, counts, is_holding: true })
        };
        Self((0..count.next_power_of_two()).map(shard).collect())
    }

    /// Returns the shard of this thread.
    #[inline]
    pub fn own(&self) -> &Lock<Shard<P>> {
        // The number of shards is a power of two.
        &self.0[thread_number() & (self.0.len() - 1)]
    }

    /// Returns all shards, that of this thread first.
    fn own_first(&self) -> impl Iterator<Item = &Lock<Shard<P>>> {
        let first = thread_number();
        (0..self.0.len()).map(move |nth| &self.0[(first + nth) & (self.0.len() - 1)])
    }

    /// Takes the block of the bin that came last to the shard of this thread, if it is `ready`.
    #[inline]
    pub fn take_last(
        &self,
        bin: u32,
        size: usize,
        ready: impl FnOnce(&Block<P>) -> bool,
    ) -> Option<Box<Block<P>>> {
        self.own().with(|shard| {
            let block = shard.bins.pop_if(bin, |block| ready(block))?;
            shard.counts.count_reuse(size);
            Some(block)
        })
    }

    /// Counts a new block, which is active.
    pub fn add(&self, block: &Block<P>) {
        self.own().with(|shard| {
            shard.counts.managed_bytes += block.bytes;
            shard.counts.active_blocks += 1;
            shard.counts.active_bytes += block.memory.size();
        });
    }

    /// Returns the counts at one moment.
    pub fn counts(&self) -> Counts {
        sum(&self.0, Counts::default())
    }
}

/// Gives an active block back to a shard. Returns a block that is to be freed.
///
/// The function does not get all shards, because another thread can take the block and free the pool as
/// soon as the shard is unlocked.
#[inline]
pub(super) fn release<P: BlockOwner>(
    shard: &Lock<Shard<P>>,
    block: Box<Block<P>>,
) -> Option<Box<Block<P>>> {
    shard.with(|shard| {
        shard.counts.active_blocks -= 1;
        shard.counts.active_bytes -= block.memory.size();
        if shard.is_holding {
            shard.counts.held_blocks += 1;
            shard.bins.push(block.bin, block);
            return None;
        }
        shard.counts.managed_bytes -= block.bytes;
        Some(block)
    })
}

/// Adds the counts of the shards to `counts` while all of them are locked. Threads that lock several shards
/// lock them in the same order.
fn sum<P: BlockOwner>(shards: &[Lock<Shard<P>>], counts: Counts) -> Counts {
    match shards.split_first() {
        None => counts,
        Some((first, others)) => first.with(|shard| sum(others, counts + shard.counts)),
    }
}

/// Removes a block of the highest bin in the shards and in `best`, while all of them are locked: the search
/// also finds a block that another thread takes from one shard and returns to another.
fn take_largest<P: BlockOwner>(
    shards: &[Lock<Shard<P>>],
    best: Option<&mut Shard<P>>,
) -> Option<Box<Block<P>>> {
    let Some((first, others)) = shards.split_first() else {
        let best = best?;
        let block = best.bins.pop_if(best.highest()?, |_| true)?;
        best.count_removal(&block);
        return Some(block);
    };
    first.with(|shard| match best {
        Some(best) if best.highest() >= shard.highest() => take_largest(others, Some(best)),
        _ => take_largest(others, Some(shard)),
    })
}

impl<P: BlockOwner> Source<P> for Shards<P> {
    fn candidates(&self, request: &Request<'_>) -> Vec<(Arc<AccessTracker>, Range<usize>)> {
        let mut candidates = Vec::new();
        for shard in self.own_first() {
            shard.with(|shard| {
                let blocks = shard.bins.last(request.bin..=request.last_bin, MAX_CANDIDATES);
                let blocks = blocks.filter(|block| block.memory.is_unique());
                candidates.extend(blocks.map(|block| (Arc::clone(&block.tracker), block.range())));
            });
        }
        candidates
    }

    fn take(&self, request: &Request<'_>, reuse: Reuse) -> Result<Option<Box<Block<P>>>> {
        let accepts = |block: &Block<P>| {
            let Block { tracker, queue, .. } = block;
            request.fits(block.bytes)
                && block.memory.is_unique()
                && request.accepts(reuse, tracker, &block.range(), queue.as_ref())
        };
        let taken = self.own_first().find_map(|shard| {
            shard.with(|shard| {
                let bins = request.bin..=request.last_bin;
                let block = shard.bins.take_last(bins, MAX_CANDIDATES, |block| accepts(block))?;
                shard.counts.count_reuse(request.size);
                Some(block)
            })
        });
        Ok(taken.map(|mut block| {
            block.activate(request.size, request.queue);
            block
        }))
    }

    fn largest(&self) -> Option<usize> {
        let largest = |shard: &mut Shard<P>| shard.bins.highest().map(|block| block.bytes);
        self.0.iter().filter_map(|shard| shard.with(largest)).max()
    }

    fn take_largest(&self) -> Option<Box<Block<P>>> {
        take_largest(&self.0, None)
    }

    fn take_all(&self, is_selected: &dyn Fn(&Block<P>) -> bool) -> Vec<Box<Block<P>>> {
        let take = |shard: &mut Shard<P>| {
            let blocks = shard.bins.extract(|block| is_selected(block));
            blocks.iter().for_each(|block| shard.count_removal(block));
            blocks
        };
        self.0.iter().flat_map(|shard| shard.with(take)).collect()
    }

    fn stop_holding(&self) {
        self.0.iter().for_each(|shard| shard.with(|shard| shard.is_holding = false));
    }
}
