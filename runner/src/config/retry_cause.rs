//! The key `on` of `retries`.

use serde::{Deserialize, Serialize};

use crate::verdict::Outcome;

/// An end of a test after which it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RetryCause {
    /// An assertion failed, or the test returned an error.
    Fail,
    /// The process ended.
    Crash,
    /// The time limit was reached.
    Timeout,
}

impl RetryCause {
    /// Returns whether this outcome has this cause.
    pub(super) fn is_of(self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Failed { .. } => self == Self::Fail,
            Outcome::Crashed { .. } => self == Self::Crash,
            Outcome::TimedOut { .. } => self == Self::Timeout,
            Outcome::Passed
            | Outcome::Skipped { .. }
            | Outcome::Ignored { .. }
            | Outcome::NotRun { .. } => false,
        }
    }
}
