//! The rules of the tracker, free of drivers and locks.

use std::collections::VecDeque;
use std::ops::Range;

use smallvec::SmallVec;

use super::Access;
use crate::event::Outcome;
use crate::memory::range::overlap;

/// An event, as far as the rules go.
pub(super) trait TrackedEvent: Clone {
    /// Returns the end of the command as far as it is known without a call of the driver.
    fn known_outcome(&self) -> Option<Outcome>;
}

/// A command on a range of bytes.
#[derive(Debug)]
struct Command<E> {
    id: u64,
    range: Range<usize>,
    access: Access,
    state: CommandState<E>,
    /// The last map that comes after the command.
    followed_by: Option<u64>,
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
    id: u64,
    range: Range<usize>,
    access: Access,
    /// The address of the first byte; 0 where it is unknown, and for accesses of the host.
    address: usize,
    state: MapState<E>,
    /// The last map that comes after the unmap.
    followed_by: Option<u64>,
}

#[derive(Debug)]
enum MapState<E> {
    /// The driver is being called for the map or for the unmap.
    Submitting,
    /// Mapped by a command with this event; without an event, an access of the host.
    Mapped(Option<E>),
    /// Unmapped by the second event; mapped by the first.
    Unmapping(E, E),
    /// The driver may still have the map.
    Poisoned,
}

/// A reason why a range of bytes cannot be used.
#[derive(Debug)]
pub(super) enum Conflict<E> {
    /// The bytes `0` are in use for the reason `1`.
    InUse(Range<usize>, &'static str),
    /// The driver has to be asked about these events first.
    Ask(Few<E>),
}

/// A list that is short as a rule.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// The events of as many commands and maps as one look takes, without memory from the heap.
pub(super) type Batch<E> = SmallVec<[E; 3 * LOOK]>;

/// The fewest commands and maps that are worth a look for those that have ended.
const REAP_AT: usize = 16;

/// The number of commands, and of maps, that a look is at: more than begin between two looks, so that the
/// table shrinks when commands end.
const LOOK: usize = 2 * REAP_AT;

/// A command, or an unmap, that has to end first.
#[derive(Clone, Debug)]
pub(super) struct Predecessor<E> {
    pub event: E,
    /// The map that the event unmaps: its id and its event.
    pub unmaps: Option<(u64, E)>,
}

const IS_MAPPED: &str = "are mapped, or about to be; unmap them first";
pub(super) const IS_POISONED: &str = "can no longer be used, because an unmap of them failed";
const IS_UNTRACKED: &str = "are used by a command for which the driver returned no event";

/// The commands and maps of one memory object.
#[derive(Debug)]
pub(super) struct Table<E> {
    /// The commands, in the order in which they began.
    commands: VecDeque<Command<E>>,
    maps: Vec<Map<E>>,
    /// The positions of the command and of the map that the next look begins with.
    next_look: (usize, usize),
    last_id: u64,
    /// The number of commands and maps at which those that have ended are removed.
    reap_at: usize,
    /// The number of threads that wait for a submission to end.
    pub waiting: u32,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        let commands = VecDeque::new();
        Self { commands, maps: vec![], next_look: (0, 0), last_id: 0, reap_at: REAP_AT, waiting: 0 }
    }
}

#[inline]
fn conflict(a: (&Range<usize>, Access), b: (&Range<usize>, Access)) -> bool {
    overlap(a.0, b.0) && (a.1 == Access::Write || b.1 == Access::Write)
}

impl<E: TrackedEvent> Map<E> {
    /// Adds the events of the map and of the unmap, if the unmap has been submitted.
    fn add_events(&self, events: &mut Batch<E>) {
        if let MapState::Unmapping(mapped, unmapped) = &self.state {
            events.extend([mapped.clone(), unmapped.clone()]);
        }
    }

    /// Returns whether the unmap has failed and the map is not known to have failed.
    fn has_failed_unmap(&self) -> bool {
        match &self.state {
            MapState::Unmapping(mapped, unmapped) => {
                unmapped.known_outcome() == Some(Outcome::Failed)
                    && mapped.known_outcome() != Some(Outcome::Failed)
            }
            MapState::Submitting | MapState::Mapped(_) | MapState::Poisoned => false,
        }
    }
}

impl<E> Command<E> {
    /// The event, if the driver has returned one.
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
    /// Adds a command that is about to be submitted. Without `asked`, unmaps whose end is unknown are
    /// a conflict; with it, their order is left to the queues.
    #[inline]
    pub fn begin_command(
        &mut self,
        range: &Range<usize>,
        access: Access,
        asked: bool,
    ) -> Result<u64, Conflict<E>> {
        if !self.maps.is_empty() {
            self.check_maps(range, access, asked)?;
        }
        let (id, range) = (self.new_id(), range.clone());
        let state = CommandState::Submitting;
        self.commands.push_back(Command { id, range, access, state, followed_by: None });
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

    /// Returns the events that the next look is at: those of the commands, the unmaps, and the maps that
    /// are being unmapped.
    pub fn events(&self) -> Batch<E> {
        let commands = self.commands.iter().skip(self.next_look.0).take(LOOK);
        let mut events: Batch<E> = commands.filter_map(Command::event).cloned().collect();
        self.maps
            .iter()
            .skip(self.next_look.1)
            .take(LOOK)
            .for_each(|map| map.add_events(&mut events));
        events
    }

    /// Returns the events of all commands and unmaps on these bytes, and of the maps that are being
    /// unmapped.
    pub fn events_on(&self, range: &Range<usize>) -> Batch<E> {
        let commands = self.commands.iter().filter(|command| overlap(&command.range, range));
        let mut events: Batch<E> = commands.filter_map(Command::event).cloned().collect();
        let maps = self.maps.iter().filter(|map| overlap(&map.range, range));
        maps.for_each(|map| map.add_events(&mut events));
        events
    }

    /// Removes the maps whose end is known, and such commands among those of the look.
    pub fn reap(&mut self) {
        let (mut command, map) = self.next_look;
        for _ in 0..LOOK {
            let Some(found) = self.commands.get(command) else { break };
            if found.has_ended() {
                self.commands.remove(command);
            } else {
                command += 1;
            }
        }
        self.reap_maps();
        let or_first = |next, len| if next < len { next } else { 0 };
        self.next_look =
            (or_first(command, self.commands.len()), or_first(map + LOOK, self.maps.len()));
        self.reap_at = self.len() + REAP_AT;
    }

    /// Removes the commands and maps whose end is known.
    pub fn reap_all(&mut self) {
        self.commands.retain(|command| !command.has_ended());
        self.reap_maps();
        (self.next_look, self.reap_at) = ((0, 0), self.len() + REAP_AT);
    }

    /// The number of commands and maps.
    #[inline]
    fn len(&self) -> usize {
        self.commands.len() + self.maps.len()
    }

    /// Returns whether nothing uses the bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn reap_maps(&mut self) {
        self.maps.retain_mut(|map| match &map.state {
            MapState::Unmapping(mapped, unmapped) => {
                match (mapped.known_outcome(), unmapped.known_outcome()) {
                    (_, None) => true,
                    (_, Some(Outcome::Complete)) => false,
                    // Never mapped.
                    (Some(Outcome::Failed), Some(Outcome::Failed)) => false,
                    // quirk: DRIVER-10
                    (Some(Outcome::Complete), Some(Outcome::Failed)) => {
                        map.state = MapState::Poisoned;
                        true
                    }
                    (None, Some(Outcome::Failed)) => true,
                }
            }
            MapState::Submitting | MapState::Mapped(_) | MapState::Poisoned => true,
        });
    }

    fn check_maps(
        &mut self,
        range: &Range<usize>,
        access: Access,
        asked: bool,
    ) -> Result<(), Conflict<E>> {
        self.reap_maps();
        let mut unknown = Few::new();
        for map in &self.maps {
            if !conflict((&map.range, map.access), (range, access)) {
                continue;
            }
            match &map.state {
                // Its failure would be a failure of the later unmap.
                MapState::Unmapping(..) if self.is_awaited(map.followed_by, range, access) => {}
                MapState::Unmapping(..) if asked && map.has_failed_unmap() => {
                    return Err(Conflict::InUse(map.range.clone(), IS_POISONED));
                }
                MapState::Unmapping(mapped, unmapped) => {
                    let events = [mapped, unmapped].into_iter();
                    unknown.extend(events.filter(|event| event.known_outcome().is_none()).cloned());
                }
                MapState::Poisoned => return Err(Conflict::InUse(map.range.clone(), IS_POISONED)),
                MapState::Submitting | MapState::Mapped(_) => {
                    return Err(Conflict::InUse(map.range.clone(), IS_MAPPED));
                }
            }
        }
        if asked || unknown.is_empty() { Ok(()) } else { Err(Conflict::Ask(unknown)) }
    }

    /// Returns whether an access to these bytes comes after the map `id` and its unmap. Unless one of
    /// the two fails, the commands before them have ended then.
    fn is_awaited(&self, id: Option<u64>, range: &Range<usize>, access: Access) -> bool {
        id.and_then(|id| self.map(id)).is_some_and(|map| {
            let MapState::Unmapping(mapped, unmapped) = &map.state else { return false };
            let has_failed = |event: &E| event.known_outcome() == Some(Outcome::Failed);
            conflict((&map.range, map.access), (range, access))
                && !has_failed(mapped)
                && !has_failed(unmapped)
        })
    }

    /// Adds a map that is about to be submitted.
    #[inline]
    pub fn begin_map(
        &mut self,
        range: &Range<usize>,
        access: Access,
        asked: bool,
    ) -> Result<u64, Conflict<E>> {
        if !self.maps.is_empty() {
            self.check_maps(range, access, asked)?;
        }
        let (id, range) = (self.new_id(), range.clone());
        let state = MapState::Submitting;
        self.maps.push(Map { id, range, access, address: 0, state, followed_by: None });
        Ok(id)
    }

    /// Returns whether a conflicting command is being submitted.
    pub fn is_submitting(&self, range: &Range<usize>, access: Access) -> bool {
        self.commands.iter().any(|command| {
            matches!(command.state, CommandState::Submitting)
                && conflict((&command.range, command.access), (range, access))
        })
    }

    /// Returns whether a map of some of these bytes, or an unmap of one, is being submitted.
    pub fn is_submitting_map(&self, range: &Range<usize>) -> bool {
        let mut maps = self.maps.iter();
        maps.any(|map| matches!(map.state, MapState::Submitting) && overlap(&map.range, range))
    }

    fn map(&self, id: u64) -> Option<&Map<E>> {
        self.maps.iter().rev().find(|map| map.id == id)
    }

    fn map_mut(&mut self, id: u64) -> Option<&mut Map<E>> {
        self.maps.iter_mut().rev().find(|map| map.id == id)
    }

    /// Returns the commands and unmaps that conflict with an access to these bytes and are not known
    /// to have ended, other than the map `id`.
    pub fn predecessors(
        &self,
        id: u64,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Few<Predecessor<E>>, Conflict<E>> {
        self.predecessors_except(id, range, access, |_| false)
    }

    /// Returns the predecessors of the map `id`, without those that other predecessors wait for.
    pub fn last_predecessors(
        &mut self,
        id: u64,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Few<Predecessor<E>>, Conflict<E>> {
        let is_awaited = |followed_by| self.is_awaited(followed_by, range, access);
        let found = self.predecessors_except(id, range, access, is_awaited)?;
        for command in &mut self.commands {
            if conflict((&command.range, command.access), (range, access)) {
                command.followed_by = Some(id);
            }
        }
        for map in &mut self.maps {
            if map.id != id && conflict((&map.range, map.access), (range, access)) {
                map.followed_by = Some(id);
            }
        }
        Ok(found)
    }

    fn predecessors_except(
        &self,
        id: u64,
        range: &Range<usize>,
        access: Access,
        is_excepted: impl Fn(Option<u64>) -> bool,
    ) -> Result<Few<Predecessor<E>>, Conflict<E>> {
        let mut predecessors = Few::new();
        for command in &self.commands {
            if !conflict((&command.range, command.access), (range, access)) {
                continue;
            }
            match &command.state {
                CommandState::Submitted(event)
                    if event.known_outcome().is_none() && !is_excepted(command.followed_by) =>
                {
                    predecessors.push(Predecessor { event: event.clone(), unmaps: None });
                }
                CommandState::Untracked => {
                    return Err(Conflict::InUse(command.range.clone(), IS_UNTRACKED));
                }
                CommandState::Submitted(_) | CommandState::Submitting => {}
            }
        }
        for map in &self.maps {
            if map.id == id || !conflict((&map.range, map.access), (range, access)) {
                continue;
            }
            match &map.state {
                MapState::Unmapping(..) if is_excepted(map.followed_by) => {}
                MapState::Unmapping(mapped, event) => {
                    let unmaps = Some((map.id, mapped.clone()));
                    predecessors.push(Predecessor { event: event.clone(), unmaps });
                }
                MapState::Poisoned => return Err(Conflict::InUse(map.range.clone(), IS_POISONED)),
                MapState::Submitting | MapState::Mapped(_) => {
                    return Err(Conflict::InUse(map.range.clone(), IS_MAPPED));
                }
            }
        }
        Ok(predecessors)
    }

    /// Records that the driver maps the bytes from `address` on, with this event.
    pub fn mapped(&mut self, id: u64, event: &E, address: usize) {
        if let Some(map) = self.map_mut(id) {
            (map.state, map.address) = (MapState::Mapped(Some(event.clone())), address);
        }
    }

    /// Records that an access of the host has begun.
    pub fn accessing(&mut self, id: u64) {
        if let Some(map) = self.map_mut(id) {
            map.state = MapState::Mapped(None);
        }
    }

    /// Removes a map that the driver did not take, or an access of the host that has ended.
    pub fn remove_map(&mut self, id: u64) {
        self.maps.retain(|map| map.id != id);
    }

    /// Returns the events of the other maps that begin at the same address as the map `id` and are not
    /// known to have ended, without those that the map `id` waits for unless it `has_failed`. Until the
    /// map is unmapped, no overlapping map can be submitted.
    pub fn begin_unmap(&mut self, id: u64, has_failed: bool) -> Few<E> {
        let Some(map) = self.map_mut(id) else { return Few::new() };
        let address = map.address;
        map.state = MapState::Submitting;
        let is_other = |map: &&Map<E>| {
            map.id != id && map.address == address && (map.followed_by != Some(id) || has_failed)
        };
        let pending = self.maps.iter().filter(is_other).filter_map(|map| match &map.state {
            MapState::Mapped(Some(event)) | MapState::Unmapping(event, _) => {
                event.known_outcome().is_none().then(|| event.clone())
            }
            MapState::Submitting | MapState::Mapped(None) | MapState::Poisoned => None,
        });
        pending.collect()
    }

    /// Records that the driver unmaps a map, with the events of the map and of the unmap. Returns
    /// whether the commands and maps should be reaped.
    pub fn unmapping(&mut self, id: u64, mapped: &E, unmapped: &E) -> bool {
        if unmapped.known_outcome() == Some(Outcome::Complete) {
            self.remove_map(id);
        } else if let Some(map) = self.map_mut(id) {
            map.state = MapState::Unmapping(mapped.clone(), unmapped.clone());
        }
        self.len() >= self.reap_at
    }

    /// Closes the bytes of a map for good.
    pub fn poison(&mut self, id: u64) {
        if let Some(map) = self.map_mut(id) {
            map.state = MapState::Poisoned;
        }
    }

    /// Returns whether the unmap of a map has failed although the bytes were mapped, or may be yet.
    pub fn is_poisoned(&mut self, id: u64) -> bool {
        self.reap_maps();
        self.map(id)
            .is_some_and(|map| matches!(map.state, MapState::Poisoned) || map.has_failed_unmap())
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
            if overlap(&command.range, range) {
                let CommandState::Submitted(event) = &command.state else { return None };
                has_only &= expected(event);
            }
        }
        if !self.maps.is_empty() {
            // The end of an unmap that has failed is a poisoned map.
            self.reap_maps();
        }
        for map in &self.maps {
            if overlap(&map.range, range) {
                let MapState::Unmapping(_, event) = &map.state else { return None };
                if map.has_failed_unmap() {
                    return None;
                }
                has_only &= expected(event);
            }
        }
        Some(has_only)
    }

    /// Returns the events of the commands and unmaps on these bytes that are not known to have ended;
    /// `None` if bytes are mapped, poisoned or used by a command without an event.
    pub fn pending(&mut self, range: &Range<usize>) -> Option<Vec<E>> {
        let found = self.predecessors(0, range, Access::Write).ok()?;
        let leaves_bytes_mapped =
            |map: &Map<E>| overlap(&map.range, range) && map.has_failed_unmap();
        if self.maps.iter().any(leaves_bytes_mapped) {
            return None;
        }
        Some(found.into_iter().map(|found| found.event).collect())
    }

    /// Returns whether bytes are mapped.
    pub fn has_maps(&self) -> bool {
        self.maps.iter().any(|map| matches!(map.state, MapState::Submitting | MapState::Mapped(_)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
