//! A shard: the part of the tests that one of several runs has, on all its devices.

mod rule;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use rule::ShardRule;

/// A part of the tests of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// The number of this part, from 1.
    pub index: u32,
    /// The number of parts.
    pub total: u32,
    /// The rule by which each test has its part.
    pub rule: ShardRule,
}
