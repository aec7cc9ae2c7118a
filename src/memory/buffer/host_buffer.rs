//! Host memory of a buffer, until the driver has destroyed the buffer.

use std::any::Any;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use parking_lot::Mutex;

/// Host memory that the driver uses.
pub(super) struct HostBuffer {
    pub memory: Mutex<Option<Box<dyn Any + Send>>>,
    /// Disconnected when the driver has destroyed the buffer.
    pub destroyed: Mutex<Receiver<Infallible>>,
}

impl HostBuffer {
    /// Returns the memory once the driver has released it; `None` after `timeout`.
    pub fn take(&self, timeout: Duration) -> Option<Box<dyn Any + Send>> {
        match self.destroyed.lock().recv_timeout(timeout) {
            Err(RecvTimeoutError::Disconnected) => self.memory.lock().take(),
            Ok(_) | Err(RecvTimeoutError::Timeout) => None,
        }
    }
}
