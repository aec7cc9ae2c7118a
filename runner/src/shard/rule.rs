//! The rule that assigns each test its shard.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The rule that assigns each test its shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ShardRule {
    /// By a hash of the path of the test.
    Hash,
    /// By the durations of tests in the run with this id.
    Balanced(String),
}

impl fmt::Display for ShardRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash => f.write_str("hash"),
            Self::Balanced(run) => write!(f, "balanced by run {run}"),
        }
    }
}
