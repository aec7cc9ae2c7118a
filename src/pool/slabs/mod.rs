//! Slabs: large blocks that are handed out in parts.
//!
//! While the slabs are locked, neither memory nor queues are dropped, and the driver is called only to
//! create a part (`clCreateSubBuffer`).

mod ranges;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::block::{Block, Reserved};
use super::counts::Counts;
use super::memory::Memory;
use super::pooled::Pooled;
use super::request::{Request, Reuse};
use super::source::{MOST, Source};
use crate::error::Result;
use crate::memory::track::AccessTracker;
pub(super) use ranges::Place;
use ranges::Ranges;

/// The slabs of a pool.
#[derive(Debug)]
pub(super) struct Slabs<M: Memory> {
    /// Bytes of a new slab.
    pub slab_size: usize,
    state: Mutex<State<M>>,
}

#[derive(Debug)]
struct State<M: Memory> {
    /// The slabs, by number.
    slabs: BTreeMap<usize, Slab<M>>,
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

#[derive(Debug)]
struct Slab<M: Memory> {
    /// Parts that came back while there were other handles to them.
    aside: Vec<Box<Block<M>>>,
    block: Box<Block<M>>,
    /// The number of active parts.
    active: usize,
}

impl<M: Memory> Slabs<M> {
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
    pub fn have_room_for(&self, size: usize) -> bool {
        let state = self.state.lock();
        let len = state.ranges.as_ref().map_or(Some(size), |ranges| ranges.len_for(size));
        len.is_some_and(|len| len <= self.slab_size)
    }

    /// Adds a new slab, and hands out its first bytes. Returns nothing if the slab has no room.
    pub fn add(&self, block: Box<Block<M>>, request: &Request<'_>) -> Result<Option<Pooled<M>>> {
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
        state.slabs.insert(slab, Slab { aside: Vec::new(), block, active: 0 });
        let part = state.hand_out(Place { slab, start: 0, len }, request);
        drop(state);
        part.map(|part| {
            part.map(|mut part| {
                part.is_new = true;
                handed_out(part, request)
            })
        })
    }

    /// Gives back a part, with the time if it is needed.
    pub fn give_back(&self, part: Box<Block<M>>, now: Option<Instant>) {
        let (Some(place), requested) = (part.place.as_deref().copied(), part.memory.size()) else {
            return;
        };
        let aside = if part.memory.is_unique_part() {
            // The driver's object goes before its bytes are free.
            drop(part);
            None
        } else {
            Some(part)
        };
        let removed = self.state.lock().was_returned(place, requested, aside, now);
        drop(removed);
    }

    /// Frees the bytes of parts that have no other handles any more.
    pub fn tidy(&self) {
        let parts = self.state.lock().take_from_aside();
        for part in parts {
            let place = part.place.as_deref().copied();
            drop(part);
            let mut state = self.state.lock();
            if let (Some(ranges), Some(place)) = (&mut state.ranges, place) {
                ranges.give_back(place);
            }
        }
    }

    /// Returns the counts of slabs and `others` at one moment, and the most bytes of parts that were active.
    pub fn counts_with(&self, others: impl FnOnce() -> Counts) -> (Counts, usize) {
        let state = self.state.lock();
        (state.counts + others(), state.peak_active)
    }
}

fn handed_out<M: Memory>(mut part: Box<Block<M>>, request: &Request<'_>) -> Pooled<M> {
    part.hand_out(request.size, request.queue);
    Pooled::new(part)
}

impl<M: Memory> State<M> {
    /// Returns the places that the request could get: of each of up to [`MOST`] slabs, the best.
    fn places(&self, request: &Request<'_>) -> Vec<Place> {
        self.ranges.as_ref().map_or_else(Vec::new, |ranges| ranges.best(request.size, MOST))
    }

    fn bytes_of(&self, place: &Place) -> Option<(&Arc<AccessTracker>, Range<usize>)> {
        let block = &self.slabs.get(&place.slab)?.block;
        Some((&block.tracker, block.memory.in_tracker(place.start..place.start + place.len)))
    }

    /// Creates a part of free bytes, and makes it active.
    fn hand_out(&mut self, place: Place, request: &Request<'_>) -> Result<Option<Box<Block<M>>>> {
        let (Some(slab), Some(ranges)) = (self.slabs.get_mut(&place.slab), &mut self.ranges) else {
            return Ok(None);
        };
        let memory = slab.block.memory.part(place.start, request.size.max(1))?;
        ranges.take(place);
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
            reserved: Reserved { pool, bytes: 0, is_made: true, since: None },
            bytes: place.len,
            bin: request.bin,
            place: Some(Box::new(place)),
            queue: None,
            is_bound: false,
            is_new: false,
        })))
    }

    /// Counts a part that has come back: its bytes are free, or it is laid `aside`. Returns a slab that is
    /// not held.
    fn was_returned(
        &mut self,
        place: Place,
        requested: usize,
        aside: Option<Box<Block<M>>>,
        now: Option<Instant>,
    ) -> Option<Slab<M>> {
        self.counts.active_blocks -= 1;
        self.counts.active_bytes -= requested;
        // A slab stays as long as it has active parts.
        let slab = self.slabs.get_mut(&place.slab)?;
        match aside {
            Some(part) => slab.aside.push(part),
            None => self.ranges.as_mut()?.give_back(place),
        }
        slab.active -= 1;
        if slab.active > 0 {
            return None;
        }
        slab.block.reserved.since = now;
        self.counts.held_blocks += 1;
        if self.is_holding { None } else { self.remove(place.slab) }
    }

    /// Removes the parts that have no other handles any more from those laid aside.
    fn take_from_aside(&mut self) -> Vec<Box<Block<M>>> {
        let slabs = self.slabs.values_mut();
        let parts =
            slabs.flat_map(|slab| slab.aside.extract_if(.., |part| part.memory.is_unique_part()));
        parts.collect()
    }

    /// Returns the last slab without active parts.
    fn last_unused(&self) -> Option<(usize, &Slab<M>)> {
        let mut slabs = self.slabs.iter().rev();
        slabs.find(|(_, slab)| slab.active == 0).map(|(number, slab)| (*number, slab))
    }

    /// Removes a slab without active parts.
    fn remove(&mut self, number: usize) -> Option<Slab<M>> {
        let slab = self.slabs.remove(&number)?;
        self.ranges.as_mut()?.remove(number);
        self.counts.held_blocks -= 1;
        self.counts.managed_bytes -= slab.block.bytes;
        Some(slab)
    }
}

impl<M: Memory> Source<M> for Slabs<M> {
    fn candidates(&self, request: &Request<'_>) -> Vec<(Arc<AccessTracker>, Range<usize>)> {
        let state = self.state.lock();
        let places = state.places(request);
        let bytes = places.iter().filter_map(|place| state.bytes_of(place));
        bytes.map(|(tracker, range)| (Arc::clone(tracker), range)).collect()
    }

    fn take(&self, request: &Request<'_>, reuse: Reuse) -> Result<Option<Pooled<M>>> {
        let mut state = self.state.lock();
        let place = state.places(request).into_iter().find(|place| {
            let bytes = state.bytes_of(place);
            bytes.is_some_and(|(tracker, range)| request.accepts(reuse, tracker, &range, None))
        });
        let Some(place) = place else { return Ok(None) };
        let part = state.hand_out(place, request);
        drop(state);
        part.map(|part| part.map(|part| handed_out(part, request)))
    }

    fn largest(&self) -> Option<usize> {
        self.state.lock().last_unused().map(|(_, slab)| slab.block.bytes)
    }

    fn take_largest(&self) -> Option<Box<Block<M>>> {
        let mut state = self.state.lock();
        let number = state.last_unused()?.0;
        let slab = state.remove(number);
        drop(state);
        slab.map(|slab| slab.block)
    }

    fn take_all(&self, is_selected: &dyn Fn(&Block<M>) -> bool) -> Vec<Box<Block<M>>> {
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
