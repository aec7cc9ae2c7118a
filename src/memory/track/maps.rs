//! The maps of a table, found by their numbers and by their bytes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut, Range};

use smallvec::SmallVec;

use super::Access;
use super::table::{Conflict, IS_MAPPED, IS_POISONED, TrackedEvent, Use};
use crate::event::Outcome;
use crate::memory::range::overlap;

/// A map of a range of bytes, or an access of the host.
#[derive(Debug)]
pub(super) struct Map<E> {
    pub id: u64,
    pub used: Use,
    pub state: MapState<E>,
}

#[derive(Debug)]
pub(super) enum MapState<E> {
    /// Mapped, accessed by the host, or about to be so. The driver may be called for the unmap.
    Mapped,
    /// The driver unmaps the bytes.
    Unmapping { mapped: E, unmapped: E },
    /// The driver may still have the map.
    Poisoned,
}

impl<E: TrackedEvent> Map<E> {
    /// Returns the conflict with a map whose unmap has not been submitted, or has failed.
    pub fn in_use(&self) -> Conflict<E> {
        let reason = if self.end().is_some() { IS_POISONED } else { IS_MAPPED };
        Conflict::InUse(self.used.range.clone(), reason)
    }

    /// Returns the end of the map if it is known. A map that has failed needs no unmap.
    pub fn end(&self) -> Option<Outcome> {
        match &self.state {
            MapState::Mapped => None,
            MapState::Poisoned => Some(Outcome::Failed),
            MapState::Unmapping { mapped, unmapped } => match unmapped.known_outcome()? {
                Outcome::Failed if mapped.known_outcome() != Some(Outcome::Failed) => {
                    Some(Outcome::Failed)
                }
                _ => Some(Outcome::Complete),
            },
        }
    }

    /// Returns whether the map has ended, if that is known. One whose unmap has failed is poisoned.
    pub fn has_ended(&mut self) -> bool {
        let end = self.end();
        // quirk: DRIVER-10
        if end == Some(Outcome::Failed) {
            self.state = MapState::Poisoned;
        }
        end == Some(Outcome::Complete)
    }

    /// Returns whether bytes are mapped and not about to be unmapped, or an unmap has failed.
    pub fn is_closed(&self) -> bool {
        match self.state {
            MapState::Unmapping { .. } => self.end() == Some(Outcome::Failed),
            MapState::Mapped | MapState::Poisoned => true,
        }
    }

    /// Returns whether the map writes all bytes of this use and is being unmapped, if that is known. A use before it
    /// that conflicts with this one conflicts with the map, too, which waits for it.
    pub fn is_after_all(&self, used: &Use) -> bool {
        let MapState::Unmapping { mapped, unmapped } = &self.state else { return false };
        self.used.access == Access::Write
            && self.used.range.start <= used.range.start
            && used.range.end <= self.used.range.end
            && unmapped.known_outcome().is_none()
            && mapped.known_outcome() != Some(Outcome::Failed)
    }

    /// Returns the events of the unmap and of the map, if the unmap has been submitted. In this order
    /// the end of the map is known whenever that of the unmap is.
    pub fn events(&self) -> impl Iterator<Item = &E> {
        let events = match &self.state {
            MapState::Unmapping { mapped, unmapped } => [Some(unmapped), Some(mapped)],
            MapState::Mapped | MapState::Poisoned => [None, None],
        };
        events.into_iter().flatten()
    }
}

/// The most maps that a search for bytes looks at one by one.
const FEW: usize = 64;

/// Positions of maps, in their order.
pub(super) type Positions = SmallVec<[usize; 16]>;

/// Maps in the order in which they began. An index is a position in it.
#[derive(Debug)]
pub(super) struct Maps<E> {
    maps: VecDeque<Map<E>>,
    /// The ends of all maps, by their first bytes and their ids; empty if there have been no more than `FEW` since there
    /// were none.
    by_bytes: BTreeMap<(usize, u64), usize>,
    /// The most bytes of a map that has been in `by_bytes` since it was empty.
    longest: usize,
}

impl<E> Default for Maps<E> {
    fn default() -> Self {
        Self { maps: VecDeque::new(), by_bytes: BTreeMap::new(), longest: 0 }
    }
}

impl<E> Index<usize> for Maps<E> {
    type Output = Map<E>;

    #[inline]
    fn index(&self, position: usize) -> &Map<E> {
        &self.maps[position]
    }
}

impl<E> IndexMut<usize> for Maps<E> {
    fn index_mut(&mut self, position: usize) -> &mut Map<E> {
        &mut self.maps[position]
    }
}

impl<E> Maps<E> {
    #[inline]
    pub fn len(&self) -> usize {
        self.maps.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Map<E>> {
        self.maps.iter()
    }

    /// Adds a map, whose id is larger than those of all others.
    #[inline]
    pub fn push(&mut self, map: Map<E>) {
        self.maps.push_back(map);
        if !self.by_bytes.is_empty() || self.maps.len() > FEW {
            self.add_to_index();
        }
    }

    /// Adds the last map to the index, or all maps if it is empty.
    fn add_to_index(&mut self) {
        let mut first = self.maps.len() - 1;
        if self.by_bytes.is_empty() {
            (first, self.longest) = (0, 0);
        }
        for Map { id, used, .. } in self.maps.range(first..) {
            self.by_bytes.insert((used.range.start, *id), used.range.end);
            self.longest = self.longest.max(used.range.len());
        }
    }

    /// Returns the position of a map.
    #[inline]
    pub fn position(&self, id: u64) -> Option<usize> {
        // Most maps end soon after they have begun.
        match self.maps.back() {
            Some(last) if last.id == id => Some(self.maps.len() - 1),
            _ => self.maps.binary_search_by_key(&id, |map| map.id).ok(),
        }
    }

    /// Removes the map at a position.
    #[inline]
    pub fn remove(&mut self, position: usize) {
        if let Some(map) = self.maps.remove(position) {
            self.by_bytes.remove(&(map.used.range.start, map.id));
        }
    }

    /// Keeps the maps for which the closure returns true.
    pub fn retain(&mut self, mut keeps: impl FnMut(&mut Map<E>) -> bool) {
        self.maps.retain_mut(|map| {
            let is_kept = keeps(map);
            if !is_kept {
                self.by_bytes.remove(&(map.used.range.start, map.id));
            }
            is_kept
        });
    }

    /// Returns the positions of the maps on these bytes, in their order.
    pub fn on(&self, range: &Range<usize>) -> Positions {
        if self.by_bytes.is_empty() {
            let is_on = |position: &usize| overlap(&self.maps[*position].used.range, range);
            return (0..self.maps.len()).filter(is_on).collect();
        }
        let first = (range.start + 1).saturating_sub(self.longest);
        let near = self.by_bytes.range((first, 0)..(range.end, 0));
        let on = near.filter(|((start, _), end)| overlap(&(*start..**end), range));
        let mut positions: Positions = on.filter_map(|((_, id), _)| self.position(*id)).collect();
        positions.sort_unstable();
        positions
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::event::Event;

    /// Compares the searches with a plain one, for maps of up to 64 bytes that begin and end at random.
    #[test]
    fn maps_are_found_by_their_bytes_however_many_there_are() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut maps = Maps::<Event>::default();
        let mut model: Vec<(u64, Range<usize>)> = vec![];
        let mut was_indexed = false;
        // The number of maps rises beyond `FEW`, falls to none, and does so again.
        let grows = iter::repeat_n(true, 300).chain(iter::repeat_n(false, 700)).cycle();
        for (id, grows) in (1..3000).zip(grows) {
            let begins = rng.u8(..4) != 0;
            if grows == begins {
                let start = rng.usize(..1000);
                let range = start..start + 1 + rng.usize(..64);
                let used = Use::new(&range, Access::Read);
                maps.push(Map { id, used, state: MapState::Mapped });
                model.push((id, range));
            } else if !model.is_empty() {
                let (id, _) = model.remove(rng.usize(..model.len()));
                maps.remove(maps.position(id).expect("the map is there"));
                assert_eq!(maps.position(id), None);
            }
            let start = rng.usize(..1100);
            let range = start..start + rng.usize(..200);
            let found: Vec<_> = maps.on(&range).iter().map(|it| maps[*it].id).collect();
            let expected = model.iter().filter(|(_, other)| overlap(other, &range));
            assert_eq!(found, expected.map(|(id, _)| *id).collect::<Vec<_>>(), "{range:?}");
            assert!(maps.by_bytes.is_empty() || maps.by_bytes.len() == maps.len());
            was_indexed |= !maps.by_bytes.is_empty();
        }
        assert!(was_indexed);
    }
}
