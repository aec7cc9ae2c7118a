//! Helpers that the suites share.

pub(crate) mod mib;
pub(crate) mod pattern;
