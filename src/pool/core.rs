//! The core of a pool: allocate, reuse, create, reclaim.

use std::cell::Cell;
use std::fmt;
use std::mem;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use cl3::error_codes::{CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE};
use parking_lot::ReentrantMutex;

use super::allocator::Allocator;
use super::bin::Binning;
use super::block::{Block, CALL, Reserved};
use super::memory::Memory;
use super::options::PoolOptions;
use super::request::{Request, Reuse};
use super::shards::Shards;
use super::statistics::Statistics;
use super::trace::Trace;
use crate::context::Context;
use crate::error::{Class, Error, Result};
use crate::queue::CommandQueue;

/// The core of a pool. Each block keeps it, held blocks too, until the pool stops holding them.
pub(super) struct PoolCore<M: Memory> {
    pub allocator: Box<dyn Allocator<Memory = M>>,
    pub allocator_queue: Option<CommandQueue>,
    pub context: Context,
    pub options: PoolOptions,
    pub binning: Binning,
    shards: Shards<M>,
    /// The bytes of all blocks, and of blocks that are just being allocated.
    reserved: AtomicUsize,
    /// The number of blocks that have been freed.
    frees: AtomicUsize,
    /// Locked while a thread frees held blocks because memory has run out.
    reclaiming: ReentrantMutex<()>,
    peak_managed: AtomicUsize,
    peak_active: AtomicUsize,
    pub trace: Option<Trace>,
    /// True if a returned block is recorded.
    pub tracks_returns: bool,
}

/// Memory, or the error that memory has run out.
type OrOutOfMemory<T> = std::result::Result<T, Error>;

/// The largest number of shards. A pool has two per processor, because threads that are idle have shards as
/// well; more than these would make the statistics slow.
const MAX_SHARDS: usize = 16;

impl<M: Memory> PoolCore<M> {
    pub fn new(
        allocator: Box<dyn Allocator<Memory = M>>,
        allocator_queue: Option<CommandQueue>,
        options: PoolOptions,
    ) -> Result<Self> {
        let binning = options.binning()?;
        let is_holding = !allocator.reuses_memory();
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        // Each allocation counts the bytes of all shards, if none reuses a held block.
        let shards = if is_holding { (2 * threads).min(MAX_SHARDS) } else { 1 };
        let trace = Trace::new(options.on_event.clone(), options.reports_leaks);
        Ok(Self {
            tracks_returns: trace.is_some() || options.max_idle.is_some(),
            trace,
            allocator_queue,
            context: allocator.context(),
            options,
            binning,
            shards: Shards::new(shards, binning, is_holding),
            allocator,
            reserved: AtomicUsize::new(0),
            frees: AtomicUsize::new(0),
            reclaiming: ReentrantMutex::new(()),
            peak_managed: AtomicUsize::new(0),
            peak_active: AtomicUsize::new(0),
        })
    }

    /// Hands out at least `size` bytes for `queue`.
    #[inline]
    pub fn allocate(
        self: &Arc<Self>,
        size: usize,
        queue: Option<&CommandQueue>,
    ) -> Result<Box<Block<M>>> {
        self.context.0.dropped_queues.look();
        let bin = self.binning.bin(size);
        let is_ready = |block: &Block<M>| {
            block.bytes >= size
                && block.memory.is_unique()
                && (!self.options.is_ordered || block.tracker.is_used_only_on(queue))
        };
        match self.shards.take_last(bin, size, is_ready) {
            Some(mut block) => {
                block.activate(size, queue);
                Ok(block)
            }
            None => self.allocate_slowly(size, queue),
        }
    }

    #[cold]
    fn allocate_slowly(
        self: &Arc<Self>,
        size: usize,
        queue: Option<&CommandQueue>,
    ) -> Result<Box<Block<M>>> {
        let request = self.request(size, queue)?;
        if !self.allocator.reuses_memory()
            && let Some(block) = self.reuse(&request, Reuse::Own)
        {
            return Ok(block);
        }
        self.trim_idle();
        let frees = self.frees.load(Ordering::Acquire);
        match self.create(&request)? {
            Ok(block) => Ok(block),
            Err(error) => self.reclaim(&request, error, frees),
        }
    }

    /// Refuses a size that no device can allocate, because freeing memory would not help.
    fn request<'a>(&self, size: usize, queue: Option<&'a CommandQueue>) -> Result<Request<'a>> {
        let most = max_bytes(&*self.allocator);
        Error::refuse_if(size > most, CALL, CL_INVALID_BUFFER_SIZE, || {
            format!("{size} bytes; the context's devices allocate at most {most} at once")
        })?;
        let bin = self.binning.bin(size);
        // An allocator that reuses memory does not need common sizes.
        let is_exact = self.allocator.reuses_memory();
        let of_bin = if is_exact { size.max(1) } else { self.binning.size(bin) };
        let more = of_bin as u128 * u128::from(self.options.max_oversize_percent) / 100;
        let at_most = of_bin.saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
        Ok(Request {
            size,
            bin,
            // All sizes of the bin that are ever requested fit into `most`, too.
            new_size: of_bin.min(most),
            at_most,
            last_bin: self.binning.bin(at_most),
            queue,
            is_ordered: self.options.is_ordered,
        })
    }

    /// Hands out held memory; preferably such that the queue does not have to wait.
    fn reuse(&self, request: &Request<'_>, reuse: Reuse) -> Option<Box<Block<M>>> {
        if let Some(block) = self.shards.take(request, Reuse::Ready) {
            return Some(block);
        }
        for (tracker, range) in self.shards.candidates(request) {
            // Queries the driver, and records the ends in the events. No shard is locked meanwhile.
            tracker.pending(request.queue, &range);
        }
        if let Some(block) = self.shards.take(request, Reuse::Ready) {
            return Some(block);
        }
        let queue = request.queue?;
        let block = self.shards.take(request, reuse)?;
        match self.order_after_uses(queue, &block) {
            Ok(()) => Some(block),
            Err(error) => {
                log::warn!("{error}: a block of a memory pool is not reused");
                Self::release(block);
                None
            }
        }
    }

    /// Orders the later commands of `queue` after the commands on the block.
    fn order_after_uses(&self, queue: &CommandQueue, block: &Block<M>) -> Result<()> {
        if !self.options.is_ordered {
            return Ok(());
        }
        match block.tracker.pending(Some(queue), &block.range()) {
            Some(events) => queue.order_after(&events),
            None => {
                let reason = "an unmap of the block has failed";
                Err(Error::refused(CALL, CL_MEM_OBJECT_ALLOCATION_FAILURE, reason))
            }
        }
    }

    /// Hands out a new block from the allocator.
    fn create(self: &Arc<Self>, request: &Request<'_>) -> Result<OrOutOfMemory<Box<Block<M>>>> {
        let (bytes, limit) = (request.new_size, self.options.limit);
        let add = |reserved: usize| reserved.checked_add(bytes).filter(|sum| *sum <= limit);
        if self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            let reason = format!("the pool's limit is {limit} bytes");
            return Ok(Err(Error::refused(CALL, CL_MEM_OBJECT_ALLOCATION_FAILURE, reason)));
        }
        let pool = Arc::clone(self);
        let mut reserved = Reserved { pool, bytes, is_allocated: false, since: None };
        let reason = match self.allocator.allocate_for(request.queue, bytes) {
            // The allocator may be the user's.
            Ok(Some(memory)) if memory.size() >= bytes => {
                reserved.is_allocated = true;
                let tracker = Arc::clone(memory.tracker());
                let (bin, queue, bound) = (request.bin, None, None);
                let block =
                    Block { memory, tracker, reserved, bytes, bin, queue, bound, is_new: true };
                let mut block = Box::new(block);
                block.activate(request.size, request.queue);
                self.shards.add(&block);
                block.tracker.set_pool(&self.context.0.dropped_queues);
                self.statistics();
                return Ok(Ok(block));
            }
            Ok(Some(_)) => {
                format!("the allocator returned less than the requested {bytes} bytes")
            }
            Ok(None) => format!("the allocator returned no memory for {bytes} bytes"),
            Err(error) if error.class() == Class::OutOfMemory => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        Err(Error::refused(CALL, CL_INVALID_BUFFER_SIZE, reason))
    }

    /// Handles that memory has run out, with `error`, when `frees` blocks had been freed: calls the user's hook, then
    /// reuses blocks for which the queue has to wait, then frees held blocks, the largest first, and retries the
    /// allocator after each.
    #[cold]
    fn reclaim(
        self: &Arc<Self>,
        request: &Request<'_>,
        mut error: Error,
        mut frees: usize,
    ) -> Result<Box<Block<M>>> {
        // Blocks and bytes.
        let mut freed = (0, 0);
        if request.new_size > self.options.limit {
            // No freed block makes room for that.
            return Err(self.out_of_memory(request, freed, &error));
        }
        let mut is_retried = self.call_hook();
        if let Some(block) = self.reuse(request, Reuse::Any) {
            return Ok(block);
        }
        // One thread at a time: a thread must not give up while another one frees the last held block.
        let _reclaiming = self.reclaiming.lock();
        loop {
            let now = self.frees.load(Ordering::Acquire);
            if mem::take(&mut is_retried) || now != frees {
                frees = now;
                match self.create(request)? {
                    Ok(block) => return Ok(block),
                    Err(again) => error = again,
                }
            }
            if let Some(block) = self.shards.take_largest() {
                freed = (freed.0 + 1, freed.1 + block.bytes);
                block.free_now();
            } else if self.frees.load(Ordering::Acquire) == frees {
                return Err(self.out_of_memory(request, freed, &error));
            }
        }
    }

    /// Calls the user's hook, if there is one, and returns whether it was called. If memory runs out in a hook, no
    /// hook is called: the calls would never end.
    fn call_hook(&self) -> bool {
        thread_local!(static IS_IN_HOOK: Cell<bool> = const { Cell::new(false) });
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                IS_IN_HOOK.set(false);
            }
        }
        let Some(reclaim) = &self.options.on_out_of_memory else { return false };
        if IS_IN_HOOK.replace(true) {
            return false;
        }
        let _leave = Leave;
        reclaim();
        true
    }

    fn out_of_memory(
        &self,
        Request { size, new_size, .. }: &Request<'_>,
        (freed_blocks, freed_bytes): (usize, usize),
        error: &Error,
    ) -> Error {
        let Statistics { held_blocks, active_blocks, managed_bytes, active_bytes, .. } =
            self.statistics();
        let reason = format!(
            "{size} bytes were requested, which takes a block of {new_size}; {freed_blocks} blocks that were held \
             have been freed, with {freed_bytes} bytes, and {held_blocks} are held; {active_blocks} are active with \
             {active_bytes} bytes; {managed_bytes} bytes are managed in all ({error})"
        );
        Error::refused(CALL, error.code(), reason)
    }

    /// Returns an active block to the pool.
    #[inline]
    pub fn release(block: Box<Block<M>>) {
        // The shard outlives the pool, which another thread may free as soon as the shard is unlocked.
        let shard = block.pool().shards.own();
        let released = shard.lock().release(block);
        if let Some(block) = released {
            free(block);
        }
    }

    /// Frees all held blocks.
    pub fn free_held(&self) {
        drop(self.shards.take_all(|_| true));
    }

    /// Frees the blocks that have been held for too long.
    pub fn trim_idle(&self) {
        if let Some(age) = self.options.max_idle {
            let now = Instant::now();
            let is_old = |since: Instant| now.saturating_duration_since(since) >= age;
            drop(self.shards.take_all(|block| block.reserved.since.is_some_and(is_old)));
        }
    }

    /// Frees all held blocks, and from now on every returned block.
    pub fn stop_holding(&self) {
        self.shards.stop_holding();
        self.free_held();
    }

    /// Frees held blocks, the largest first, until no more than `bytes` are managed.
    pub fn trim_to(&self, bytes: usize) {
        while self.reserved.load(Ordering::Relaxed) > bytes
            && let Some(block) = self.shards.take_largest()
        {
            drop(block);
        }
    }

    /// Returns the statistics at one moment, and raises the peaks.
    pub fn statistics(&self) -> Statistics {
        let counts = self.shards.counts();
        let (managed_bytes, active_bytes) = (counts.managed_bytes.0, counts.active_bytes.0);
        let raised =
            |peak: &AtomicUsize, now: usize| peak.fetch_max(now, Ordering::Relaxed).max(now);
        Statistics {
            held_blocks: counts.held_blocks.0,
            active_blocks: counts.active_blocks.0,
            managed_bytes,
            active_bytes,
            peak_managed_bytes: raised(&self.peak_managed, managed_bytes),
            peak_active_bytes: raised(&self.peak_active, active_bytes),
        }
    }

    /// Ends the reservation of bytes: the allocator's block has been freed, or was never allocated.
    pub fn unreserve(&self, reserved: &Reserved<M>) {
        let bytes = reserved.bytes;
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
        if reserved.is_allocated {
            self.frees.fetch_add(1, Ordering::Release);
        }
        if let (Some(trace), Some(since)) = (&self.trace, reserved.since) {
            trace.freed(bytes, self.binning.bin(bytes), since);
        }
    }

    /// Records that `bytes` bytes are, or were, active at the same time.
    pub fn raise_peak_active(&self, bytes: usize) {
        self.peak_active.fetch_max(bytes, Ordering::Relaxed);
    }
}

/// A function of its own, so that the code that returns a block stays short.
#[cold]
fn free<M: Memory>(block: Box<Block<M>>) {
    drop(block);
}

/// Returns the most bytes of one allocation.
fn max_bytes<M>(allocator: &dyn Allocator<Memory = M>) -> usize {
    allocator.max_size().unwrap_or(usize::MAX).min(isize::MAX as usize)
}

impl<M: Memory> fmt::Debug for PoolCore<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolCore").field("allocator", &self.allocator).finish_non_exhaustive()
    }
}
