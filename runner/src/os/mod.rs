//! The operating system: processes, their groups, pipes and exits.
//!
//! Everything else in this crate is portable. `linux` has workers in full. `portable` has the same items for other
//! systems, on the standard library; `portable/absent.rs` has the parts that those systems lack. `unix` and `windows`
//! have files and names. With the feature `portable`, Linux has `portable`, too, so `unix.rs` in it runs in a test.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub use linux::*;

#[cfg(any(not(target_os = "linux"), feature = "portable"))]
mod portable;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
pub use portable::*;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

mod left_behind;
pub use left_behind::LeftBehind;

use std::io::{self, ErrorKind, Read};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::result::not_run_reason::{NotRunReason, StopCause};

impl Process {
    /// Returns whether the worker has ended and all processes that it started are killed.
    pub fn has_died(&mut self) -> bool {
        self.ending().is_some()
    }

    /// Waits until the worker has ended and all processes that it started are killed. Returns false if that
    /// takes longer than `grace`.
    pub fn ends_within(&mut self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        while !self.has_died() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.has_died()
    }

    /// Returns the exit cause of the worker, after `grace` to do so by itself. The processes that it started are
    /// gone afterwards.
    pub fn finish(&mut self, grace: Duration) -> ExitCause {
        self.ends_within(grace);
        let ending = self.ending();
        self.end();
        ending.unwrap_or(ExitCause::Killed)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads the available bytes of a stream, which becomes `None` at its end: a closed pipe would be ready forever.
fn read_available(stream: &mut Option<impl Read>, buffer: &mut [u8]) -> Option<usize> {
    let count = match stream.as_mut()?.read(buffer) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            return None;
        }
        // A reset connection is the end of it.
        read => read.unwrap_or(0),
    };
    if count == 0 {
        *stream = None;
    }
    Some(count)
}

/// The stop of a run, for which threads wait, and its cause.
pub struct StopSignal {
    event: StopEvent,
    cause: OnceLock<StopCause>,
}

impl StopSignal {
    /// Creates a signal that is not set.
    pub fn new() -> io::Result<Self> {
        Ok(Self { event: StopEvent::new()?, cause: OnceLock::new() })
    }

    /// Stops the run. Returns false if it was stopped before: the first cause counts.
    pub fn set(&self, cause: StopCause) -> bool {
        let is_first = self.cause.set(cause).is_ok();
        self.event.set();
        is_first
    }

    /// Returns whether the run is stopped.
    pub fn is_set(&self) -> bool {
        self.cause.get().is_some()
    }

    /// Waits for a time, or until the run is stopped.
    pub fn wait(&self, time: Duration) {
        self.event.wait(time);
    }

    /// Returns the cause of the stop.
    pub fn cause(&self) -> Option<StopCause> {
        self.cause.get().copied()
    }

    /// Returns the reason why a test was not run since the run was stopped.
    pub fn not_run(&self) -> NotRunReason {
        NotRunReason::Stopped { by: self.cause().unwrap_or(StopCause::Signal) }
    }
}

/// The stream of output that bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The reason why [`Process::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// Bytes or an end of file can be read, or the worker has ended.
    Ready {
        /// True if they may be on standard output or error.
        output: bool,
        /// True if the worker may have ended.
        death: bool,
    },
    /// The deadline has passed, or the worker exceeds its memory limit.
    Deadline,
    /// The run is stopping.
    Stopped,
}

/// The last report of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWord {
    /// True if the thread is that of the running test.
    pub in_test: bool,
    /// The crash that ends the process; `None` if it has called `exit`.
    pub crash: Option<Crash>,
}

/// The cause of the end of a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExitCause {
    /// The process exited with this status.
    #[error("exited with status {0}")]
    Exited(i32),
    /// The signal of this name ended the process.
    #[error("{0}")]
    Signalled(String),
    /// The process had to be killed.
    #[error("had to be killed")]
    Killed,
}

/// Flushes C's buffers of standard output and error.
pub fn flush_c_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}
