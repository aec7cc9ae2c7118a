//! Helpers that the suites share.

pub(crate) mod gate;
pub(crate) mod inverter;
pub(crate) mod logger;
pub(crate) mod mib;
pub(crate) mod on_device;
pub(crate) mod pattern;
pub(crate) mod property;
