//! Slabs: large buffers that are allocated in parts.

mod ranges;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Allocator;
use crate::context::Context;
use crate::error::{Class, Result};
use crate::memory::{Buffer, MemFlags};
use crate::pool::memory::sealed::PoolMemory;
use crate::pool::request::MAX_CANDIDATES;
use crate::queue::CommandQueue;
use ranges::{Ranges, Suballocation};

/// Allocates slabs, large buffers of another allocator, and hands out parts of them (`clCreateSubBuffer`).
///
/// A part has the requested bytes, rounded up to the devices' base address alignment (128 or more). When the
/// last handle, region, image and map of it is dropped, its bytes are free, and are merged with the free bytes beside
/// them. A part is reused like a block of a pool: for a queue, the commands on its bytes have ended, are on
/// this in-order queue, or the queue waits for them by a barrier; without a queue, they have ended. A request
/// larger than a slab gets a buffer of its own, and so does each request if no further slab can be allocated.
///
/// A [pool](crate::pool::MemoryPool) on this allocator holds no blocks, and its
/// [limit](crate::pool::PoolOptions::limit) and statistics are those of the parts. To limit the slabs, put a pool of
/// buffers below: it is an allocator for slabs, too.
///
/// The largest size that is requested often is recommended for slabs: a larger request shares no slab, and larger
/// slabs leave more memory free. For sizes up to 64 MiB, each power of two as often as the next, slabs of 64 MiB
/// halve the memory of a pool. Each part is a driver call, which takes some ten times as long as the reuse of
/// a block. [`parent`](Buffer::parent) of a part is a handle to the whole slab, not to the part.
///
/// ```
/// use std::sync::Arc;
///
/// use clmatrix::memory::MemFlags;
/// use clmatrix::pool::{ImmediateAllocator, MemoryPool, SlabAllocator};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffers = ImmediateAllocator::new(&queue, MemFlags::READ_WRITE)?;
/// let slabs = Arc::new(SlabAllocator::new(buffers, 1 << 20));
/// let pool = MemoryPool::new(Arc::clone(&slabs))?;
/// let parts = [pool.allocate(1000)?, pool.allocate(300_000)?];
/// assert_eq!((slabs.reserved_bytes(), pool.active_bytes()), (1 << 20, 301_000));
/// drop(parts);
/// slabs.free_unused();
/// assert_eq!(slabs.reserved_bytes(), 0);
/// # Ok(())
/// # }
/// ```
pub struct SlabAllocator<A: Allocator> {
    slab_bytes: usize,
    slabs: Arc<Mutex<Slabs<A::Memory>>>,
    inner: A,
}

/// The slabs of an allocator. While they are locked, the driver is only queried for alignments, and no memory is
/// dropped.
struct Slabs<M> {
    /// The slabs, by number.
    slabs: BTreeMap<usize, Slab<M>>,
    /// The free ranges of the slabs; none until the first slab shows its alignment.
    ranges: Option<Ranges>,
    /// The number of the next slab.
    next: usize,
    /// False once the allocator is gone.
    is_holding: bool,
}

struct Slab<M> {
    memory: M,
    bytes: usize,
    /// The number of its parts.
    active: usize,
    /// False for the buffer of one large request.
    is_shared: bool,
}

/// Bytes of a slab that are not free until this is dropped.
struct Part<M> {
    slabs: Arc<Mutex<Slabs<M>>>,
    place: Suballocation,
}

impl<M> Drop for Part<M> {
    fn drop(&mut self) {
        let unused = self.slabs.lock().release(self.place);
        drop(unused);
    }
}

impl<M: Send + 'static> Part<M> {
    /// Returns the first `size` bytes as a buffer.
    fn into_buffer(self, slab: &Buffer, size: usize) -> Result<Buffer> {
        let start = self.place.start;
        slab.sub_buffer_with_owner(start..start + size, MemFlags::empty(), Some(Arc::new(self)))
    }
}

impl<M: Borrow<Buffer>> Slabs<M> {
    /// Takes a place for `size` bytes: the best one, the one after `nth` better ones, or as the last candidate one in
    /// the longest free range, in which no command may ever have run.
    fn take(&mut self, size: usize, nth: usize) -> Option<(Buffer, Suballocation)> {
        let ranges = self.ranges.as_mut()?;
        let place = match nth + 1 {
            MAX_CANDIDATES => ranges.longest(size)?,
            _ => ranges.best(size, nth)?,
        };
        ranges.take(place);
        let slab = self.slabs.get_mut(&place.slab)?;
        slab.active += 1;
        Some((slab.memory.borrow().clone(), place))
    }

    /// Adds a slab, and takes its first bytes. A slab that is not shared, or in which no place is that large, is taken
    /// as a whole.
    fn add(&mut self, memory: M, size: usize, is_shared: bool) -> (Buffer, Suballocation) {
        let buffer = memory.borrow().clone();
        let (slab, bytes) = (self.next, PoolMemory::size(&buffer));
        let ranges = self.ranges.get_or_insert_with(|| Ranges::new(alignment(&buffer)));
        let len = ranges.len_for(size).filter(|len| is_shared && *len <= bytes);
        let is_shared = len.is_some();
        let place = Suballocation { slab, start: 0, len: len.unwrap_or(bytes) };
        ranges.add(slab, if is_shared { bytes } else { 0 });
        ranges.take(place);
        self.next += 1;
        self.slabs.insert(slab, Slab { memory, bytes, active: 1, is_shared });
        (buffer, place)
    }
}

impl<M> Slabs<M> {
    /// Makes a place free. Returns a slab that is not kept without parts.
    fn release(&mut self, place: Suballocation) -> Option<Slab<M>> {
        let slab = self.slabs.get_mut(&place.slab)?;
        slab.active -= 1;
        if slab.active == 0 && !(slab.is_shared && self.is_holding) {
            return self.remove(place.slab);
        }
        self.ranges.as_mut()?.release(place);
        None
    }

    fn remove(&mut self, slab: usize) -> Option<Slab<M>> {
        self.ranges.as_mut()?.remove(slab);
        self.slabs.remove(&slab)
    }
}

/// Returns the alignment of the parts of a buffer in bytes.
fn alignment(buffer: &Buffer) -> usize {
    /// The alignment of `long16` and `double16`, the largest of any type.
    const LARGEST_TYPE: usize = 128;
    // All devices can use the largest: alignments are powers of two.
    PoolMemory::context(buffer).base_alignments().max().unwrap_or(1).max(LARGEST_TYPE)
}

impl<A> SlabAllocator<A>
where
    A: Allocator<Memory: Borrow<Buffer> + Send + 'static>,
{
    /// Returns an allocator of parts of slabs of `slab_bytes` bytes, which `inner` allocates. Slabs are no larger
    /// than its [`max_size`](Allocator::max_size).
    pub fn new(inner: A, slab_bytes: usize) -> Self {
        let (slabs, ranges) = (BTreeMap::new(), None);
        let slabs = Arc::new(Mutex::new(Slabs { slabs, ranges, next: 0, is_holding: true }));
        Self { slab_bytes, slabs, inner }
    }

    /// Hands out free bytes of the slabs; preferably such that the queue does not have to wait.
    fn reuse(&self, queue: Option<&CommandQueue>, size: usize) -> Result<Option<Buffer>> {
        for waits in [None].into_iter().chain(queue.map(Some)) {
            for nth in 0..MAX_CANDIDATES {
                // A place that is not reused is free again before the next one is taken.
                let Some((slab, place)) = self.slabs.lock().take(size, nth) else { break };
                let part = Part { slabs: Arc::clone(&self.slabs), place };
                let range = slab.in_tracker(&(place.start..place.start + place.len));
                let tracker = slab.tracker();
                let is_free = tracker.is_free_for(queue, &range) == Some(true);
                let events = if is_free { Some(vec![]) } else { tracker.pending(queue, &range) };
                let Some(events) = events else { continue };
                match waits.map(|queue| queue.order_after(&events)) {
                    None if !events.is_empty() => {}
                    Some(Err(error)) => log::warn!("{error}: a part of a slab is not reused"),
                    None | Some(Ok(())) => return part.into_buffer(&slab, size).map(Some),
                }
            }
        }
        Ok(None)
    }
}

impl<A: Allocator> SlabAllocator<A> {
    /// Returns the bytes of all slabs.
    pub fn reserved_bytes(&self) -> usize {
        self.slabs.lock().slabs.values().map(|slab| slab.bytes).sum()
    }

    /// Frees the slabs without parts.
    pub fn free_unused(&self) {
        drop(self.remove_unused());
    }

    fn remove_unused(&self) -> Vec<Slab<A::Memory>> {
        let mut slabs = self.slabs.lock();
        let unused = slabs.slabs.iter().filter(|(_, slab)| slab.active == 0);
        let unused: Vec<_> = unused.map(|(number, _)| *number).collect();
        unused.into_iter().filter_map(|slab| slabs.remove(slab)).collect()
    }
}

/// Frees the slabs: those in use when their last part is dropped.
impl<A: Allocator> Drop for SlabAllocator<A> {
    fn drop(&mut self) {
        self.slabs.lock().is_holding = false;
        self.free_unused();
    }
}

impl<A> Allocator for SlabAllocator<A>
where
    A: Allocator<Memory: Borrow<Buffer> + Send + 'static>,
{
    type Memory = Buffer;

    fn allocate(&self, size: usize) -> Result<Option<Buffer>> {
        self.allocate_for(self.queue(), size)
    }

    fn allocate_for(&self, queue: Option<&CommandQueue>, size: usize) -> Result<Option<Buffer>> {
        if size == 0 {
            return Ok(None);
        }
        let context = self.context();
        context.0.dropped_queues.look();
        if let Some(part) = self.reuse(queue, size)? {
            return Ok(Some(part));
        }
        let slab_bytes = self.slab_bytes.min(self.max_size().unwrap_or(usize::MAX));
        let slab = match self.inner.allocate_for(queue, slab_bytes.max(size)) {
            Err(error) if error.class() == Class::OutOfMemory => {
                for slab in self.remove_unused() {
                    // The driver keeps the memory for commands that still run.
                    let idle = slab.memory.borrow().tracker().wait_until_idle("clReleaseMemObject");
                    idle.unwrap_or_else(|error| log::warn!("a slab is freed early: {error}"));
                }
                self.inner.allocate_for(queue, size)
            }
            slab => slab,
        };
        let Some(slab) = slab? else { return Ok(None) };
        slab.borrow().tracker().set_pool(&context.0.dropped_queues);
        let is_shared = PoolMemory::size(slab.borrow()) == slab_bytes;
        let (slab, place) = self.slabs.lock().add(slab, size, is_shared);
        Part { slabs: Arc::clone(&self.slabs), place }.into_buffer(&slab, size).map(Some)
    }

    fn queue(&self) -> Option<&CommandQueue> {
        self.inner.queue()
    }

    fn is_deferred(&self) -> bool {
        self.inner.is_deferred()
    }

    fn reuses_memory(&self) -> bool {
        true
    }

    fn max_size(&self) -> Option<usize> {
        self.inner.max_size()
    }

    fn context(&self) -> Context {
        self.inner.context()
    }
}

impl<A: Allocator> fmt::Debug for SlabAllocator<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlabAllocator")
            .field("inner", &self.inner)
            .field("slab_bytes", &self.slab_bytes)
            .finish_non_exhaustive()
    }
}
