//! The rules of which root has what, under a lock: what they give back is dropped when it is released.

use std::collections::BTreeMap;
use std::time::Instant;

use super::ranges::{Note, Place, Ranges};
use super::root::{Removed, Root};
use crate::pool::shelf::Counts;

/// The roots, by number.
#[derive(Debug)]
pub(super) struct State<W, P, N> {
    roots: BTreeMap<usize, Root<W, P>>,
    /// What is free of them; there is none until the first shows its alignment.
    ranges: Option<Ranges<N>>,
    /// The number of the next: none has that of another.
    next: usize,
    counts: Counts,
    peak_active: usize,
    /// How many parts lie aside.
    aside: usize,
    /// True if roots that nobody uses are kept.
    is_holding: bool,
}

/// What becomes of a root when one of its places is put back; to be dropped when the lock is released.
#[derive(Debug)]
pub(super) struct Back<W, P, N> {
    /// True if nobody uses the root any more, nor looks at it.
    pub is_unused: bool,
    _note: Option<N>,
    _root: Option<Removed<W, P, N>>,
}

impl<W, P, N> Default for State<W, P, N> {
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

impl<W, P, N: Note> State<W, P, N> {
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The most bytes of parts that were in use.
    pub fn peak_active(&self) -> usize {
        self.peak_active
    }

    /// Returns whether a root of so many bytes has room for `size`, as far as that is known.
    pub fn has_room(&self, root_size: usize, size: usize) -> bool {
        let fits = |ranges: &Ranges<_>| ranges.len_for(size).is_some_and(|len| len <= root_size);
        size <= root_size && self.ranges.as_ref().is_none_or(fits)
    }

    /// Takes a place for `size` bytes to look at it, in another root than these, and what there is `of` that.
    pub fn take<T>(
        &mut self,
        size: usize,
        not: &[usize],
        of: impl FnOnce(&W) -> T,
    ) -> Option<(Place, N, T)> {
        let (place, note) = self.ranges.as_mut()?.take(size, not)?;
        let root = self.roots.get_mut(&place.root)?;
        root.looked_at += 1;
        Some((place, note, of(&root.whole)))
    }

    /// Adds a new root, and takes its first bytes to look at them; gives it back where it has no room.
    pub fn add(
        &mut self,
        whole: W,
        bytes: usize,
        alignment: usize,
        size: usize,
    ) -> Result<Place, W> {
        let ranges = self.ranges.get_or_insert_with(|| Ranges::new(alignment));
        let Some(place) = ranges.add(self.next, bytes, size) else { return Err(whole) };
        self.next += 1;
        self.counts.managed_bytes += bytes;
        self.counts.held_blocks += 1;
        self.roots.insert(place.root, Root::new(whole, bytes));
        Ok(place)
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
    pub fn put_back(&mut self, place: Place, note: N) -> Back<W, P, N> {
        let is_unused = self.roots.get_mut(&place.root).is_some_and(|root| {
            root.looked_at -= 1;
            root.is_unused()
        });
        let note = self.free(place, note);
        Back { is_unused, _note: note, _root: self.remove_unwanted(place.root) }
    }

    /// A part is not in use any more.
    pub fn was_dropped(
        &mut self,
        number: usize,
        requested: usize,
        now: Option<Instant>,
    ) -> Option<Removed<W, P, N>> {
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
    pub fn free(&mut self, place: Place, note: N) -> Option<N> {
        match &mut self.ranges {
            Some(ranges) => ranges.give_back(place, note),
            None => Some(note),
        }
    }

    /// Keeps a part of this root to which there are other handles.
    pub fn lay_aside(&mut self, root: usize, part: P) -> Option<P> {
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
    pub fn take_from_aside(&mut self, is_sole: impl Fn(&P) -> bool) -> Vec<P> {
        if self.aside == 0 {
            return Vec::new();
        }
        let roots = self.roots.values_mut();
        let parts = roots.flat_map(|root| root.aside.extract_if(.., |part| is_sole(part)));
        let parts: Vec<_> = parts.collect();
        self.aside -= parts.len();
        parts
    }

    /// Takes out a root that nobody uses if it is not to be held.
    fn remove_unwanted(&mut self, number: usize) -> Option<Removed<W, P, N>> {
        let root = self.roots.get(&number)?;
        let is_out = root.is_unused() && (root.is_unwanted || !self.is_holding);
        if is_out { self.remove(number) } else { None }
    }

    /// Takes out the last of the roots that nobody uses and that are like this.
    pub fn take_unused(
        &mut self,
        is_one: impl Fn(&Root<W, P>) -> bool,
    ) -> Option<Removed<W, P, N>> {
        let mut roots = self.roots.iter().rev();
        let number = *roots.find(|(_, root)| root.is_unused() && is_one(root))?.0;
        self.remove(number)
    }

    /// Takes out all roots that nobody uses, and later those that are just being looked at.
    pub fn drain(&mut self) -> Vec<Removed<W, P, N>> {
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
    pub fn stop_holding(&mut self) -> Vec<Removed<W, P, N>> {
        self.is_holding = false;
        self.drain()
    }

    fn remove(&mut self, number: usize) -> Option<Removed<W, P, N>> {
        let root = self.roots.remove(&number)?;
        let free = self.ranges.as_mut()?.remove(number);
        self.aside -= root.aside.len();
        self.counts.held_blocks -= 1;
        self.counts.managed_bytes -= root.bytes;
        Some(Removed::new(root, free))
    }
}
