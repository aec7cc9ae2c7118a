//! Host memory of a buffer that has been released.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use parking_lot::Mutex;

/// Host memory of a buffer, until the driver has destroyed the buffer.
pub(super) struct HostBuffer {
    pub memory: Mutex<Option<Box<dyn Any + Send>>>,
    /// Disconnected when the driver has destroyed the buffer.
    pub destroyed: Mutex<Receiver<Infallible>>,
}

/// The host memory of a released buffer, which the driver destroys later: some drivers have a thread for that, some
/// keep a buffer as long as an event of a command on it exists. A drop frees the memory once the buffer has been destroyed.
pub struct ReleasedMemory<H> {
    pub(super) host: Arc<HostBuffer>,
    pub(super) memory: PhantomData<fn() -> H>,
}

impl<H: 'static> ReleasedMemory<H> {
    /// Waits until the driver has destroyed the buffer, and returns the memory.
    ///
    /// # Errors
    /// This handle, if that takes longer than `timeout`.
    pub fn wait(self, timeout: Duration) -> Result<H, Self> {
        let end = self.host.destroyed.lock().recv_timeout(timeout);
        let is_destroyed = end == Err(RecvTimeoutError::Disconnected);
        let memory = if is_destroyed { self.host.memory.lock().take() } else { None };
        memory.and_then(|memory| memory.downcast().ok()).map(|memory| *memory).ok_or(self)
    }
}

impl<H> fmt::Debug for ReleasedMemory<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleasedMemory").finish_non_exhaustive()
    }
}
