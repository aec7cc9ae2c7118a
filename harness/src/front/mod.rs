//! The ways in: [`libtest`] for `cargo test` and `cargo nextest`, [`command`] for the command
//! line `clmatrix`, [`everywhere`] for targets whose `main` is libtest's own.

pub mod command;
pub mod everywhere;
pub mod libtest;

use std::io::Write;

/// What a front can fail with, for a message on standard error.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The exit status of a run that could not be made.
pub(crate) const CANNOT_RUN: u8 = 2;

/// Says a line on standard error, where nobody may be listening any more.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What a target says of itself, filled in by `main!` and `command!`.
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
}
