//! The operating system: processes, their groups, pipes and exits.
//!
//! Everything else in this crate is portable. `linux` has workers in full. `portable` has the same items for other systems,
//! on the standard library; `portable/absent.rs` has the parts that those systems lack. `unix` and `windows` have files
//! and names.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(not(target_os = "linux"))]
pub use portable::*;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

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

/// Why [`Process::wait`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// Bytes, or an end of file, are there to be read, or the worker has ended.
    Ready {
        /// True if they may be on standard output or error.
        output: bool,
        /// True if the worker may have ended.
        death: bool,
    },
    /// The deadline has passed, or the worker has more memory than its limit.
    Deadline,
    /// The run is being stopped.
    Stopped,
}

/// The cause of the end of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// The process exited with this status.
    Exited(i32),
    /// The signal of this name ended the process.
    Signalled(String),
    /// It had to be killed.
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

/// Writes out what C code has buffered for standard output and error.
pub fn flush_c_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}
