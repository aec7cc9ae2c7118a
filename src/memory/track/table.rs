//! The rules of the tracker, free of drivers and locks.

use std::collections::VecDeque;
use std::ops::Range;

use smallvec::SmallVec;

use super::Access;
use super::maps::{Map, MapState, Maps, Positions};
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

/// A reason why a range of bytes cannot be used.
#[derive(Debug)]
pub(super) enum Conflict<E> {
    /// The bytes `0` are in use for the reason `1`.
    InUse(Range<usize>, &'static str),
    /// These events have to be queried first.
    Ask(Few<E>),
}

/// The id of no command and no map.
pub(super) const NO_ID: u64 = 0;

/// A list that is usually short.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// The events of as many commands and maps as one scan takes, without memory from the heap.
pub(super) type Batch<E> = SmallVec<[E; 3 * LOOK]>;

/// The fewest commands and maps for which a scan for ended ones pays.
const REAP_AT: usize = 16;

/// The number of commands, and of maps, in one scan: more than begin between two scans, so that the table shrinks
/// when commands end.
const LOOK: usize = 2 * REAP_AT;

pub(super) const IS_MAPPED: &str = "are mapped, or about to be; unmap them first";
pub(super) const IS_POISONED: &str = "can no longer be used, because an unmap of them failed";
const IS_UNTRACKED: &str = "are used by a command for which the driver returned no event";

/// The commands and maps of one memory object.
#[derive(Debug)]
pub(super) struct Table<E> {
    /// The commands, in the order in which they began.
    commands: VecDeque<Command<E>>,
    maps: Maps<E>,
    /// The positions of the command and of the map at which the next scan begins.
    next_look: (usize, usize),
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
            maps: Maps::default(),
            next_look: (0, 0),
            last_id: NO_ID,
            reap_at: REAP_AT,
            waiting: 0,
        }
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
        let maps = self.maps.iter().skip(self.next_look.1).take(LOOK);
        commands.filter_map(Command::event).chain(maps.flat_map(Map::events)).cloned().collect()
    }

    /// Returns such events of all commands and maps on these bytes.
    pub fn events_on(&self, range: &Range<usize>) -> Batch<E> {
        let commands = self.commands.iter().filter(|command| overlap(&command.used.range, range));
        let maps =
            self.maps.on(range).into_iter().flat_map(|position| self.maps[position].events());
        commands.filter_map(Command::event).chain(maps).cloned().collect()
    }

    /// Returns some of the events that are not known to have ended, of commands and maps with a selected event.
    pub fn pending(&self, is_selected: impl Fn(&E) -> bool) -> Batch<E> {
        let commands = self.commands.iter().filter_map(Command::event).filter(|it| is_selected(it));
        let maps = self.maps.iter().filter(|map| map.events().any(&is_selected));
        let events = commands.chain(maps.flat_map(Map::events));
        events.filter(|event| event.known_outcome().is_none()).take(LOOK).cloned().collect()
    }

    /// Removes the commands and maps of the scan whose end is known.
    pub fn reap(&mut self) {
        let (mut command, mut map) = self.next_look;
        for _ in 0..LOOK {
            let Some(found) = self.commands.get(command) else { break };
            if found.has_ended() {
                self.commands.remove(command);
            } else {
                command += 1;
            }
        }
        for _ in 0..LOOK.min(self.maps.len().saturating_sub(map)) {
            if self.maps[map].has_ended() {
                self.maps.remove(map);
            } else {
                map += 1;
            }
        }
        let or_first = |next, len| if next < len { next } else { 0 };
        self.next_look = (or_first(command, self.commands.len()), or_first(map, self.maps.len()));
        self.reap_at = self.len() + REAP_AT;
    }

    /// Removes the commands on these bytes or beside them, and all maps, whose end is known.
    pub fn reap_on(&mut self, range: &Range<usize>) {
        let is_away = |used: &Range<usize>| used.end < range.start || range.end < used.start;
        self.commands.retain(|command| is_away(&command.used.range) || !command.has_ended());
        // All maps: one pass is cheaper than many removals, each of which moves the maps behind it.
        self.maps.retain(|map| !map.has_ended());
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

    /// Returns the positions of the maps that conflict with this use, without those before the last one that is after
    /// all others, whose id is returned, too, or else [`NO_ID`].
    fn conflicts(&self, used: &Use) -> (u64, Positions) {
        let is_after_all = |position: &usize| self.maps[*position].is_after_all(used);
        // One of the last maps is often after all others.
        let last = self.maps.len().saturating_sub(4)..self.maps.len();
        let first = last.clone().rfind(is_after_all);
        let mut positions = match first {
            Some(first) => (first..last.end).collect(),
            None => self.maps.on(&used.range),
        };
        let first = first.or_else(|| positions.iter().copied().rfind(is_after_all));
        let is_found = |position| first.is_none_or(|first| position >= first);
        positions.retain(|it| is_found(*it) && self.maps[*it].used.conflicts(used));
        (first.map_or(NO_ID, |first| self.maps[first].id), positions)
    }

    fn check_maps(&mut self, used: &Use, asked: bool) -> Result<(), Conflict<E>> {
        // An unmap that has failed may be before a map that is after all others.
        if E::have_failed() {
            for position in self.maps.on(&used.range) {
                let map = &self.maps[position];
                if map.used.conflicts(used) && map.is_closed() {
                    return Err(map.in_use());
                }
            }
        }
        let mut unknown = Few::new();
        for position in self.conflicts(used).1.into_iter().rev() {
            let map = &self.maps[position];
            match map.end() {
                Some(Outcome::Complete) => self.maps.remove(position),
                _ if map.is_closed() => return Err(map.in_use()),
                _ => {
                    let events = map.events().filter(|event| event.known_outcome().is_none());
                    unknown.extend(events.cloned());
                }
            }
        }
        if asked || unknown.is_empty() { Ok(()) } else { Err(Conflict::Ask(unknown)) }
    }

    /// Adds a map that is about to be submitted.
    #[inline]
    pub fn begin_map(&mut self, used: &Use, asked: bool) -> Result<u64, Conflict<E>> {
        if !self.maps.is_empty() {
            self.check_maps(used, asked)?;
        }
        let (id, used) = (self.new_id(), used.clone());
        self.maps.push(Map { id, used, state: MapState::Mapped });
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
    pub fn predecessors(&self, id: u64, used: &Use) -> Result<Few<E>, Conflict<E>> {
        let (first_id, positions) = self.conflicts(used);
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
        for map in positions.into_iter().map(|position| &self.maps[position]) {
            // The first one stays although another thread may learn its end meanwhile: its unmap also covers the ones
            // before it.
            match (map.end(), &map.state) {
                _ if map.id == id => {}
                (Some(Outcome::Complete), _) if map.id != first_id => {}
                (Some(Outcome::Complete) | None, MapState::Unmapping { unmapped, .. }) => {
                    predecessors.push(unmapped.clone());
                }
                _ => return Err(map.in_use()),
            }
        }
        Ok(predecessors)
    }

    /// Removes a map that the driver did not take, or an access of the host that has ended.
    pub fn remove_map(&mut self, id: u64) {
        if let Some(position) = self.maps.position(id) {
            self.maps.remove(position);
        }
    }

    /// Records that the driver unmaps a map, with the events of the map and of the unmap. Returns
    /// whether the commands and maps should be reaped.
    pub fn unmapping(&mut self, id: u64, mapped: &E, unmapped: &E) -> bool {
        if unmapped.known_outcome() == Some(Outcome::Complete) {
            self.remove_map(id);
        } else if let Some(position) = self.maps.position(id) {
            let (mapped, unmapped) = (mapped.clone(), unmapped.clone());
            self.maps[position].state = MapState::Unmapping { mapped, unmapped };
        }
        self.len() >= self.reap_at
    }

    /// Closes the bytes of a map for good.
    pub fn poison(&mut self, id: u64) {
        if let Some(position) = self.maps.position(id) {
            self.maps[position].state = MapState::Poisoned;
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
            for position in self.maps.on(range).into_iter().rev() {
                if self.maps[position].has_ended() {
                    self.maps.remove(position);
                    continue;
                }
                let MapState::Unmapping { unmapped, .. } = &self.maps[position].state else {
                    return None;
                };
                has_only &= expected(unmapped);
            }
        }
        Some(has_only)
    }

    /// Returns whether bytes are mapped.
    pub fn has_maps(&self) -> bool {
        self.maps.iter().any(|map| matches!(map.state, MapState::Mapped))
    }
}

#[cfg(test)]
mod tests;
