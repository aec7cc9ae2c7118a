//! Slabs: large blocks that are handed out in parts.
//!
//! While the slabs are locked, neither memory nor queues are dropped, and the driver is called only to query the
//! alignment of parts (`clGetDeviceInfo`), to create a part (`clCreateSubBuffer`) and to release events.

pub(super) mod ranges;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::block::{Block, BlockOwner, Reserved};
use super::memory::sealed::PoolMemory;
use super::source::{MAX_CANDIDATES, Request, Reuse, Source};
use super::statistics::Counts;
use crate::error::Result;
use crate::memory::track::AccessTracker;
use ranges::{Ranges, Suballocation};

/// The slabs of a pool.
pub(super) struct Slabs<P: BlockOwner> {
    /// Bytes of a new slab.
    pub slab_size: usize,
    state: Mutex<State<P>>,
}

struct State<P: BlockOwner> {
    /// The slabs, by number.
    slabs: BTreeMap<usize, Slab<P>>,
    /// The free ranges of the slabs; none until the first slab shows its alignment.
    ranges: Option<Ranges>,
    /// The number of the next slab.
    next: usize,
    /// The counts. A slab without active parts is a held block.
    counts: Counts,
    /// The most bytes of parts that were active.
    peak_active: usize,
    /// True if slabs without active parts are held.
    is_holding: bool,
}

struct Slab<P: BlockOwner> {
    /// Parts that came back while there were other handles to them.
    deferred: Vec<Box<Block<P>>>,
    block: Box<Block<P>>,
    /// The number of active parts.
    active: usize,
}

impl<P: BlockOwner> Slabs<P> {
    pub fn new(slab_size: usize) -> Self {
        let state = State {
            slabs: BTreeMap::new(),
            ranges: None,
            next: 0,
            counts: Counts::default(),
            peak_active: 0,
            is_holding: true,
        };
        Self { slab_size, state: Mutex::new(state) }
    }

    /// Returns whether a new slab has room for `size` bytes, as far as that is known.
    pub fn has_room_for(&self, size: usize) -> bool {
        let state = self.state.lock();
        let len = state.ranges.as_ref().map_or(Some(size), |ranges| ranges.len_for(size));
        len.is_some_and(|len| len <= self.slab_size)
    }

    /// Adds a new slab, and hands out its first bytes. Returns nothing if the slab has no room.
    pub fn add(
        &self,
        block: Box<Block<P>>,
        request: &Request<'_>,
    ) -> Result<Option<Box<Block<P>>>> {
        let mut state = self.state.lock();
        let alignment = block.memory.alignment_of_parts();
        let (slab, bytes) = (state.next, block.bytes);
        let ranges = state.ranges.get_or_insert_with(|| Ranges::new(alignment));
        let Some(len) = ranges.len_for(request.size).filter(|len| *len <= bytes) else {
            drop(state);
            return Ok(None);
        };
        ranges.add(slab, bytes);
        state.next += 1;
        state.counts.managed_bytes += bytes;
        state.counts.held_blocks += 1;
        state.slabs.insert(slab, Slab { deferred: Vec::new(), block, active: 0 });
        let part = state.activate(Suballocation { slab, start: 0, len }, request);
        drop(state);
        Ok(part?.map(|mut part| {
            part.is_new = true;
            part.activate(request.size, request.queue);
            part
        }))
    }

    /// Gives back a part, with the time if it is needed.
    pub fn release(&self, part: Box<Block<P>>, now: Option<Instant>) {
        let (Some(suballocation), requested) =
            (part.suballocation.as_deref().copied(), part.memory.size())
        else {
            return;
        };
        let deferred = if part.memory.is_unique_part() {
            // The driver's object goes before its bytes are free.
            drop(part);
            None
        } else {
            Some(part)
        };
        let removed = self.state.lock().count_release(suballocation, requested, deferred, now);
        drop(removed);
    }

    /// Frees the bytes of parts that have no other handles any more.
    pub fn free_deferred(&self) {
        let parts = self.state.lock().take_deferred();
        for part in parts {
            let suballocation = part.suballocation.as_deref().copied();
            drop(part);
            let mut state = self.state.lock();
            if let (Some(ranges), Some(suballocation)) = (&mut state.ranges, suballocation) {
                ranges.release(suballocation);
            }
        }
    }

    /// Returns the counts of slabs and `others` at one moment, and the most bytes of parts that were active.
    pub fn counts_with(&self, others: impl FnOnce() -> Counts) -> (Counts, usize) {
        let state = self.state.lock();
        (state.counts + others(), state.peak_active)
    }
}

impl<P: BlockOwner> State<P> {
    /// Returns the places that the request could get: of each of up to [`MAX_CANDIDATES`] slabs, the best.
    fn suballocations(&self, request: &Request<'_>) -> Vec<Suballocation> {
        self.ranges
            .as_ref()
            .map_or_else(Vec::new, |ranges| ranges.best(request.size, MAX_CANDIDATES))
    }

    fn bytes_of(
        &self,
        suballocation: &Suballocation,
    ) -> Option<(&Arc<AccessTracker>, Range<usize>)> {
        let block = &self.slabs.get(&suballocation.slab)?.block;
        Some((
            &block.tracker,
            block.memory.in_tracker(suballocation.start..suballocation.start + suballocation.len),
        ))
    }

    /// Creates a part of free bytes, and makes it active.
    fn activate(
        &mut self,
        suballocation: Suballocation,
        request: &Request<'_>,
    ) -> Result<Option<Box<Block<P>>>> {
        let (Some(slab), Some(ranges)) =
            (self.slabs.get_mut(&suballocation.slab), &mut self.ranges)
        else {
            return Ok(None);
        };
        let memory = slab.block.memory.part(suballocation.start, request.size.max(1))?;
        ranges.take(suballocation);
        slab.active += 1;
        if slab.active == 1 {
            self.counts.held_blocks -= 1;
        }
        self.counts.active_blocks += 1;
        self.counts.active_bytes += request.size;
        self.peak_active = self.peak_active.max(self.counts.active_bytes.0);
        let pool = Arc::clone(slab.block.pool());
        Ok(Some(Box::new(Block {
            tracker: Arc::clone(memory.tracker()),
            memory,
            reserved: Reserved { pool, bytes: 0, is_allocated: true, since: None },
            bytes: suballocation.len,
            bin: request.bin,
            suballocation: Some(Box::new(suballocation)),
            queue: None,
            bound: None,
            is_new: false,
        })))
    }

    /// Counts a part that has come back: its bytes are free, or it is laid `deferred`. Returns a slab that is
    /// not held.
    fn count_release(
        &mut self,
        suballocation: Suballocation,
        requested: usize,
        deferred: Option<Box<Block<P>>>,
        now: Option<Instant>,
    ) -> Option<Slab<P>> {
        self.counts.active_blocks -= 1;
        self.counts.active_bytes -= requested;
        // A slab stays as long as it has active parts.
        let slab = self.slabs.get_mut(&suballocation.slab)?;
        match deferred {
            Some(part) => slab.deferred.push(part),
            None => self.ranges.as_mut()?.release(suballocation),
        }
        slab.active -= 1;
        if slab.active > 0 {
            return None;
        }
        slab.block.reserved.since = now;
        self.counts.held_blocks += 1;
        if self.is_holding { None } else { self.remove(suballocation.slab) }
    }

    /// Removes the parts that have no other handles any more from those laid aside.
    fn take_deferred(&mut self) -> Vec<Box<Block<P>>> {
        let slabs = self.slabs.values_mut();
        let parts = slabs
            .flat_map(|slab| slab.deferred.extract_if(.., |part| part.memory.is_unique_part()));
        parts.collect()
    }

    /// Returns the last slab without active parts.
    fn last_unused(&self) -> Option<(usize, &Slab<P>)> {
        let mut slabs = self.slabs.iter().rev();
        slabs.find(|(_, slab)| slab.active == 0).map(|(number, slab)| (*number, slab))
    }

    /// Removes a slab without active parts.
    fn remove(&mut self, number: usize) -> Option<Slab<P>> {
        let slab = self.slabs.remove(&number)?;
        self.ranges.as_mut()?.remove(number);
        self.counts.held_blocks -= 1;
        self.counts.managed_bytes -= slab.block.bytes;
        Some(slab)
    }
}

impl<P: BlockOwner> Source<P> for Slabs<P> {
    fn candidates(&self, request: &Request<'_>) -> Vec<(Arc<AccessTracker>, Range<usize>)> {
        let state = self.state.lock();
        let suballocations = state.suballocations(request);
        let bytes = suballocations.iter().filter_map(|suballocation| state.bytes_of(suballocation));
        bytes.map(|(tracker, range)| (Arc::clone(tracker), range)).collect()
    }

    fn take(&self, request: &Request<'_>, reuse: Reuse) -> Result<Option<Box<Block<P>>>> {
        let mut state = self.state.lock();
        let suballocation = state.suballocations(request).into_iter().find(|suballocation| {
            let bytes = state.bytes_of(suballocation);
            bytes.is_some_and(|(tracker, range)| request.accepts(reuse, tracker, &range, None))
        });
        let Some(suballocation) = suballocation else { return Ok(None) };
        let part = state.activate(suballocation, request);
        drop(state);
        Ok(part?.map(|mut part| {
            part.activate(request.size, request.queue);
            part
        }))
    }

    fn largest(&self) -> Option<usize> {
        self.state.lock().last_unused().map(|(_, slab)| slab.block.bytes)
    }

    fn take_largest(&self) -> Option<Box<Block<P>>> {
        let mut state = self.state.lock();
        let number = state.last_unused()?.0;
        let slab = state.remove(number);
        drop(state);
        slab.map(|slab| slab.block)
    }

    fn take_all(&self, is_selected: &dyn Fn(&Block<P>) -> bool) -> Vec<Box<Block<P>>> {
        let mut state = self.state.lock();
        let slabs = state.slabs.iter();
        let unused = slabs.filter(|(_, slab)| slab.active == 0 && is_selected(&slab.block));
        let numbers: Vec<_> = unused.map(|(number, _)| *number).collect();
        let slabs: Vec<_> = numbers.into_iter().filter_map(|number| state.remove(number)).collect();
        drop(state);
        slabs.into_iter().map(|slab| slab.block).collect()
    }

    fn stop_holding(&self) {
        self.state.lock().is_holding = false;
    }
}
