//! The executable that runs tests, and its exit statuses.

use crate::config::EmbeddedConfig;

/// The exit status of a run whose results are all as expected.
pub const SUCCESS: u8 = 0;

/// The exit status of a run with an unexpected result.
pub const UNEXPECTED: u8 = 1;

/// The exit status of a run that could not be made.
pub const CANNOT_RUN: u8 = 2;

/// The exit status of a run in which nothing was unexpected, but not all tests were run.
pub const NOT_ALL_RUN: u8 = 3;

/// The description of a target, filled in by `main!` and `command!`.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The crate whose name is left out of the tests' ids.
    pub home: &'static str,
    /// The package.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The binary's or test target's name.
    pub name: &'static str,
    /// The configuration in the executable.
    pub config: Option<EmbeddedConfig>,
}
