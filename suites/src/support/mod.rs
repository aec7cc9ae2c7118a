//! Helpers that the suites share.

pub(crate) mod excuse;
pub(crate) mod gate;
pub(crate) mod inverter;
pub(crate) mod logger;
pub(crate) mod mib;
pub(crate) mod on_device;
pub(crate) mod parts;
pub(crate) mod pattern;
pub(crate) mod property;
pub(crate) mod task;

use clmatrix::Error;
use clmatrix::opencl3::error_codes::ClError;

/// Converts an error of opencl3's queries of devices and platforms, which does not name the call.
pub(crate) fn unanswered(error: ClError) -> Error {
    Error::from_call("clGetDeviceInfo", error.0)
}

/// Returns whether backtraces name functions of this executable: one that is stripped has no names.
#[inline(never)]
pub(crate) fn has_symbols() -> bool {
    std::backtrace::Backtrace::force_capture().to_string().contains("has_symbols")
}
