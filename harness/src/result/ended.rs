//! The end of a test.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::findings::Findings;
use crate::serde_time::Nanoseconds;
use crate::verdict::Outcome;

/// The end of one execution of a test, as its process tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Wall time of the test itself.
    #[serde(rename = "duration_ns", with = "Nanoseconds")]
    pub duration: Duration,
    /// The records and leftovers of the test.
    #[serde(flatten)]
    pub findings: Findings,
}
