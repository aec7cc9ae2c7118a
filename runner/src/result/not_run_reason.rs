//! The reason why a test was not run.

use std::fmt;
use std::time::Duration;

use humantime::format_duration;
use serde::{Deserialize, Serialize};

use super::spent_budget::SpentBudget;
use crate::serde_time::Nanoseconds;
use crate::text::counted;

/// The reason why a test was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NotRunReason {
    /// The run was stopped.
    Stopped {
        /// The cause.
        by: StopCause,
    },
    /// The device was lost.
    DeviceLost {
        /// The failure of the last probe.
        error: String,
    },
    /// The device had cost too much time without a result.
    HangBudget {
        /// The time, and its use.
        spent: Box<SpentBudget>,
    },
    /// With `--until-fail`, a result on the device was unexpected.
    UntilFail,
    /// The machine has no device.
    NoDevice,
    /// No worker could be started.
    NoWorker {
        /// The reason.
        error: String,
    },
    /// The workers of the device no longer started.
    GivenUp,
    /// Another program did not run the test.
    Program {
        /// The reason.
        error: String,
    },
    /// The run was killed each time that the test ran.
    Killed,
    /// The test ran below a debugger, which has the result.
    Debugged,
    /// The log has no result of the test.
    NoResult,
}

/// The cause of the stop of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum StopCause {
    /// Ctrl-C, or a signal of another process.
    Signal,
    /// The deadline of the run.
    Deadline {
        /// The time that the run had.
        #[serde(rename = "limit_ns", with = "Nanoseconds")]
        limit: Duration,
    },
    /// The option `--max-fail`.
    MaxFail {
        /// The number of unexpected results.
        unexpected: u64,
    },
}

impl fmt::Display for NotRunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped { by } => by.fmt(f),
            Self::DeviceLost { error } => write!(f, "device lost: {error}"),
            Self::HangBudget { spent } => spent.fmt(f),
            Self::UntilFail => f.write_str("--until-fail: a result on this device was unexpected"),
            Self::NoDevice => f.write_str(crate::devices::selection::NO_DEVICE_FOUND),
            Self::NoWorker { error } => write!(f, "no worker could be started: {error}"),
            Self::GivenUp => f.write_str("the device was given up: its workers no longer start"),
            Self::Program { error } => f.write_str(error),
            Self::Killed => f.write_str("the run was killed three times while it ran"),
            Self::Debugged => f.write_str("debugged"),
            Self::NoResult => f.write_str("no result was recorded"),
        }
    }
}

impl fmt::Display for StopCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal => f.write_str("the run was stopped"),
            Self::Deadline { limit } => {
                write!(f, "the deadline of {} has passed", format_duration(*limit))
            }
            Self::MaxFail { unexpected } => {
                write!(f, "--max-fail: {}", counted(*unexpected as usize, "unexpected result"))
            }
        }
    }
}
