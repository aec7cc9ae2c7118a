//! The option `--characterize` of a run.

use clap::ValueEnum;

/// More properties of devices than those that cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Characterize {
    /// Also the properties that need the build of a kernel.
    Builds,
    /// Also measurements, before the first test.
    Measure,
}
