//! A command's life, from before the driver is asked for it until it is followed by its queue or its
//! event.

use std::ops::Range;
use std::sync::Arc;

use cl3::types::cl_context;
use opencl3::command_queue::CommandQueue;

use super::issuing::Slot;
use super::pending::Pending;
use super::table::Table;
use super::{Access, Entered, KnownQueue, Uses, in_use};
use crate::error::Result;
use crate::handle::{EventRef, Outcome};

impl Uses {
    /// Enters a command of `queue` that the driver is about to be asked for, if it is much like the one
    /// before it; [`enter_unusual`](Self::enter_unusual) enters the others.
    #[inline]
    pub(crate) fn enter_usual(
        &self,
        queue: &CommandQueue,
        range: &Range<usize>,
        access: Access,
    ) -> Option<Slot> {
        self.shared.enter_usual(queue.get().addr(), range, access)
    }

    /// Enters a command of `queue` that the driver is about to be asked for.
    ///
    /// Refuses bytes that are mapped, and a queue of another context than the object's.
    #[cold]
    pub(crate) fn enter_unusual(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Entered> {
        let (key, issuing) = (queue.get().addr(), &self.shared.issuing);
        let enter = |table: &mut Table<_, _>, settled| {
            table.enter_command(issuing, key, range, access, settled)
        };
        let ask = || KnownQueue::of(call, queue, context);
        let entered = enter(&mut self.lock(), false);
        entered.or_else(|obstacle| self.overcome(obstacle, call, ask, range, enter))
    }

    /// The driver was asked for a command that has been entered, and took it: it ends with `event`.
    #[inline]
    pub(crate) fn was_issued(&self, entered: Entered, event: &EventRef) {
        if let Entered::OnQueue(slot) = entered {
            self.shared.was_issued(slot);
        } else if let Entered::Alone(id) = entered {
            self.remember(id, event);
        }
    }

    /// The driver was asked for a command that has been entered, and did not take it.
    #[cold]
    pub(crate) fn was_refused(&self, entered: Entered) {
        match entered {
            Entered::Not => {}
            Entered::OnQueue(slot) => self.shared.was_issued(slot),
            Entered::Alone(id) => self.end(id, Outcome::Complete),
        }
    }

    /// The driver may have taken a command on these bytes, and nobody can tell when it ends.
    #[cold]
    pub(crate) fn was_lost(&self, entered: Entered, range: &Range<usize>, access: Access) {
        match entered {
            Entered::Not => {}
            Entered::OnQueue(slot) => {
                self.lock().lose(range.clone(), access);
                self.only_queue.set(None);
                self.shared.was_issued(slot);
            }
            Entered::Alone(id) => self.shared.tell(|table| table.set_lost(id)),
        }
    }

    #[cold]
    fn remember(&self, id: u64, event: &EventRef) {
        match event.try_clone() {
            Ok(event) => self.issued(id, Pending { event, after: Vec::new() }),
            Err(error) => {
                // It cannot be remembered, so it must be over before it is forgotten.
                log::warn!("{error}; waiting instead");
                match event.wait_until_ended() {
                    Ok(outcome) => self.end(id, outcome),
                    Err(_) => self.shared.tell(|table| table.set_lost(id)),
                }
            }
        }
    }

    /// Enters something on these bytes that ends with `event`, and that nobody else would tell of.
    #[cold]
    pub(crate) fn enter_event(
        &self,
        call: &'static str,
        event: &EventRef,
        range: &Range<usize>,
    ) -> Result<()> {
        let event = Arc::new(Pending { event: event.try_clone()?, after: Vec::new() });
        self.shared.tell(|table| {
            table.enter_running(range.clone(), event).map_err(|held| in_use(call, range, &held))
        })?;
        self.only_queue.set(None);
        self.tidy();
        Ok(())
    }
}
