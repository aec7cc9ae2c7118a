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

use std::time::{Duration, Instant};

impl Process {
    /// Returns whether the worker has ended and all processes that it started are killed.
    pub fn has_died(&self) -> bool {
        self.ending().is_some()
    }

    /// Waits until the worker has ended and all processes that it started are killed. Returns false if that
    /// takes longer than `grace`.
    pub fn ends_within(&self, grace: Duration) -> bool {
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

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// Ctrl-C.
    Interrupt,
    /// The request of another program, or the end of the terminal.
    Terminate,
}

impl EndSignal {
    /// Returns the time after the `first` signal in which this one has the same cause. A person's second Ctrl-C comes
    /// later.
    pub fn same_within(self, first: Self) -> Duration {
        match (first, self) {
            (Self::Terminate, Self::Terminate) => Duration::from_secs(1),
            _ => Duration::from_millis(100),
        }
    }
}

/// The stream that bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The connection.
    Socket,
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

/// The cause of the end of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// The process exited with this status.
    Exited(i32),
    /// The signal of this name ended the process.
    Signalled(String),
    /// The process had to be killed.
    Killed,
}

impl std::fmt::Display for ExitCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with status {code}"),
            Self::Signalled(name) => f.write_str(name),
            Self::Killed => f.write_str("had to be killed"),
        }
    }
}

/// Flushes C's buffers of standard output and error.
pub fn flush_c_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}
