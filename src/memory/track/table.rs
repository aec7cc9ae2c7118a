//! The rules of the tracker, free of drivers and locks.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Range, RangeBounds};

use smallvec::SmallVec;

use super::Access;
use crate::event::Outcome;
use crate::memory::range::overlap;

/// An event as the rules see it.
pub(super) trait TrackedEvent: Clone {
    /// Returns the end of the command if it is known without a call of the driver.
    fn known_outcome(&self) -> Option<Outcome>;

    /// Returns whether a command of the process is known to have failed.
    fn have_failed() -> bool;
}

/// Bytes that a command, a map or the host uses.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub range: Range<usize>,
    pub access: Access,
    /// True for a map of a driver that finds maps by the address alone.
    pub by_address: bool,
}

impl Use {
    /// Returns the use of a command or of the host.
    #[inline]
    pub fn new(range: &Range<usize>, access: Access) -> Self {
        Self { range: range.clone(), access, by_address: false }
    }

    /// Returns whether the two exclude each other. Two maps that the driver cannot distinguish do.
    // quirk: POCL-13
    #[inline]
    fn conflicts(&self, other: &Self) -> bool {
        overlap(&self.range, &other.range)
            && (self.access == Access::Write
                || other.access == Access::Write
                || (self.by_address && other.by_address && self.range.start == other.range.start))
    }
}

/// A command on a range of bytes.
#[derive(Debug)]
struct Command<E> {
    id: u64,
    used: Use,
    state: CommandState<E>,
}

#[derive(Debug)]
enum CommandState<E> {
    /// The driver is being called.
    Submitting,
    /// The driver has the command.
    Submitted(E),
    /// The driver has the command and returned no event.
    Untracked,
}

/// A map of a range of bytes, or an access of the host.
#[derive(Debug)]
struct Map<E> {
    used: Use,
    state: MapState<E>,
}

#[derive(Debug)]
enum MapState<E> {
    /// Mapped, accessed by the host, or about to be so. The driver may be called for the unmap.
    Mapped,
    /// The driver unmaps the bytes.
    Unmapping { mapped: E, unmapped: E },
    /// The driver may still have the map.
    Poisoned,
}

/// A reason why a range of bytes cannot be used.
#[derive(Debug)]
pub(super) enum Conflict<E> {
    /// The bytes `0` are in use for the reason `1`.
    InUse(Range<usize>, &'static str),
    /// These events have to be queried first.
    Ask(Few<E>),
}

/// The first byte of a map, and a number that grows with each command and map. No map has the default.
pub(crate) type MapId = (usize, u64);

/// A list that is usually short.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// The events of as many commands and maps as one scan takes, without memory from the heap.
pub(super) type Batch<E> = SmallVec<[E; 3 * LOOK]>;

/// The fewest commands and maps for which a scan for ended ones pays.
const REAP_AT: usize = 16;

/// The number of commands, and of maps, in one scan: more than begin between two scans, so that the table shrinks
/// when commands end.
const LOOK: usize = 2 * REAP_AT;

const IS_MAPPED: &str = "are mapped, or about to be; unmap them first";
const IS_POISONED: &str = "can no longer be used, because an unmap of them failed";
const IS_UNTRACKED: &str = "are used by a command for which the driver returned no event";

/// The commands and maps of one memory object.
#[derive(Debug)]
pub(super) struct Table<E> {
    /// The commands, in the order in which they began.
    commands: VecDeque<Command<E>>,
    maps: BTreeMap<MapId, Map<E>>,
    /// The ids of the maps, in the order in which they began. Most maps are removed at one of its ends.
    order: VecDeque<MapId>,
    /// The most bytes that a map has had since there were none, or 1.
    longest: usize,
    /// The position of the command, and the id of the map, at which the next scan begins.
    next_look: (usize, MapId),
    last_id: u64,
    /// The number of commands and maps at which those that have ended are removed.
    reap_at: usize,
    /// The number of threads that wait for a submission to end.
    pub waiting: u32,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self {
            commands: VecDeque::new(),
            maps: BTreeMap::new(),
            order: VecDeque::new(),
            longest: 1,
            next_look: (0, MapId::default()),
            last_id: 0,
            reap_at: REAP_AT,
            waiting: 0,
        }
    }
}

impl<E: TrackedEvent> Map<E> {
    /// Returns the conflict with a map whose unmap has not been submitted, or has failed.
    fn in_use(&self) -> Conflict<E> {
        let reason = if self.end().is_some() { IS_POISONED } else { IS_MAPPED };
        Conflict::InUse(self.used.range.clone(), reason)
    }

    /// Returns the end of the map if it is known. A map that has failed needs no unmap.
    fn end(&self) -> Option<Outcome> {
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

    /// Returns whether bytes are mapped and not about to be unmapped, or an unmap has failed.
    fn is_closed(&self) -> bool {
        match self.state {
            MapState::Unmapping { .. } => self.end() == Some(Outcome::Failed),
            MapState::Mapped | MapState::Poisoned => true,
        }
    }

    /// Returns whether the map writes all bytes of this use and is being unmapped, if that is known. A use before it
    /// that conflicts with this one conflicts with the map, too, which waits for it.
    fn is_after_all(&self, used: &Use) -> bool {
        let MapState::Unmapping { mapped, unmapped } = &self.state else { return false };
        self.used.access == Access::Write
            && self.used.range.start <= used.range.start
            && used.range.end <= self.used.range.end
            && unmapped.known_outcome().is_none()
            && mapped.known_outcome() != Some(Outcome::Failed)
    }

    /// Returns the events of the unmap and of the map, if the unmap has been submitted. In this order
    /// the end of the map is known whenever that of the unmap is.
    fn events(&self) -> impl Iterator<Item = &E> {
        let events = match &self.state {
            MapState::Unmapping { mapped, unmapped } => [Some(unmapped), Some(mapped)],
            MapState::Mapped | MapState::Poisoned => [None, None],
        };
        events.into_iter().flatten()
    }
}

impl<E> Command<E> {
    /// Returns the event, if the driver has returned one.
    #[inline]
    fn event(&self) -> Option<&E> {
        match &self.state {
            CommandState::Submitted(event) => Some(event),
            CommandState::Submitting | CommandState::Untracked => None,
        }
    }
}

impl<E: TrackedEvent> Command<E> {
    #[inline]
    fn has_ended(&self) -> bool {
        self.event().is_some_and(|event| event.known_outcome().is_some())
    }
}

impl<E> Table<E> {
    #[inline]
    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

impl<E: TrackedEvent> Table<E> {
    /// Adds a command that is about to be submitted. Without `asked`, unmaps whose end is unknown are a conflict;
    /// with it, the queues decide their order.
    #[inline]
    pub fn begin_command(&mut self, used: &Use, asked: bool) -> Result<u64, Conflict<E>> {
        if !self.maps.is_empty() {
            self.check_maps(used, asked)?;
        }
        let (id, used) = (self.new_id(), used.clone());
        self.commands.push_back(Command { id, used, state: CommandState::Submitting });
        Ok(id)
    }

    /// Records the event of a command. Returns whether the commands should be reaped.
    #[inline]
    pub fn submitted(&mut self, id: u64, event: &E) -> bool {
        if event.known_outcome() == Some(Outcome::Complete) {
            // A blocking command: earlier ones have often ended, too.
            self.remove_command(id);
            return !self.commands.is_empty();
        }
        if let Some(command) = self.command(id) {
            command.state = CommandState::Submitted(event.clone());
        }
        self.len() >= self.reap_at
    }

    /// Records that the driver has a command without an event.
    pub fn untracked(&mut self, id: u64) {
        if let Some(command) = self.command(id) {
            command.state = CommandState::Untracked;
        }
    }

    #[inline]
    fn command(&mut self, id: u64) -> Option<&mut Command<E>> {
        self.commands.iter_mut().rev().find(|command| command.id == id)
    }

    /// Removes a command that the driver did not take, or that has completed.
    #[inline]
    pub fn remove_command(&mut self, id: u64) {
        if let Some(position) = self.commands.iter().rposition(|command| command.id == id) {
            self.commands.remove(position);
        }
    }

    /// Returns the events of the next scan: those of the commands, the unmaps, and the maps that are being unmapped.
    pub fn events(&self) -> Batch<E> {
        let commands = self.commands.iter().skip(self.next_look.0).take(LOOK);
        let maps = self.maps.range(self.next_look.1..).take(LOOK).flat_map(|(_, map)| map.events());
        commands.filter_map(Command::event).chain(maps).cloned().collect()
    }

    /// Returns such events of all commands and maps on these bytes.
    pub fn events_on(&self, range: &Range<usize>) -> Batch<E> {
        let commands = self.commands.iter().filter(|command| overlap(&command.used.range, range));
        let maps = self.maps.range(self.ids_on(range)).map(|(_, map)| map);
        let maps = maps.filter(|map| overlap(&map.used.range, range));
        commands.filter_map(Command::event).chain(maps.flat_map(Map::events)).cloned().collect()
    }

    /// Returns some of the events that are not known to have ended, of commands and maps with a selected event.
    pub fn pending(&self, is_selected: impl Fn(&E) -> bool) -> Batch<E> {
        let commands = self.commands.iter().filter_map(Command::event).filter(|it| is_selected(it));
        let maps = self.maps.values().filter(|map| map.events().any(&is_selected));
        let events = commands.chain(maps.flat_map(Map::events));
        events.filter(|event| event.known_outcome().is_none()).take(LOOK).cloned().collect()
    }

    /// Removes the commands and maps of the scan whose end is known.
    pub fn reap(&mut self) {
        let (mut command, first_map) = self.next_look;
        for _ in 0..LOOK {
            let Some(found) = self.commands.get(command) else { break };
            if found.has_ended() {
                self.commands.remove(command);
            } else {
                command += 1;
            }
        }
        let next_map = self.maps.range(first_map..).nth(LOOK).map(|(id, _)| *id);
        self.reap_maps(first_map..next_map.unwrap_or((usize::MAX, 0)));
        let next_command = if command < self.commands.len() { command } else { 0 };
        self.next_look = (next_command, next_map.unwrap_or_default());
        self.reap_at = self.len() + REAP_AT;
    }

    /// Removes the commands on these bytes or beside them, and the maps, whose end is known.
    pub fn reap_on(&mut self, range: &Range<usize>) {
        let is_away = |used: &Range<usize>| used.end < range.start || range.end < used.start;
        self.commands.retain(|command| is_away(&command.used.range) || !command.has_ended());
        self.reap_maps(self.ids_on(range));
        self.reap_at = self.reap_at.min(self.len() + REAP_AT);
    }

    /// Returns the number of commands and maps.
    #[inline]
    fn len(&self) -> usize {
        self.commands.len() + self.maps.len()
    }

    /// Returns whether nothing uses the bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the maps with these ids whose end is known.
    fn reap_maps(&mut self, ids: impl RangeBounds<MapId>) {
        let has_ended = |_: &MapId, map: &mut Map<E>| {
            let end = map.end();
            // quirk: DRIVER-10
            if end == Some(Outcome::Failed) {
                map.state = MapState::Poisoned;
            }
            end == Some(Outcome::Complete)
        };
        self.maps.extract_if(ids, has_ended).for_each(|(id, _)| forget(&mut self.order, id));
    }

    /// Returns the ids that maps of these bytes may have.
    fn ids_on(&self, range: &Range<usize>) -> Range<MapId> {
        ((range.start + 1).saturating_sub(self.longest), 0)..(range.end, 0)
    }

    /// Returns the maps that conflict with this use, with their numbers and in the order in which they began, without
    /// those before the last one that is after all others, whose number is returned, too, or else 0.
    fn conflicts(&self, used: &Use) -> (u64, Few<(u64, &Map<E>)>) {
        let ids = self.ids_on(&used.range);
        let mut maps = Few::new();
        for id in self.order.iter().rev().take(4).filter(|id| ids.contains(*id)) {
            let map = &self.maps[id];
            if map.used.conflicts(used) {
                maps.push((id.1, map));
            }
            if map.is_after_all(used) {
                maps.reverse();
                return (id.1, maps);
            }
        }
        maps.clear();
        maps.extend(self.on_bytes(used).map(|(id, map)| (id.1, map)));
        maps.sort_unstable_by_key(|(number, _)| *number);
        let Some(first) = maps.iter().rposition(|(_, map)| map.is_after_all(used)) else {
            return (0, maps);
        };
        maps.drain(..first);
        (maps[0].0, maps)
    }

    /// Returns the maps that conflict with this use.
    fn on_bytes(&self, used: &Use) -> impl Iterator<Item = (&MapId, &Map<E>)> {
        self.maps.range(self.ids_on(&used.range)).filter(|(_, map)| map.used.conflicts(used))
    }

    fn check_maps(&mut self, used: &Use, asked: bool) -> Result<(), Conflict<E>> {
        // An unmap that has failed may be before a map that is after all others.
        if E::have_failed()
            && let Some((_, map)) = self.on_bytes(used).find(|(_, map)| map.is_closed())
        {
            return Err(map.in_use());
        }
        let (mut unknown, mut ended) = (Few::new(), Few::new());
        for (number, map) in self.conflicts(used).1 {
            match map.end() {
                Some(Outcome::Complete) => ended.push((map.used.range.start, number)),
                _ if map.is_closed() => return Err(map.in_use()),
                _ => {
                    let events = map.events().filter(|event| event.known_outcome().is_none());
                    unknown.extend(events.cloned());
                }
            }
        }
        ended.iter().for_each(|id| self.remove_map(*id));
        if asked || unknown.is_empty() { Ok(()) } else { Err(Conflict::Ask(unknown)) }
    }

    /// Adds a map that is about to be submitted.
    #[inline]
    pub fn begin_map(&mut self, used: &Use, asked: bool) -> Result<MapId, Conflict<E>> {
        self.check_maps(used, asked)?;
        let longest = if self.maps.is_empty() { 1 } else { self.longest };
        self.longest = longest.max(used.range.len());
        let (id, used) = ((used.range.start, self.new_id()), used.clone());
        self.maps.insert(id, Map { used, state: MapState::Mapped });
        self.order.push_back(id);
        Ok(id)
    }

    /// Returns whether a conflicting command is being submitted.
    pub fn is_submitting(&self, used: &Use) -> bool {
        self.commands.iter().any(|command| {
            matches!(command.state, CommandState::Submitting) && command.used.conflicts(used)
        })
    }

    /// Returns the events of the commands and unmaps that conflict with this use by the map `id` and are not
    /// known to have ended, without those that a later map of all of its bytes waits for.
    pub fn predecessors(&self, id: MapId, used: &Use) -> Result<Few<E>, Conflict<E>> {
        let (first_id, maps) = self.conflicts(used);
        let mut predecessors = Few::new();
        let commands = self.commands.range(self.commands.partition_point(|it| it.id < first_id)..);
        for command in commands.filter(|command| command.used.conflicts(used)) {
            match &command.state {
                CommandState::Submitted(event) if event.known_outcome().is_none() => {
                    predecessors.push(event.clone());
                }
                CommandState::Untracked => {
                    return Err(Conflict::InUse(command.used.range.clone(), IS_UNTRACKED));
                }
                CommandState::Submitted(_) | CommandState::Submitting => {}
            }
        }
        for (number, map) in maps {
            // The first one stays although another thread may learn its end meanwhile: its unmap also covers the ones
            // before it.
            match (map.end(), &map.state) {
                _ if number == id.1 => {}
                (Some(Outcome::Complete), _) if number != first_id => {}
                (Some(Outcome::Complete) | None, MapState::Unmapping { unmapped, .. }) => {
                    predecessors.push(unmapped.clone());
                }
                _ => return Err(map.in_use()),
            }
        }
        Ok(predecessors)
    }

    /// Removes a map that the driver did not take, or an access of the host that has ended.
    pub fn remove_map(&mut self, id: MapId) {
        self.maps.remove(&id);
        forget(&mut self.order, id);
    }

    /// Records that the driver unmaps a map, with the events of the map and of the unmap. Returns
    /// whether the commands and maps should be reaped.
    pub fn unmapping(&mut self, id: MapId, mapped: &E, unmapped: &E) -> bool {
        if unmapped.known_outcome() == Some(Outcome::Complete) {
            self.remove_map(id);
        } else if let Some(map) = self.maps.get_mut(&id) {
            let (mapped, unmapped) = (mapped.clone(), unmapped.clone());
            map.state = MapState::Unmapping { mapped, unmapped };
        }
        self.len() >= self.reap_at
    }

    /// Closes the bytes of a map for good.
    pub fn poison(&mut self, id: MapId) {
        if let Some(map) = self.maps.get_mut(&id) {
            map.state = MapState::Poisoned;
        }
    }

    /// Returns whether all commands and unmaps on these bytes are `expected`; `None` if bytes are mapped
    /// or poisoned, or a command is being submitted or has no event.
    #[inline]
    pub fn has_only(
        &mut self,
        range: &Range<usize>,
        expected: impl Fn(&E) -> bool,
    ) -> Option<bool> {
        let mut has_only = true;
        for command in &self.commands {
            if overlap(&command.used.range, range) {
                let CommandState::Submitted(event) = &command.state else { return None };
                has_only &= expected(event);
            }
        }
        if !self.maps.is_empty() {
            // The end of an unmap that has failed is a poisoned map.
            self.reap_maps(self.ids_on(range));
        }
        for (_, map) in self.maps.range(self.ids_on(range)) {
            if overlap(&map.used.range, range) {
                let MapState::Unmapping { unmapped, .. } = &map.state else { return None };
                has_only &= expected(unmapped);
            }
        }
        Some(has_only)
    }

    /// Returns whether bytes are mapped.
    pub fn has_maps(&self) -> bool {
        self.maps.values().any(|map| matches!(map.state, MapState::Mapped))
    }
}

/// Removes an id from ids in the order of their numbers.
fn forget(order: &mut VecDeque<MapId>, id: MapId) {
    if let Ok(position) = order.binary_search_by_key(&id.1, |(_, number)| *number) {
        order.remove(position);
    }
}

#[cfg(test)]
mod tests;
