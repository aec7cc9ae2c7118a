//! Maps that do not block.

use std::fmt;

use crate::error::Result;
use crate::event::Event;

/// The guard of a map: a [`BufferMap`](crate::memory::BufferMap), an
/// [`ImageMap`](crate::memory::ImageMap) or an [`SvmMap`](crate::memory::SvmMap).
pub trait MapGuard: sealed::Guard {}

impl<G: sealed::Guard> MapGuard for G {}

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

/// Implements the methods of a guard with the [`Mapping`](super::Mapping) at `$mapping`.
macro_rules! map_guard {
    ([$($generics:tt)*] $guard:ty, $call:expr, $($mapping:ident).+) => {
        impl<$($generics)*> $guard {
            /// Returns the event of the map.
            pub fn event(&self) -> &$crate::Event {
                self.$($mapping).+.event()
            }

            /// Gives the bytes back to the device (`clEnqueueUnmapMemObject`, `clEnqueueSVMUnmap`;
            /// PyOpenCL's `MemoryMap.release` and `SVMMap.release`), on the queue that mapped them. Returns
            /// the event of the unmap, after whose end the device has them.
            ///
            /// # Errors
            /// The driver's errors; the bytes then stay closed for good.
            pub fn unmap(mut self) -> $crate::Result<$crate::Event> {
                self.$($mapping).+.unmap(None)
            }

            /// Gives the bytes back to the device as [`unmap`](Self::unmap) does, on a queue of the same
            /// context and after the events of a wait list.
            ///
            /// # Errors
            /// CL_INVALID_CONTEXT for a queue or event of another context, and
            /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed; the bytes are then
            /// given back without waiting. Also those of [`unmap`](Self::unmap). The bytes also stay closed
            /// if an event of the wait list fails later on.
            pub fn unmap_on<'q>(
                mut self,
                order: impl Into<$crate::memory::Order<'q>>,
            ) -> $crate::Result<$crate::Event> {
                self.$($mapping).+.unmap(Some(&order.into()))
            }
        }

        impl<$($generics)*> $crate::memory::mapping::pending::sealed::Guard for $guard {
            const CALL: &'static str = $call;

            fn event(&self) -> &$crate::Event {
                self.event()
            }
        }
    };
}

pub(crate) use map_guard;

/// A map that has been enqueued: its data can be reached after [`wait`](Self::wait) (PyOpenCL's
/// `is_blocking=False`).
///
/// A drop unmaps the data after the map has ended. Where the driver unmaps no map that has not run (rusticl), each
/// use of the bytes, also `map_async`, waits for the map: forever, if the same thread later sets the event that the
/// map waits for.
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
    /// to wait for; and the driver's errors. The map is dropped then.
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
