//! Maps that do not block.

use std::fmt;

use super::sealed::Guard;
use crate::error::Result;
use crate::event::Event;

/// A map that has been enqueued: its data can be reached once it has been waited for (PyOpenCL's
/// `is_blocking=False`).
///
/// Dropped, it is unmapped, after the map has ended.
#[must_use]
pub struct PendingMap<G: Guard>(G);

impl<G: Guard> PendingMap<G> {
    pub(crate) fn new(guard: G) -> Self {
        Self(guard)
    }

    /// Returns the map's event. It ends when [`wait`](Self::wait) does not have to wait any more.
    pub fn event(&self) -> &Event {
        self.0.event()
    }

    /// Waits until the data can be reached.
    ///
    /// # Errors
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where the map failed, or a command that it had
    /// to wait for; and the driver's errors.
    pub fn wait(self) -> Result<G> {
        self.0.wait()?;
        Ok(self.0)
    }
}

impl<G: Guard> fmt::Debug for PendingMap<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingMap").field("event", self.event()).finish_non_exhaustive()
    }
}
