//! The held blocks of a pool, and its counts: in shards, so that threads do not wait for each other.
//!
//! While a shard is locked, the driver is called only to release events, and neither memory nor queues are dropped.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::bin::Binning;
use super::bins::Bins;
use super::block::{Block, BlockOwner};
use super::memory::sealed::PoolMemory;
use super::source::{MAX_CANDIDATES, Request, Reuse, Source};
use super::statistics::Counts;
use super::thread_number::thread_number;
use crate::error::Result;
use crate::memory::track::AccessTracker;

/// The held blocks of a pool that are no parts of slabs.
pub(super) struct Shards<P: BlockOwner>(Box<[Arc<Mutex<Shard<P>>>]>);

/// The held blocks of the threads that share a shard. Shards share no cache line, so that threads with
/// different shards do not disturb each other.
#[repr(align(128))]
pub(super) struct Shard<P: BlockOwner> {
    bins: Bins<Box<Block<P>>>,
    counts: Counts,
    /// True if blocks that come back are held.
    is_holding: bool,
}

impl<P: BlockOwner> Shard<P> {
    /// Gives an active block back. Returns it if it is to be freed.
    #[inline]
    pub fn release(&mut self, block: Box<Block<P>>) -> Option<Box<Block<P>>> {
        self.counts.active_blocks -= 1;
        self.counts.active_bytes -= block.memory.size();
        if self.is_holding {
            self.counts.held_blocks += 1;
            self.bins.push(block.bin, block);
            return None;
        }
        self.counts.managed_bytes -= block.bytes;
        Some(block)
    }

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
            Arc::new(Mutex::new(Shard { bins, counts, is_holding: true }))
        };
        Self((0..count.next_power_of_two()).map(shard).collect())
    }

    /// Returns the shard of this thread.
    #[inline]
    pub fn own(&self) -> &Arc<Mutex<Shard<P>>> {
        // The number of shards is a power of two.
        &self.0[thread_number() & (self.0.len() - 1)]
    }

    /// Locks one shard after the other, that of this thread first.
    fn own_first(&self) -> impl Iterator<Item = MutexGuard<'_, Shard<P>>> {
        let first = thread_number();
        (0..self.0.len()).map(move |nth| self.0[(first + nth) & (self.0.len() - 1)].lock())
    }

    /// Takes the block of the bin that came last to the shard of this thread, if it is `ready`.
    #[inline]
    pub fn take_last(
        &self,
        bin: u32,
        size: usize,
        ready: impl FnOnce(&Block<P>) -> bool,
    ) -> Option<Box<Block<P>>> {
        let mut shard = self.own().lock();
        let block = shard.bins.pop_if(bin, |block| ready(block))?;
        shard.counts.count_reuse(size);
        Some(block)
    }

    /// Counts a new block, which is active.
    pub fn add(&self, block: &Block<P>) {
        let mut shard = self.own().lock();
        shard.counts.managed_bytes += block.bytes;
        shard.counts.active_blocks += 1;
        shard.counts.active_bytes += block.memory.size();
    }

    /// Locks all shards. All threads that do so lock them in the same order.
    fn lock_all(&self) -> Vec<MutexGuard<'_, Shard<P>>> {
        self.0.iter().map(|shard| shard.lock()).collect()
    }

    /// Returns the counts at one moment.
    pub fn counts(&self) -> Counts {
        self.lock_all().iter().fold(Counts::default(), |sum, shard| sum + shard.counts)
    }
}

impl<P: BlockOwner> Source<P> for Shards<P> {
    fn candidates(&self, request: &Request<'_>) -> Vec<(Arc<AccessTracker>, Range<usize>)> {
        let mut candidates = Vec::new();
        for shard in self.own_first() {
            let blocks = shard.bins.last(request.bin..=request.last_bin, MAX_CANDIDATES);
            let blocks = blocks.filter(|block| block.memory.is_unique());
            candidates.extend(blocks.map(|block| (Arc::clone(&block.tracker), block.range())));
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
        let taken = self.own_first().find_map(|mut shard| {
            let bins = request.bin..=request.last_bin;
            let block = shard.bins.take_last(bins, MAX_CANDIDATES, |block| accepts(block))?;
            shard.counts.count_reuse(request.size);
            Some(block)
        });
        Ok(taken.map(|mut block| {
            block.activate(request.size, request.queue);
            block
        }))
    }

    fn largest(&self) -> Option<usize> {
        self.own_first().filter_map(|shard| shard.bins.highest().map(|block| block.bytes)).max()
    }

    /// Finds a block, too, that another thread takes from one shard and returns to another, since all shards
    /// are locked.
    fn take_largest(&self) -> Option<Box<Block<P>>> {
        let mut shards = self.lock_all();
        let shard = shards.iter_mut().max_by_key(|shard| shard.highest())?;
        let bin = shard.highest()?;
        let block = shard.bins.pop_if(bin, |_| true)?;
        shard.count_removal(&block);
        Some(block)
    }

    fn take_all(&self, is_selected: &dyn Fn(&Block<P>) -> bool) -> Vec<Box<Block<P>>> {
        let take = |mut shard: MutexGuard<'_, Shard<P>>| {
            let blocks = shard.bins.extract(|block| is_selected(block));
            blocks.iter().for_each(|block| shard.count_removal(block));
            blocks
        };
        self.own_first().flat_map(take).collect()
    }

    fn stop_holding(&self) {
        self.own_first().for_each(|mut shard| shard.is_holding = false);
    }
}
