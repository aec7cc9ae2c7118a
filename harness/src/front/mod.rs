//! The ways in: [`libtest`] for `cargo test` and `cargo nextest`, [`command`] for the command
//! line `clmatrix`, [`everywhere`] for targets whose `main` is libtest's own.

pub mod command;
pub mod everywhere;
pub mod libtest;

use std::io::{self, Write};

use crate::config::EmbeddedConfig;
use crate::progress;
use crate::registry::Test;
use crate::setup::Setup;

/// What a front can fail with, for a message on standard error.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The exit status of a run that could not be made.
pub(crate) const CANNOT_RUN: u8 = 2;

/// Writes `text` to standard output, all of it or an error.
pub(crate) fn print(text: &str) -> Result<(), AnyError> {
    let mut out = io::stdout().lock();
    output_result(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Turns the result of writing to standard output into the result of the command.
///
/// A closed pipe is no error: its reader has read as much as it wants.
pub(crate) fn output_result(written: io::Result<()>) -> Result<(), AnyError> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}").into())
        }
        _ => Ok(()),
    }
}

/// Returns whether the terminal has neither colours nor a cursor that can be moved: TERM is `dumb`.
pub(crate) fn terminal_is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Writes a line to standard error, above the bars where there are some. An error is ignored: there is
/// nothing left to write to.
pub(crate) fn tell(line: &str) {
    progress::print_above(line);
}

/// Returns the `test` globs of the expectations that match none of `tests`, all tests of this target.
pub(crate) fn unmatched_expectations<'a>(
    setup: &'a Setup,
    tests: &[&'static Test],
    home: &str,
) -> Vec<&'a str> {
    let paths: Vec<String> = tests.iter().map(|test| test.path(home)).collect();
    setup.config.expectations.without_test(paths.iter().map(String::as_str))
}

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
