//! Host memory of a buffer that has been released.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::host_buffer::HostBuffer;

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
        let memory = self.host.take(timeout).and_then(|memory| memory.downcast().ok());
        memory.map(|memory| *memory).ok_or(self)
    }
}

impl<H> fmt::Debug for ReleasedMemory<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleasedMemory").finish_non_exhaustive()
    }
}
