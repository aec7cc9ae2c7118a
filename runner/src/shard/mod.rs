//! A shard: the tests of one of several runs, on all its devices.

mod engine;

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::xxh64;

pub use engine::Engine;

/// A part of the tests of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shard {
    /// The number of this part, from 1.
    pub index: u32,
    /// The number of parts.
    pub total: u32,
    /// The rule that assigns each test its part.
    pub rule: ShardRule,
}

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

impl Shard {
    /// Returns the part with a number from 0, by the hash of the tests; `None` if there is no such part.
    pub fn from_zero(index: u32, total: u32) -> Option<Self> {
        (index < total).then(|| Self { index: index + 1, total, rule: ShardRule::Hash })
    }

    /// Returns whether it has the test with this path by [`shard_by_hash`].
    pub fn has_by_hash(&self, path: &str) -> bool {
        shard_by_hash(path, self.total) == self.index
    }

    /// The name of the folder of its reports.
    pub fn folder(&self) -> String {
        format!("shard-{}-of-{}", self.index, self.total)
    }
}

/// Returns the number of the shard of the test with this path, from 1: 1 + XXH64 with the seed 0 modulo `total`.
pub fn shard_by_hash(path: &str, total: u32) -> u32 {
    1 + (xxh64(path.as_bytes(), 0) % u64::from(total)) as u32
}
