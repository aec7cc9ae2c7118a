//! The free ranges of several roots, free of drivers: the best fit is taken, and what comes back is
//! joined with its neighbours at once.

use std::collections::{BTreeMap, BTreeSet};

/// What is known of free bytes.
pub(in crate::pool) trait Note: Clone + Default {
    /// Makes it one of these and other bytes.
    fn join(&mut self, other: Self);
}

/// Bytes of a root that have been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pool) struct Place {
    /// Of which root.
    pub root: usize,
    /// Where they begin in it.
    pub start: usize,
    /// How many they are.
    pub len: usize,
}

/// The free ranges of a root: their lengths and notes, by where they begin.
pub(super) type Free<N> = BTreeMap<usize, (usize, N)>;

/// The free ranges of several roots.
#[derive(Debug)]
pub(super) struct Ranges<N> {
    /// What all places begin at a multiple of, and have as many bytes.
    alignment: usize,
    /// By number.
    roots: BTreeMap<usize, Free<N>>,
    /// All of them: length, root, start.
    by_len: BTreeSet<(usize, usize, usize)>,
}

impl<N: Note> Ranges<N> {
    pub fn new(alignment: usize) -> Self {
        Self { alignment: alignment.max(1), roots: BTreeMap::new(), by_len: BTreeSet::new() }
    }

    /// How many bytes are taken for `size`; `None` for more than there are addresses.
    pub fn len_for(&self, size: usize) -> Option<usize> {
        size.max(1).checked_next_multiple_of(self.alignment)
    }

    /// Adds a root of `bytes`, and takes the first `size` of them. `None` where they are not enough.
    ///
    /// No root may ever have had its number.
    pub fn add(&mut self, root: usize, bytes: usize, size: usize) -> Option<Place> {
        let len = self.len_for(size).filter(|len| *len <= bytes)?;
        // What is left at the end has no place.
        let left = bytes - bytes % self.alignment - len;
        self.roots.insert(root, BTreeMap::new());
        self.insert(root, len, left, N::default());
        Some(Place { root, start: 0, len })
    }

    /// Removes a root. Returns its free ranges.
    pub fn remove(&mut self, root: usize) -> Free<N> {
        let free = self.roots.remove(&root).unwrap_or_default();
        for (start, (len, _)) in &free {
            self.by_len.remove(&(*len, root, *start));
        }
        free
    }

    /// Takes as many bytes as [`len_for`](Self::len_for) says from the shortest free range that has
    /// them, of several from that of the root with the lowest number. Not from these roots.
    pub fn take(&mut self, size: usize, not: &[usize]) -> Option<(Place, N)> {
        let len = self.len_for(size)?;
        let fits = self.by_len.range((len, 0, 0)..);
        let &(found, root, start) = fits.into_iter().find(|(_, root, _)| !not.contains(root))?;
        let note = self.extract(root, start)?.1;
        self.insert(root, start + len, found - len, note.clone());
        Some((Place { root, start, len }, note))
    }

    /// Makes a place free again. Returns the note where there is no such root any more.
    pub fn give_back(&mut self, place: Place, mut note: N) -> Option<N> {
        let Place { root, mut start, mut len } = place;
        let Some(free) = self.roots.get(&root) else { return Some(note) };
        let next = start + len;
        let before = free.range(..start).next_back().map(|(before, (len, _))| (*before, *len));
        if let Some((before, _)) = before.filter(|(before, len)| before + len == start)
            && let Some((more, other)) = self.extract(root, before)
        {
            (start, len) = (before, more + len);
            note.join(other);
        }
        if let Some((more, other)) = self.extract(root, next) {
            len += more;
            note.join(other);
        }
        self.insert(root, start, len, note);
        None
    }

    fn insert(&mut self, root: usize, start: usize, len: usize, note: N) {
        if len > 0
            && let Some(free) = self.roots.get_mut(&root)
        {
            free.insert(start, (len, note));
            self.by_len.insert((len, root, start));
        }
    }

    fn extract(&mut self, root: usize, start: usize) -> Option<(usize, N)> {
        let (len, note) = self.roots.get_mut(&root)?.remove(&start)?;
        self.by_len.remove(&(len, root, start));
        Some((len, note))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
