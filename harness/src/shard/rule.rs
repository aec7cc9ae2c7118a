//! The rule by which each test has its shard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule by which each test has its shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShardRule {
    /// By a hash of the path of the test.
    Hash,
    /// By the durations of tests in the run with this id.
    Balanced(String),
}
