//! Helpers that the suites share.

pub(crate) mod pattern;
