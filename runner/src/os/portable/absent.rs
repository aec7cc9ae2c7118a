//! The parts of `linux` that other systems lack: each does nothing, or returns nothing.

use std::path::PathBuf;

use super::Connection;
use crate::os::{LastWord, LeftBehind};

/// A crash that a worker reports before it ends. No worker reports one here: the runner sees the end of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash;

impl LastWord {
    /// Returns nothing.
    pub fn parse(_line: &str) -> Option<Self> {
        None
    }
}

/// Does nothing.
pub fn report_crashes(_connection: &Connection) {}

/// Does nothing.
pub fn report_crashes_first() {}

/// Does nothing.
pub fn report_exits() {}

/// Does nothing.
pub fn set_running_test(_is_running: bool) {}

/// The state of this process, which is not checked here.
pub struct Baseline;

impl Baseline {
    /// Returns nothing.
    pub fn now() -> Self {
        Self
    }

    /// Does nothing.
    pub fn keep_children(&mut self) {}

    /// Returns no changes.
    pub fn restore(&mut self) -> LeftBehind {
        LeftBehind::default()
    }
}

/// A limit of the address space, which is not possible here.
pub struct AddressSpaceEnd(());

impl AddressSpaceEnd {
    /// Returns `None`.
    pub fn after(_bytes: u64) -> Option<Self> {
        None
    }

    /// Does nothing.
    pub(crate) fn lift() {}
}

/// Returns `None`: no sanitizer is detected.
pub fn finds_leaks() -> Option<bool> {
    None
}

/// Returns `None`: the memory of a process is not measured.
pub fn resident_memory() -> Option<u64> {
    None
}

/// Does nothing.
pub fn trim_heap() {}

/// Does nothing.
pub fn write_profile() {}

/// Returns `None`: the library of a platform is not known.
pub fn library_of_platform(_platform: *mut std::ffi::c_void) -> Option<PathBuf> {
    None
}

/// Returns `None`: no driver is downloaded here.
#[cfg(feature = "provision")]
pub fn processor() -> Option<String> {
    None
}

/// True if this machine runs the wheels with OpenCL drivers, which are for Linux.
#[cfg(feature = "provision")]
pub const RUNS_WHEELS: bool = false;

/// True if the memory of workers is limited.
pub const LIMITS_MEMORY: bool = false;
