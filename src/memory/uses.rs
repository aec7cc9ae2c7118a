//! Which bytes of an object are mapped, and which commands are under way on which bytes.
//!
//! This is what lets safe code map memory: see the module documentation of [`super`]. The lock is
//! never held across a driver call, so a command is entered before the driver is asked for it, and
//! its event added afterwards.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cl3::error_codes::CL_INVALID_OPERATION;

use super::object::MemObject;
use crate::error::{Error, Result};
use crate::handle::{EventRef, Outcome};

/// What is done to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// They are read.
    Read,
    /// They are written, and perhaps read.
    Write,
}

/// Whether two ranges have a byte in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// Something that has been enqueued.
#[derive(Debug)]
struct Pending {
    event: EventRef,
    /// What it fails with. Intel's runtime calls a command complete that never ran because of its
    /// wait list.
    after: Vec<EventRef>,
}

impl Pending {
    /// `None` where it has not ended, or cannot tell.
    fn outcome(&self) -> Option<Outcome> {
        self.event.outcome().map(|outcome| self.with_wait_list(outcome))
    }

    fn wait_until_ended(&self) -> Result<Outcome> {
        Ok(self.with_wait_list(self.event.wait_until_ended()?))
    }

    fn with_wait_list(&self, outcome: Outcome) -> Outcome {
        let failed = |event: &EventRef| event.outcome() == Some(Outcome::Failed);
        if self.after.iter().any(failed) { Outcome::Failed } else { outcome }
    }
}

#[derive(Clone, Debug)]
enum State {
    /// A command that the driver is being asked for.
    Issuing,
    /// A map that waits for commands, or that the driver is being asked for.
    Mapping,
    /// The host can reach the bytes.
    Mapped,
    /// A command, or the end of a map, that has been enqueued.
    Running(Arc<Pending>),
    /// Nobody can tell any more when it ends.
    Lost,
}

#[derive(Debug)]
struct Use {
    range: Range<usize>,
    access: Access,
    state: State,
}

impl Use {
    fn conflicts_with(&self, range: &Range<usize>, access: Access) -> bool {
        overlap(&self.range, range) && (self.access == Access::Write || access == Access::Write)
    }
}

/// Uses by their ids.
type Table = HashMap<u64, Use>;

/// What has been enqueued, by its id.
type Running = (u64, Arc<Pending>);

/// Those of the uses that have been enqueued.
fn running<'a>(uses: impl IntoIterator<Item = (&'a u64, &'a Use)>) -> Vec<Running> {
    uses.into_iter()
        .filter_map(|(id, entry)| match &entry.state {
            State::Running(event) => Some((*id, Arc::clone(event))),
            _ => None,
        })
        .collect()
}

fn conflicting<'a>(
    table: &'a Table,
    range: &'a Range<usize>,
    access: Access,
) -> impl Iterator<Item = (&'a u64, &'a Use)> {
    table.iter().filter(move |(_, entry)| entry.conflicts_with(range, access))
}

/// Commands and maps are apart, so that a command need not look at all other commands.
#[derive(Debug, Default)]
struct Tables {
    next_id: u64,
    commands: Table,
    maps: Table,
    /// The length at which uses that have ended are looked for.
    tidy_at: usize,
}

impl Tables {
    fn len(&self) -> usize {
        self.commands.len() + self.maps.len()
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn set(&mut self, id: u64, state: State) {
        if let Some(entry) = self.commands.get_mut(&id).or_else(|| self.maps.get_mut(&id)) {
            entry.state = state;
        }
    }

    /// Ends a use that has been enqueued. A map whose end failed may still be one to the driver.
    fn end(&mut self, id: u64, outcome: Outcome) -> Option<Use> {
        match self.maps.get_mut(&id) {
            Some(map) if outcome == Outcome::Failed => {
                map.state = State::Lost;
                None
            }
            Some(_) => self.maps.remove(&id),
            None => self.commands.remove(&id),
        }
    }
}

/// The uses of one object with all its regions. Ranges are in bytes from the object's start.
#[derive(Debug, Default)]
pub(super) struct Uses {
    tables: Mutex<Tables>,
    /// Notified when a command has been issued.
    issued: Condvar,
}

impl Uses {
    /// How many uses are kept without looking whether they have ended.
    const SLACK: usize = 16;

    fn lock(&self) -> MutexGuard<'_, Tables> {
        // Nothing panics in the middle of a change to the tables.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a command that is about to be issued, and gives its id.
    ///
    /// Refuses it where its bytes are mapped or about to be.
    fn enter_command(
        &self,
        call: &'static str,
        range: Range<usize>,
        access: Access,
    ) -> Result<u64> {
        self.settle_maps(&range, access);
        let mut tables = self.lock();
        for (_, map) in conflicting(&tables.maps, &range, access) {
            let why = match &map.state {
                // The queues decide which of the two comes first.
                State::Running(_) => continue,
                State::Mapping => "a map in another thread is waiting for",
                State::Lost => LOST_MAP,
                State::Mapped | State::Issuing => "are mapped; unmap them first",
            };
            return Err(in_use(call, &range, &map.range, why));
        }
        let id = tables.new_id();
        tables.commands.insert(id, Use { range, access, state: State::Issuing });
        Ok(id)
    }

    /// Enters a map once other threads have issued what they are just issuing on its bytes, and
    /// gives its id with what has to end first.
    ///
    /// Refuses it where its bytes are mapped already or about to be.
    fn enter_map(
        &self,
        call: &'static str,
        range: Range<usize>,
        access: Access,
    ) -> Result<(u64, Vec<Running>)> {
        let mut tables = self.lock();
        for (_, map) in conflicting(&tables.maps, &range, access) {
            let why = match &map.state {
                State::Running(_) => continue,
                State::Lost => LOST_MAP,
                _ => "are mapped already",
            };
            return Err(in_use(call, &range, &map.range, why));
        }
        let id = tables.new_id();
        // From here on it keeps new commands away, so it waits for those before it alone.
        let entry = Use { range: range.clone(), access, state: State::Mapping };
        let mut before = running(conflicting(&tables.maps, &range, access));
        tables.maps.insert(id, entry);
        tables = self.wait_until_issued(tables, &range, access);
        let lost = conflicting(&tables.commands, &range, access)
            .find(|(_, command)| matches!(command.state, State::Lost))
            .map(|(_, command)| command.range.clone());
        if let Some(lost) = lost {
            tables.maps.remove(&id);
            let why = "are in a command of which the driver gave no event";
            return Err(in_use(call, &range, &lost, why));
        }
        before.extend(running(conflicting(&tables.commands, &range, access)));
        Ok((id, before))
    }

    fn wait_until_issued<'a>(
        &'a self,
        tables: MutexGuard<'a, Tables>,
        range: &Range<usize>,
        access: Access,
    ) -> MutexGuard<'a, Tables> {
        let issuing = |tables: &mut Tables| {
            conflicting(&tables.commands, range, access)
                .any(|(_, command)| matches!(command.state, State::Issuing))
        };
        self.issued.wait_while(tables, issuing).unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks which maps of these bytes have ended meanwhile, and how.
    fn settle_maps(&self, range: &Range<usize>, access: Access) {
        let ending = running(conflicting(&self.lock().maps, range, access));
        self.settle(ending);
    }

    /// The use ended with `outcome`.
    fn end(&self, id: u64, outcome: Outcome) {
        let removed = self.lock().end(id, outcome);
        // Not under the lock: it releases an event.
        drop(removed);
        self.issued.notify_all();
    }

    fn set(&self, id: u64, state: State) {
        self.lock().set(id, state);
        self.issued.notify_all();
    }

    /// The command has been enqueued: it is under way until `event` ends.
    fn set_running(&self, id: u64, pending: Pending) {
        self.set(id, State::Running(Arc::new(pending)));
        self.tidy();
    }

    /// The use has ended, or never began.
    fn remove(&self, id: u64) {
        self.end(id, Outcome::Complete);
    }

    /// Forgets the uses that have ended, if there are many.
    fn tidy(&self) {
        let running = {
            let tables = self.lock();
            if tables.len() <= tables.tidy_at.max(Self::SLACK) {
                return;
            }
            running(tables.commands.iter().chain(&tables.maps))
        };
        self.settle(running);
        let mut tables = self.lock();
        // Doubling keeps the cost of many commands linear.
        tables.tidy_at = 2 * tables.len();
    }

    fn settle(&self, running: Vec<Running>) {
        for (id, event) in running {
            if let Some(outcome) = event.outcome() {
                self.end(id, outcome);
            }
        }
    }
}

const LOST_MAP: &str = "stay closed: an unmap of them failed";

fn in_use(call: &'static str, wanted: &Range<usize>, held: &Range<usize>, why: &str) -> Error {
    let why = format!("bytes {wanted:?} overlap bytes {held:?}, which {why}");
    Error::refused(call, CL_INVALID_OPERATION, why)
}

/// A use that has been entered and ends when this is dropped, unless it goes on as a command.
#[derive(Debug)]
pub(crate) struct Claim {
    object: Arc<MemObject>,
    id: u64,
    /// The use goes on without this claim.
    handed_on: bool,
}

impl Claim {
    /// Enters a command of `call` on bytes counted from the start of the parent, or of the object
    /// where it has none.
    pub(super) fn command(
        object: &Arc<MemObject>,
        call: &'static str,
        range: Range<usize>,
        access: Access,
    ) -> Result<Self> {
        let id = object.uses().enter_command(call, range, access)?;
        Ok(Self { object: Arc::clone(object), id, handed_on: false })
    }

    /// Enters a map in the same way, and waits for what has to end first.
    pub(super) fn map(
        object: &Arc<MemObject>,
        call: &'static str,
        range: Range<usize>,
        access: Access,
    ) -> Result<Self> {
        let uses = object.uses();
        let (id, before) = uses.enter_map(call, range.clone(), access)?;
        let claim = Self { object: Arc::clone(object), id, handed_on: false };
        for (id, event) in before {
            let outcome = event.wait_until_ended()?;
            let is_map = uses.lock().maps.contains_key(&id);
            uses.end(id, outcome);
            if is_map && outcome == Outcome::Failed {
                return Err(in_use(call, &range, &range, LOST_MAP));
            }
        }
        Ok(claim)
    }

    /// The bytes have been mapped.
    pub(super) fn set_mapped(&self) {
        self.object.uses().set(self.id, State::Mapped);
    }

    /// The use goes on until `event` ends.
    pub(crate) fn until(self, event: &EventRef) {
        self.until_after(event, Vec::new());
    }

    /// The use goes on until `event` ends, and has failed if one of `after` fails.
    pub(crate) fn until_after(mut self, event: &EventRef, after: Vec<EventRef>) {
        let uses = self.object.uses();
        match event.try_clone() {
            Ok(event) => {
                let pending = Pending { event, after };
                if pending.outcome() != Some(Outcome::Complete) {
                    uses.set_running(self.id, pending);
                    self.handed_on = true;
                }
            }
            // It cannot be remembered, so it must be over before it is forgotten.
            Err(error) => match event.wait_until_ended() {
                Ok(Outcome::Complete) if after.is_empty() => log::warn!("{error}; waited instead"),
                Ok(Outcome::Failed) if after.is_empty() => {
                    uses.end(self.id, Outcome::Failed);
                    self.handed_on = true;
                }
                _ => {
                    log::error!("{error}: its bytes stay closed");
                    self.forever();
                }
            },
        }
    }

    /// The use never ends: nobody can tell when what it was entered for does.
    pub(super) fn forever(mut self) {
        self.object.uses().set(self.id, State::Lost);
        self.handed_on = true;
        // The object stays as well: the driver may still use it.
        std::mem::forget(Arc::clone(&self.object));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.handed_on {
            self.object.uses().remove(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    const MAP: &str = "clEnqueueMapBuffer";
    const WRITE: &str = "clEnqueueWriteBuffer";

    #[test]
    fn maps_exclude_what_conflicts() {
        use Access::{Read, Write};
        for (mapped, command, access, allowed) in [
            (Read, 0..4, Read, true),
            (Read, 0..4, Write, false),
            (Write, 0..4, Read, false),
            (Write, 0..4, Write, false),
            (Write, 4..8, Write, false),
            (Write, 8..12, Write, true),
            (Write, 0..2, Write, true),
            (Write, 7..8, Read, false),
            (Write, 3..3, Write, true),
        ] {
            let uses = Uses::default();
            uses.enter_map(MAP, 2..8, mapped).unwrap();
            let case = format!("{mapped:?} map of 2..8, {access:?} of {command:?}");
            let map = uses.enter_map(MAP, command.clone(), access);
            assert_eq!(map.is_ok(), allowed, "a second map: {case}");
            let uses = Uses::default();
            uses.enter_map(MAP, 2..8, mapped).unwrap();
            let command = uses.enter_command(WRITE, command, access);
            assert_eq!(command.is_ok(), allowed, "{case}");
        }
    }

    #[test]
    fn a_map_waits_for_what_is_being_issued_and_keeps_new_commands_away() {
        let uses = Uses::default();
        let id = uses.enter_command(WRITE, 0..8, Access::Write).unwrap();
        uses.enter_command(WRITE, 8..16, Access::Write).unwrap();
        thread::scope(|scope| {
            let map = scope.spawn(|| uses.enter_map(MAP, 4..6, Access::Read).map(|_| ()));
            while uses.lock().maps.is_empty() {
                thread::yield_now();
            }
            let error = uses.enter_command(WRITE, 0..5, Access::Write).unwrap_err();
            assert_eq!(error.code(), CL_INVALID_OPERATION);
            assert!(error.detail().contains("waiting"), "{error}");
            thread::sleep(Duration::from_millis(20));
            assert!(!map.is_finished());
            uses.remove(id);
            map.join().unwrap().unwrap();
        });
    }

    #[test]
    fn what_is_lost_stays_closed() {
        let uses = Uses::default();
        let id = uses.enter_command(WRITE, 0..8, Access::Write).unwrap();
        uses.set(id, State::Lost);
        uses.enter_command(WRITE, 0..8, Access::Write).unwrap_or_else(|error| panic!("{error}"));
        let (map, _) = uses.enter_map(MAP, 8..16, Access::Read).unwrap();
        uses.end(map, Outcome::Failed);
        let error = uses.enter_command(WRITE, 8..9, Access::Write).unwrap_err();
        assert!(error.detail().contains("unmap of them failed"), "{error}");
        assert!(uses.enter_map(MAP, 8..9, Access::Write).is_err());
    }

    #[test]
    fn a_command_without_an_event_is_closed_to_maps() {
        let uses = Uses::default();
        let id = uses.enter_command(WRITE, 0..8, Access::Write).unwrap();
        uses.set(id, State::Lost);
        let error = uses.enter_map(MAP, 0..1, Access::Read).unwrap_err();
        assert!(error.detail().contains("no event"), "{error}");
        assert!(uses.lock().maps.is_empty());
        uses.enter_map(MAP, 8..9, Access::Read).unwrap();
    }
}
