//! The reason why a test was not run.

use std::time::Duration;

use humantime::format_duration;
use serde::{Deserialize, Serialize};

use super::spent_budget::SpentBudget;
use crate::devices::selection::NO_DEVICE_FOUND;
use crate::serde_time::Nanoseconds;
use crate::text::counted;

/// The reason why a test was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NotRunReason {
    /// The run was stopped.
    #[error("{by}")]
    Stopped {
        /// The cause.
        by: StopCause,
    },
    /// The device was lost.
    #[error("device lost: {error}")]
    DeviceLost {
        /// The failure of the last probe.
        error: String,
    },
    /// The device had cost too much time without a result.
    #[error("{spent}")]
    HangBudget {
        /// The time, and its use.
        spent: Box<SpentBudget>,
    },
    /// With `--until-fail`, a result on the device was unexpected.
    #[error("--until-fail: a result on this device was unexpected")]
    UntilFail,
    /// The machine has no device.
    #[error("{}", NO_DEVICE_FOUND)]
    NoDevice,
    /// No worker could be started.
    #[error("no worker could be started: {error}")]
    NoWorker {
        /// The reason.
        error: String,
    },
    /// The workers of the device no longer started.
    #[error("the device was given up: its workers no longer start")]
    GivenUp,
    /// Another program did not run the test.
    #[error("{error}")]
    Program {
        /// The reason.
        error: String,
    },
    /// The run was killed each time that the test ran.
    #[error("the run was killed three times while it ran")]
    Killed,
    /// The test ran below a debugger, which has the result.
    #[error("debugged")]
    Debugged,
    /// The log has no result of the test.
    #[error("no result was recorded")]
    NoResult,
}

/// The cause of the stop of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum StopCause {
    /// Ctrl-C, or a signal of another process.
    #[error("the run was stopped")]
    Signal,
    /// The deadline of the run.
    #[error("the deadline of {} has passed", format_duration(*.limit))]
    Deadline {
        /// The time that the run had.
        #[serde(rename = "limit_ns", with = "Nanoseconds")]
        limit: Duration,
    },
    /// The option `--max-fail`.
    #[error("--max-fail: {}", counted(*.unexpected as usize, "unexpected result"))]
    MaxFail {
        /// The number of unexpected results.
        unexpected: u64,
    },
}
