//! What a pool and its blocks have in common.

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::allocator::Allocator;
use super::bin::Binning;
use super::block::{Block, BoundTo, Reserved};
use super::freeing::Freeing;
use super::insight::Insight;
use super::memory::Memory;
use super::options::PoolOptions;
use super::order::Target;
use super::shelf::Shelves;
use super::split::Split;
use super::statistics::Statistics;
use super::thread_number::thread_number;
use crate::error::Result;
use crate::queue::CommandQueue;

pub(super) const CALL: &str = "MemoryPool::allocate";

/// What a pool and its blocks have in common. Each block keeps it, those that it holds, too, until it
/// stops holding them.
pub(super) struct Shared<M: Memory> {
    pub allocator: Box<dyn Allocator<Memory = M>>,
    pub home: Option<CommandQueue>,
    pub options: PoolOptions,
    pub binning: Binning,
    pub shelves: Shelves<Box<Block<M>>>,
    pub split: Option<Split<M>>,
    /// The bytes of all blocks, and of those that are just being allocated.
    pub reserved: AtomicUsize,
    pub freeing: Freeing,
    pub peak_managed: AtomicUsize,
    pub peak_active: AtomicUsize,
    pub insight: Option<Insight>,
    /// True if it matters when a block comes back.
    pub looks_at_what_comes_back: bool,
}

/// The largest number of shelves. A pool has two per processor, because threads that are idle have
/// shelves as well; more than these would make the statistics slow.
const MOST_SHELVES: usize = 16;

impl<M: Memory> Shared<M> {
    pub fn new(
        allocator: Box<dyn Allocator<Memory = M>>,
        home: Option<CommandQueue>,
        options: PoolOptions,
    ) -> Result<Self> {
        let binning = options.binning()?;
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let most = allocator.max_size().unwrap_or(usize::MAX).min(isize::MAX as usize);
        let split = options.root_size_for::<M>()?.map(|size| Split::new(size.min(most)));
        let insight = Insight::new(options.on_event.clone(), options.reports_leaks);
        Ok(Self {
            looks_at_what_comes_back: insight.is_some() || options.idle_age.is_some(),
            insight,
            allocator,
            home,
            options,
            binning,
            shelves: Shelves::new((2 * threads).min(MOST_SHELVES), binning),
            split,
            reserved: AtomicUsize::new(0),
            freeing: Freeing::default(),
            peak_managed: AtomicUsize::new(0),
            peak_active: AtomicUsize::new(0),
        })
    }

    /// A block of at least `size` bytes for somebody on the allocator's queue.
    #[inline]
    pub fn allocate(self: &Arc<Self>, size: usize) -> Result<Box<Block<M>>> {
        let bin = self.binning.bin(size);
        let block = self.shelves.take(
            thread_number(),
            bin,
            |block| self.is_ready(block, size),
            |block| block.hand_out(size, BoundTo::Home),
        );
        match block {
            Some(block) => Ok(block),
            None => self.allocate_for(size, &Target::Home),
        }
    }

    /// The same for somebody on any queue.
    #[cold]
    pub fn allocate_for(self: &Arc<Self>, size: usize, target: &Target) -> Result<Box<Block<M>>> {
        let size_of_new = self.size_of_new(size)?;
        if let Some(block) = self.reuse(size, target)? {
            return Ok(block);
        }
        self.trim_idle();
        let times_freed = self.freeing.times();
        match self.try_new(size, size_of_new, target)? {
            Ok(block) => Ok(block),
            Err(error) => self.after_reclaiming(size, size_of_new, target, times_freed, error),
        }
    }

    /// Statistics at one moment.
    pub fn statistics(&self) -> Statistics {
        let (counts, peak_in_roots) = match &self.split {
            Some(split) => split.counts_with(|| self.shelves.counts()),
            None => (self.shelves.counts(), 0),
        };
        let mut statistics = Statistics::new(counts);
        let raised =
            |peak: &AtomicUsize, now: usize| peak.fetch_max(now, Ordering::Relaxed).max(now);
        let active = statistics.active_bytes.max(peak_in_roots);
        statistics.peak_active_bytes = raised(&self.peak_active, active);
        statistics.peak_managed_bytes = raised(&self.peak_managed, statistics.managed_bytes);
        statistics
    }

    /// So many bytes are in use, or were at a moment.
    pub fn raise_peak_active(&self, bytes: usize) {
        self.peak_active.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Reserves bytes of the limit, if there are as many left.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reserved<M>> {
        let limit = self.options.limit;
        let add = |reserved: usize| reserved.checked_add(bytes).filter(|sum| *sum <= limit);
        self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        Some(Reserved { pool: Arc::clone(self), bytes, place: None, since: None })
    }
}

impl<M: Memory> fmt::Debug for Shared<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("allocator", &self.allocator).finish_non_exhaustive()
    }
}
