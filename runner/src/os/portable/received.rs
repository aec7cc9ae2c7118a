//! The bytes that a worker has sent on its connection.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bytes that were received and have not been read.
#[derive(Default)]
pub struct Received {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    is_closed: bool,
}

impl Received {
    /// Receives all bytes, until the other end is closed.
    pub fn take_all(&self, mut connection: TcpStream) {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match connection.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return self.close(),
                Ok(count) => {
                    self.state().bytes.extend_from_slice(&buffer[..count]);
                    self.changed.notify_all();
                }
            }
        }
    }

    /// Records that no more bytes will come.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Returns whether the other end is closed.
    pub fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Returns whether a read returns bytes or the end.
    pub fn is_ready(&self) -> bool {
        let state = self.state();
        state.is_closed || !state.bytes.is_empty()
    }

    /// Waits until a read returns bytes or the end, for this time at most.
    pub fn wait(&self, time: Duration) {
        let _ = self.changed.wait_timeout_while(self.state(), time, |state| {
            !state.is_closed && state.bytes.is_empty()
        });
    }

    /// Takes bytes; `Some(0)` at the end, `None` if there are none yet.
    pub fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        let mut state = self.state();
        if state.bytes.is_empty() {
            return state.is_closed.then_some(0);
        }
        let count = state.bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&state.bytes[..count]);
        state.bytes.drain(..count);
        Some(count)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
