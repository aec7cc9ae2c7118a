//! Maps that do not block.

use std::fmt;

use crate::error::Result;
use crate::event::Event;

/// The guard of a map: a [`BufferMap`](crate::memory::BufferMap), an
/// [`ImageMap`](crate::memory::ImageMap) or an [`SvmMap`](crate::memory::SvmMap).
pub trait MapGuard: sealed::Guard {}

pub(crate) mod sealed {
    use crate::event::Event;

    /// A guard that keeps data mapped.
    pub trait Guard {
        /// The driver's function for the map.
        const CALL: &'static str;

        /// Returns the event of the map.
        fn event(&self) -> &Event;
    }
}

/// A map that has been enqueued: its data can be reached after [`wait`](Self::wait) (PyOpenCL's
/// `is_blocking=False`).
///
/// A drop unmaps the data after the map has ended.
#[must_use]
pub struct PendingMap<G: MapGuard>(G);

impl<G: MapGuard> PendingMap<G> {
    pub(crate) fn new(guard: G) -> Self {
        Self(guard)
    }

    /// Returns the map's event. After its end, [`wait`](Self::wait) returns at once.
    pub fn event(&self) -> &Event {
        self.0.event()
    }

    /// Waits until the data can be reached.
    ///
    /// # Errors
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where the map failed, or a command that it had
    /// to wait for; and the driver's errors.
    pub fn wait(self) -> Result<G> {
        self.event().wait_in(G::CALL)?;
        Ok(self.0)
    }
}

impl<G: MapGuard> fmt::Debug for PendingMap<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingMap").field("event", self.event()).finish_non_exhaustive()
    }
}
