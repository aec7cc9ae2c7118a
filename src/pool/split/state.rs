//! The rules of which root has what, under a lock: what they give back is dropped when it is released.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::ranges::{Place, Ranges};
use super::root::{Queues, Removed, Root, Taken};
use crate::pool::block::{Block, Reserved};
use crate::pool::memory::Memory;
use crate::pool::shelf::Counts;

/// The roots, by number.
#[derive(Debug)]
pub(super) struct State<M: Memory> {
    roots: BTreeMap<usize, Root<M>>,
    /// What is free of them; there is none until the first shows its alignment.
    ranges: Option<Ranges<Queues>>,
    /// The number of the next: none has that of another.
    next: usize,
    counts: Counts,
    peak_active: usize,
    /// How many parts lie aside.
    aside: usize,
    /// Whether roots that nobody uses are kept.
    is_holding: bool,
}

/// What becomes of a root when one of its places is put back; to be dropped when the lock is released.
#[derive(Debug)]
pub(super) struct Back<M: Memory> {
    /// Whether nobody uses the root any more, nor looks at it.
    pub is_unused: bool,
    _queues: Option<Queues>,
    _root: Option<Removed<M>>,
}

impl<M: Memory> Default for State<M> {
    fn default() -> Self {
        Self {
            roots: BTreeMap::new(),
            ranges: None,
            next: 0,
            counts: Counts::default(),
            peak_active: 0,
            aside: 0,
            is_holding: true,
        }
    }
}

impl<M: Memory> State<M> {
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The most bytes of parts that were in use.
    pub fn peak_active(&self) -> usize {
        self.peak_active
    }

    /// Whether a root of so many bytes has room for `size`, as far as that is known.
    pub fn has_room(&self, root_size: usize, size: usize) -> bool {
        let fits = |ranges: &Ranges<_>| ranges.len_for(size).is_some_and(|len| len <= root_size);
        size <= root_size && self.ranges.as_ref().is_none_or(fits)
    }

    /// Takes a place for `size` bytes to look at it, in another root than these.
    pub fn take(&mut self, size: usize, not: &[usize]) -> Option<Taken<M>> {
        let (place, queues) = self.ranges.as_mut()?.take(size, not)?;
        let root = self.roots.get_mut(&place.root)?;
        root.looked_at += 1;
        Some(Taken { place, queues, memory: Arc::clone(&root.memory), is_new: false })
    }

    /// Adds a new root, and takes its first bytes to look at them; gives it back where it has no room.
    pub fn add(
        &mut self,
        memory: M,
        reserved: Reserved<M>,
        size: usize,
    ) -> Result<Taken<M>, (M, Reserved<M>)> {
        let alignment = memory.alignment_of_parts();
        let ranges = self.ranges.get_or_insert_with(|| Ranges::new(alignment));
        let Some(place) = ranges.add(self.next, reserved.bytes, size) else {
            return Err((memory, reserved));
        };
        self.next += 1;
        self.counts.managed_bytes += reserved.bytes;
        self.counts.held_blocks += 1;
        let root = Root { looked_at: 1, ..Root::new(memory, reserved) };
        let memory = Arc::clone(&root.memory);
        self.roots.insert(place.root, root);
        Ok(Taken { place, queues: Queues::new(), memory, is_new: true })
    }

    /// A place that was looked at is in use, for `requested` bytes.
    pub fn hand_out(&mut self, place: &Place, requested: usize) {
        let Some(root) = self.roots.get_mut(&place.root) else { return };
        root.looked_at -= 1;
        root.active += 1;
        root.is_unwanted = false;
        if root.active == 1 {
            self.counts.held_blocks -= 1;
        }
        self.counts.active_blocks += 1;
        self.counts.active_bytes += requested;
        self.peak_active = self.peak_active.max(self.counts.active_bytes.0);
    }

    /// A place that was looked at is free.
    pub fn put_back(&mut self, place: Place, queues: Queues) -> Back<M> {
        let is_unused = self.roots.get_mut(&place.root).is_some_and(|root| {
            root.looked_at -= 1;
            root.is_unused()
        });
        let queues = self.free(place, queues);
        Back { is_unused, _queues: queues, _root: self.remove_unwanted(place.root) }
    }

    /// A part is not in use any more.
    pub fn was_dropped(
        &mut self,
        number: usize,
        requested: usize,
        now: Option<Instant>,
    ) -> Option<Removed<M>> {
        self.counts.active_blocks -= 1;
        self.counts.active_bytes -= requested;
        let root = self.roots.get_mut(&number)?;
        root.active -= 1;
        if root.active == 0 {
            root.held_since = now;
            self.counts.held_blocks += 1;
        }
        self.remove_unwanted(number)
    }

    /// The bytes of a part are free. Gives back what is known of them where the root is there no more.
    pub fn free(&mut self, place: Place, queues: Queues) -> Option<Queues> {
        match &mut self.ranges {
            Some(ranges) => ranges.give_back(place, queues),
            None => Some(queues),
        }
    }

    /// Keeps a part of this root to which there are other handles.
    pub fn lay_aside(&mut self, root: usize, part: Box<Block<M>>) -> Option<Box<Block<M>>> {
        match self.roots.get_mut(&root) {
            Some(root) => {
                root.aside.push(part);
                self.aside += 1;
                None
            }
            None => Some(part),
        }
    }

    /// The parts to which there are no other handles any more.
    pub fn take_from_aside(&mut self) -> Vec<Box<Block<M>>> {
        if self.aside == 0 {
            return Vec::new();
        }
        let is_sole = |part: &mut Box<Block<M>>| part.memory.is_sole_part();
        let roots = self.roots.values_mut();
        let parts: Vec<_> = roots.flat_map(|root| root.aside.extract_if(.., is_sole)).collect();
        self.aside -= parts.len();
        parts
    }

    /// Takes out a root that nobody uses if it is not to be held.
    fn remove_unwanted(&mut self, number: usize) -> Option<Removed<M>> {
        let root = self.roots.get(&number)?;
        let is_out = root.is_unused() && (root.is_unwanted || !self.is_holding);
        if is_out { self.remove(number) } else { None }
    }

    /// Takes out the last of the roots that nobody uses and that are like this.
    pub fn take_unused(&mut self, is_one: impl Fn(&Root<M>) -> bool) -> Option<Removed<M>> {
        let mut roots = self.roots.iter().rev();
        let number = *roots.find(|(_, root)| root.is_unused() && is_one(root))?.0;
        self.remove(number)
    }

    /// Takes out all roots that nobody uses, and later those that are just being looked at.
    pub fn drain(&mut self) -> Vec<Removed<M>> {
        let held = self.roots.iter_mut().filter(|(_, root)| root.active == 0);
        let held: Vec<_> = held
            .map(|(number, root)| {
                root.is_unwanted = true;
                *number
            })
            .collect();
        held.into_iter().filter_map(|number| self.remove_unwanted(number)).collect()
    }

    /// The same, and from now on roots go as soon as nobody uses them.
    pub fn stop_holding(&mut self) -> Vec<Removed<M>> {
        self.is_holding = false;
        self.drain()
    }

    fn remove(&mut self, number: usize) -> Option<Removed<M>> {
        let root = self.roots.remove(&number)?;
        let free = self.ranges.as_mut()?.remove(number);
        self.aside -= root.aside.len();
        self.counts.held_blocks -= 1;
        self.counts.managed_bytes -= root.reserved.bytes;
        Some(Removed::new(root, free))
    }
}
