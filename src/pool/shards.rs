//! The held blocks of a pool, and its counts: in shards, so that threads do not wait for each other.
//!
//! While a shard is locked, no memory is dropped. The driver is called only to release events, and queues with the
//! last event of their commands.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::bin::Binning;
use super::bins::Bins;
use super::block::Block;
use super::memory::Memory;
use super::request::{MAX_CANDIDATES, Request, Reuse};
use super::statistics::Counts;
use super::thread_number::thread_number;
use crate::memory::track::AccessTracker;

/// The held blocks of a pool.
///
/// The shards live for good, and later pools reuse them: as soon as a thread that returns a block has unlocked its
/// shard, another thread may take the block and free the pool, while the first thread may still be in the function
/// that unlocks.
pub(super) struct Shards<M: Memory>(SomeShards<M>);

/// The shards of one pool.
type SomeShards<M> = &'static [Mutex<Shard<M>>];

/// The shards of pools that are gone: a `SomeShards` each.
static UNUSED: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// The held blocks of the threads that share a shard. Shards share no cache line, so that threads with
/// different shards do not disturb each other.
#[repr(align(128))]
pub(super) struct Shard<M: Memory> {
    bins: Bins<Box<Block<M>>>,
    counts: Counts,
    /// True if returned blocks are held.
    is_holding: bool,
}

impl<M: Memory> Shard<M> {
    /// Takes back an active block. Returns it if it must be freed.
    #[inline]
    pub(super) fn release(&mut self, block: Box<Block<M>>) -> Option<Box<Block<M>>> {
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

    fn count_removal(&mut self, block: &Block<M>) {
        self.counts.held_blocks -= 1;
        self.counts.managed_bytes -= block.bytes;
    }
}

impl<M: Memory> Shards<M> {
    /// Returns `count` shards, rounded up to a power of two, which hold blocks if `is_holding`.
    pub fn new(count: usize, binning: Binning, is_holding: bool) -> Self {
        let count = count.next_power_of_two();
        let shard = || Shard { bins: Bins::new(binning), counts: Counts::default(), is_holding };
        let new = |_| Mutex::new(shard());
        let of_count = |old: &Box<dyn Any + Send>| {
            old.downcast_ref().copied().filter(|old: &SomeShards<M>| old.len() == count)
        };
        let unused = UNUSED.lock().extract_if(.., |old| of_count(old).is_some()).next();
        let unused = unused.and_then(|old| of_count(&old));
        let shards = unused.unwrap_or_else(|| Box::leak((0..count).map(new).collect()));
        shards.iter().for_each(|old| *old.lock() = shard());
        Self(shards)
    }

    /// Returns the shard of this thread.
    #[inline]
    pub fn own(&self) -> &'static Mutex<Shard<M>> {
        // The number of shards is a power of two.
        &self.0[thread_number() & (self.0.len() - 1)]
    }

    /// Locks one shard after the other, that of this thread first.
    fn own_first(&self) -> impl Iterator<Item = MutexGuard<'_, Shard<M>>> {
        let first = thread_number();
        (0..self.0.len()).map(move |nth| self.0[(first + nth) & (self.0.len() - 1)].lock())
    }

    /// Takes the last block of the bin in the shard of this thread, if it is `ready`.
    #[inline]
    pub fn take_last(
        &self,
        bin: u32,
        size: usize,
        ready: impl FnOnce(&Block<M>) -> bool,
    ) -> Option<Box<Block<M>>> {
        let mut shard = self.own().lock();
        let block = shard.bins.pop_if(bin, |block| ready(block))?;
        shard.counts.count_reuse(size);
        Some(block)
    }

    /// Counts a new block, which is active.
    pub fn add(&self, block: &Block<M>) {
        let mut shard = self.own().lock();
        shard.counts.managed_bytes += block.bytes;
        shard.counts.active_blocks += 1;
        shard.counts.active_bytes += block.memory.size();
    }

    /// Locks all shards. All threads that do so lock them in the same order.
    fn lock_all(&self) -> Vec<MutexGuard<'_, Shard<M>>> {
        self.0.iter().map(|shard| shard.lock()).collect()
    }

    /// Returns the counts at one moment.
    pub fn counts(&self) -> Counts {
        self.lock_all().iter().fold(Counts::default(), |sum, shard| sum + shard.counts)
    }

    /// Returns the trackers and bytes of the blocks that the next [`take`](Self::take) tries, so that the caller can
    /// query the commands on them.
    pub fn candidates(&self, request: &Request<'_>) -> Vec<(Arc<AccessTracker>, Range<usize>)> {
        let mut candidates = Vec::new();
        for mut shard in self.own_first() {
            let blocks = shard.bins.last(request.bin..=request.last_bin, MAX_CANDIDATES);
            let blocks = blocks.filter(|block| block.memory.is_unique());
            candidates.extend(blocks.map(|block| (Arc::clone(&block.tracker), block.range())));
        }
        candidates
    }

    /// Activates a held block that the request accepts.
    pub fn take(&self, request: &Request<'_>, reuse: Reuse) -> Option<Box<Block<M>>> {
        let accepts = |block: &Block<M>| {
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
        taken.map(|mut block| {
            block.activate(request.size, request.queue);
            block
        })
    }

    /// Removes the largest block. Since all shards are locked, this also finds a block that another thread
    /// takes from one shard and returns to another.
    pub fn take_largest(&self) -> Option<Box<Block<M>>> {
        let mut shards = self.lock_all();
        let highest =
            shards.iter_mut().filter_map(|shard| Some((shard.bins.highest()?.bin, shard)));
        let (bin, shard) = highest.max_by_key(|(bin, _)| *bin)?;
        let block = shard.bins.pop_if(bin, |_| true)?;
        shard.count_removal(&block);
        Some(block)
    }

    /// Removes the selected blocks.
    pub fn take_all(&self, is_selected: impl Fn(&Block<M>) -> bool) -> Vec<Box<Block<M>>> {
        let take = |mut shard: MutexGuard<'_, Shard<M>>| {
            let blocks = shard.bins.extract(|block| is_selected(block));
            blocks.iter().for_each(|block| shard.count_removal(block));
            blocks
        };
        self.own_first().flat_map(take).collect()
    }

    /// Holds no block from now on.
    pub fn stop_holding(&self) {
        self.own_first().for_each(|mut shard| shard.is_holding = false);
    }
}

impl<M: Memory> Drop for Shards<M> {
    fn drop(&mut self) {
        UNUSED.lock().push(Box::new(self.0));
    }
}
