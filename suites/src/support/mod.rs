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

/// Returns whether backtraces name functions of this executable: one that is stripped has no names.
#[inline(never)]
pub(crate) fn has_symbols() -> bool {
    std::backtrace::Backtrace::force_capture().to_string().contains("has_symbols")
}
