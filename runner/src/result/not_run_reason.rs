//! The reason why a test was not run.

use std::fmt;
use std::time::Duration;

use humantime::format_duration;
use serde::{Deserialize, Serialize};

use super::test_id::TestId;
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

/// A hang budget that is spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpentBudget {
    /// The key `hang-budget`.
    #[serde(rename = "limit_ns", with = "Nanoseconds")]
    pub limit: Duration,
    /// The tests that took the most time, by their ids, with their times in nanoseconds.
    pub tests: Vec<(TestId, u64)>,
    /// The number of other tests that did not end.
    pub others: usize,
    /// The time that no test has taken.
    #[serde(rename = "rest_ns", with = "Nanoseconds")]
    pub rest: Duration,
}

impl fmt::Display for SpentBudget {
    /// Writes the tests that took the most time, and the keys that help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{:.0} s", time.as_secs_f64());
        let named = self.tests.iter().map(|(test, time)| (test, Duration::from_nanos(*time)));
        let named = named.map(|(test, time)| format!("{test} ({})", seconds(time)));
        let mut causes: Vec<_> = named.collect();
        if self.others > 0 {
            causes.push(format!("more tests: {}", self.others));
        }
        if !self.rest.is_zero() {
            let rest = seconds(self.rest);
            causes.push(format!("probes, and workers that do not start or end ({rest})"));
        }
        let help = match self.tests.is_empty() {
            true => "`hang-budget` may be larger",
            false => {
                "an expectation with a short `timeout` helps (`expect update` writes it), or a larger `hang-budget`"
            }
        };
        let limit = format_duration(self.limit);
        write!(f, "hang budget of {limit} spent ({}): {help}", causes.join(", "))
    }
}
