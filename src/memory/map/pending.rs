//! Maps that do not block.

use std::fmt;

use opencl3::event::Event;

use super::sealed::Guard;
use crate::error::Result;
use crate::handle::EventRef;

/// A map that the driver was asked for: its data can be reached once it has been waited for
/// (PyOpenCL's `is_blocking=False`).
///
/// Dropped, it is unmapped without anybody having seen it.
#[must_use]
pub struct PendingMap<G: Guard> {
    /// `None` once it has been waited for.
    guard: Option<G>,
    /// What it has to come after, and fails with, besides its own event.
    after: Vec<EventRef>,
}

impl<G: Guard> PendingMap<G> {
    pub(crate) fn new(guard: G, after: Vec<EventRef>) -> Self {
        Self { guard: Some(guard), after }
    }

    /// The map's event: it ends when [`wait`](Self::wait) does not have to.
    pub fn event(&self) -> &Event {
        self.guard().event()
    }

    /// Waits until it is mapped.
    ///
    /// # Errors
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where the map failed, or something that it had
    /// to wait for; and the driver's errors.
    pub fn wait(mut self) -> Result<G> {
        self.guard().wait(&self.after)?;
        Ok(self.guard.take().expect(IT_IS_THERE))
    }

    fn guard(&self) -> &G {
        self.guard.as_ref().expect(IT_IS_THERE)
    }
}

const IT_IS_THERE: &str = "present until it has been waited for";

impl<G: Guard> Drop for PendingMap<G> {
    fn drop(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.leave_if_failed();
        }
    }
}

impl<G: Guard> fmt::Debug for PendingMap<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingMap").field("event", self.event()).finish_non_exhaustive()
    }
}
