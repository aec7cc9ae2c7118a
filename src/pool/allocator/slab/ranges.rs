//! The free ranges of several slabs: the best fit is taken, and a range that is released is joined with its
//! neighbours at once.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suballocation {
    /// The number of the slab.
    pub slab: usize,
    /// The first byte in the slab.
    pub start: usize,
    /// The number of bytes.
    pub len: usize,
}

/// The free ranges of several slabs.
#[derive(Debug)]
pub(super) struct Ranges {
    /// All places begin at a multiple of this, and have as many bytes.
    alignment: usize,
    /// By number of the slab: the lengths of its free ranges, by their starts.
    slabs: BTreeMap<usize, BTreeMap<usize, usize>>,
    /// All free ranges: length, slab, start.
    by_len: BTreeSet<(usize, usize, usize)>,
}

impl Ranges {
    pub fn new(alignment: usize) -> Self {
        Self { alignment: alignment.max(1), slabs: BTreeMap::new(), by_len: BTreeSet::new() }
    }

    /// Returns the number of bytes that are taken for `size`; `None` for more than there are addresses.
    pub fn len_for(&self, size: usize) -> Option<usize> {
        size.max(1).checked_next_multiple_of(self.alignment)
    }

    /// Adds a slab of `bytes` bytes, all free. No slab may have had its number before.
    pub fn add(&mut self, slab: usize, bytes: usize) {
        self.slabs.insert(slab, BTreeMap::new());
        // The bytes behind the last multiple of the alignment are not used.
        self.insert(slab, 0, bytes - bytes % self.alignment);
    }

    /// Removes a slab.
    pub fn remove(&mut self, slab: usize) {
        for (start, len) in self.slabs.remove(&slab).unwrap_or_default() {
            self.by_len.remove(&(len, slab, start));
        }
    }

    /// Returns the place number `nth` for `size` bytes: those in the shortest free ranges first, and of several such
    /// ranges that of the slab with the lowest number.
    pub fn best(&self, size: usize, nth: usize) -> Option<Suballocation> {
        let len = self.len_for(size)?;
        let (_, slab, start) = *self.by_len.range((len, 0, 0)..).nth(nth)?;
        Some(Suballocation { slab, start, len })
    }

    /// Returns the place for `size` bytes in the longest free range.
    pub fn longest(&self, size: usize) -> Option<Suballocation> {
        let len = self.len_for(size)?;
        let (_, slab, start) = *self.by_len.last().filter(|(free, ..)| *free >= len)?;
        Some(Suballocation { slab, start, len })
    }

    /// Takes a place that [`best`](Self::best) or [`longest`](Self::longest) has returned.
    pub fn take(&mut self, suballocation: Suballocation) {
        let Suballocation { slab, start, len } = suballocation;
        if let Some(found) = self.extract(slab, start) {
            self.insert(slab, start + len, found - len);
        }
    }

    /// Makes a place free again.
    pub fn release(&mut self, suballocation: Suballocation) {
        let Suballocation { slab, mut start, mut len } = suballocation;
        let Some(free) = self.slabs.get(&slab) else { return };
        let next = start + len;
        let before = free.range(..start).next_back().map(|(before, len)| (*before, *len));
        if let Some((before, more)) = before.filter(|(before, len)| before + len == start) {
            self.extract(slab, before);
            (start, len) = (before, more + len);
        }
        len += self.extract(slab, next).unwrap_or(0);
        self.insert(slab, start, len);
    }

    fn insert(&mut self, slab: usize, start: usize, len: usize) {
        if len > 0
            && let Some(free) = self.slabs.get_mut(&slab)
        {
            free.insert(start, len);
            self.by_len.insert((len, slab, start));
        }
    }

    fn extract(&mut self, slab: usize, start: usize) -> Option<usize> {
        let len = self.slabs.get_mut(&slab)?.remove(&start)?;
        self.by_len.remove(&(len, slab, start));
        Some(len)
    }
}

#[cfg(test)]
mod tests;
