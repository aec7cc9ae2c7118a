//! Which bytes of an object are mapped, and which commands are under way on which bytes.
//!
//! This is what lets safe code map memory: see the module documentation of [`super`]. The lock is
//! never held across a driver call, so a command is entered before the driver is asked for it, and
//! its event added afterwards.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cl3::error_codes::CL_INVALID_OPERATION;
use opencl3::event::Event;

use super::object::MemObject;
use crate::error::{Error, Result};
use crate::handle::EventRef;

/// What is done to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// They are read.
    Read,
    /// They are written, and perhaps read.
    Write,
}

#[derive(Debug)]
enum State {
    /// The driver is being asked for the command.
    Issuing,
    /// The command has been enqueued.
    Running(Arc<EventRef>),
    /// The host can reach the bytes.
    Mapped,
}

/// A command under way, by its id.
type Running = (u64, Arc<EventRef>);

#[derive(Debug)]
struct Use {
    id: u64,
    range: Range<usize>,
    access: Access,
    state: State,
}

impl Use {
    fn conflicts_with(&self, range: &Range<usize>, access: Access) -> bool {
        overlap(&self.range, range) && (self.access == Access::Write || access == Access::Write)
    }
}

/// Whether two ranges have a byte in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

#[derive(Debug, Default)]
struct List {
    next_id: u64,
    uses: Vec<Use>,
    /// The length at which commands that have ended are looked for.
    tidy_at: usize,
}

impl List {
    fn enter(&mut self, range: Range<usize>, access: Access, state: State) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.uses.push(Use { id, range, access, state });
        id
    }
}

/// The uses of one object with all its regions. Ranges are in bytes from the object's start.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<List>);

impl Uses {
    /// How many uses are kept without looking whether they have ended.
    const SLACK: usize = 16;

    fn lock(&self) -> MutexGuard<'_, List> {
        // Nothing panics in the middle of a change to the list.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a command that is about to be issued, and gives its id.
    ///
    /// Refuses it where its bytes are mapped.
    pub(super) fn enter_command(
        &self,
        call: &'static str,
        range: Range<usize>,
        access: Access,
    ) -> Result<u64> {
        let mut list = self.lock();
        let mapped = list.uses.iter().find(|other| {
            matches!(other.state, State::Mapped) && other.conflicts_with(&range, access)
        });
        if let Some(mapped) = mapped {
            return Err(in_use(call, &range, &mapped.range, "are mapped; unmap them first"));
        }
        Ok(list.enter(range, access, State::Issuing))
    }

    /// Enters a map, and gives its id with the commands that have to end first.
    ///
    /// Refuses it where its bytes are mapped already, or where another thread is just issuing a
    /// command on them.
    pub(super) fn enter_map(
        &self,
        call: &'static str,
        range: Range<usize>,
        access: Access,
    ) -> Result<(u64, Vec<Running>)> {
        let mut list = self.lock();
        let mut running = Vec::new();
        for other in list.uses.iter().filter(|other| other.conflicts_with(&range, access)) {
            match &other.state {
                State::Running(event) => running.push((other.id, Arc::clone(event))),
                State::Mapped => {
                    return Err(in_use(call, &range, &other.range, "are mapped already"));
                }
                State::Issuing => {
                    let why = "are in a command that another thread is issuing";
                    return Err(in_use(call, &range, &other.range, why));
                }
            }
        }
        Ok((list.enter(range, access, State::Mapped), running))
    }

    /// The command has been enqueued: it is under way until `event` ends.
    pub(super) fn set_running(&self, id: u64, event: EventRef) {
        let tidy = {
            let mut list = self.lock();
            if let Some(entry) = list.uses.iter_mut().find(|entry| entry.id == id) {
                entry.state = State::Running(Arc::new(event));
            }
            list.uses.len() > list.tidy_at.max(Self::SLACK)
        };
        if tidy {
            self.tidy();
        }
    }

    /// The command has ended, or never began.
    pub(super) fn remove(&self, id: u64) {
        let removed = {
            let mut list = self.lock();
            let position = list.uses.iter().position(|entry| entry.id == id);
            position.map(|position| list.uses.swap_remove(position))
        };
        drop(removed);
    }

    /// Forgets the commands that have ended.
    fn tidy(&self) {
        let running: Vec<Running> = self
            .lock()
            .uses
            .iter()
            .filter_map(|entry| match &entry.state {
                State::Running(event) => Some((entry.id, Arc::clone(event))),
                _ => None,
            })
            .collect();
        let ended: Vec<u64> =
            running.iter().filter(|(_, event)| event.has_ended()).map(|(id, _)| *id).collect();
        let removed: Vec<Use> = {
            let mut list = self.lock();
            let removed = list.uses.extract_if(.., |entry| ended.contains(&entry.id)).collect();
            list.tidy_at = 2 * list.uses.len();
            removed
        };
        drop(removed);
    }
}

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
    /// `id` has been entered in the uses of `object`.
    pub(super) fn new(object: Arc<MemObject>, id: u64) -> Self {
        Self { object, id, handed_on: false }
    }

    /// The use goes on until `event` ends.
    pub(crate) fn until(mut self, event: &Event) {
        match EventRef::retain(event) {
            Ok(event) => {
                self.object.uses().set_running(self.id, event);
                self.handed_on = true;
            }
            // It cannot be remembered, so it must be over before it is forgotten.
            Err(error) if event.wait().is_ok() => log::warn!("{error}; waited instead"),
            Err(error) => {
                log::error!("{error}, and it cannot be waited for: its bytes stay closed to maps");
                self.forever();
            }
        }
    }

    /// The use never ends: what it was entered for could not be undone.
    pub(super) fn forever(self) {
        std::mem::forget(self);
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
    use super::*;

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
            (Write, 7..8, Read, false),
            (Write, 3..3, Write, true),
        ] {
            let uses = Uses::default();
            uses.enter_map("clEnqueueMapBuffer", 2..8, mapped).unwrap();
            let case = format!("{mapped:?} map of 2..8, {access:?} of {command:?}");
            let map = uses.enter_map("clEnqueueMapBuffer", command.clone(), access);
            assert_eq!(map.is_ok(), allowed, "a second map: {case}");
            let uses = Uses::default();
            uses.enter_map("clEnqueueMapBuffer", 2..8, mapped).unwrap();
            let command = uses.enter_command("clEnqueueWriteBuffer", command, access);
            assert_eq!(command.is_ok(), allowed, "{case}");
        }
    }

    #[test]
    fn commands_exclude_maps_until_they_end() {
        let uses = Uses::default();
        let id = uses.enter_command("clEnqueueWriteBuffer", 0..8, Access::Write).unwrap();
        uses.enter_command("clEnqueueWriteBuffer", 0..8, Access::Write).unwrap();
        uses.enter_map("clEnqueueMapBuffer", 8..16, Access::Write).unwrap();
        let error = uses.enter_map("clEnqueueMapBuffer", 4..6, Access::Read).unwrap_err();
        assert_eq!(error.code(), CL_INVALID_OPERATION);
        uses.remove(id);
        assert!(uses.enter_map("clEnqueueMapBuffer", 4..6, Access::Read).is_err());
    }
}
