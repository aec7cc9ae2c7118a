use std::any::Any;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Host memory in the hands of the driver.
pub(super) struct HostBuffer {
    pub state: Mutex<State>,
    pub destroyed: Condvar,
}

pub(super) struct State {
    pub memory: Option<Box<dyn Any + Send>>,
    /// The driver does not know it any more.
    pub is_free: bool,
}

impl fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostBuffer")
    }
}

/// Says when the driver has destroyed the buffer.
pub(super) struct Destroyed(pub Arc<HostBuffer>);

impl Drop for Destroyed {
    fn drop(&mut self) {
        self.0.lock().is_free = true;
        self.0.destroyed.notify_all();
    }
}

impl HostBuffer {
    /// How long a driver may take to destroy a buffer after its last use: some drivers do it later, in
    /// a thread of their own.
    // quirk: NVIDIA-5
    const DESTRUCTION_TIMEOUT: Duration = Duration::from_secs(10);

    pub fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory, once the driver has let go of it.
    pub fn take(&self) -> Option<Box<dyn Any + Send>> {
        let in_use = |state: &mut State| !state.is_free;
        let waited =
            self.destroyed.wait_timeout_while(self.lock(), Self::DESTRUCTION_TIMEOUT, in_use);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_free { state.memory.take() } else { None }
    }
}
