//! A shard: the part of the tests that one of several runs has, on all its devices.

mod rule;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

pub use rule::ShardRule;

/// A part of the tests of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shard {
    /// The number of this part, from 1.
    pub index: u32,
    /// The number of parts.
    pub total: u32,
    /// The rule by which each test has its part.
    pub rule: ShardRule,
}

impl Shard {
    /// The part with a number from 0, by the hash of the tests; `None` if there is no such part.
    pub fn from_zero(index: u32, total: NonZeroU32) -> Option<Self> {
        let total = total.get();
        (index < total).then_some(Self { index: index + 1, total, rule: ShardRule::Hash })
    }

    /// The name of the folder of its reports.
    pub fn folder(&self) -> String {
        format!("shard-{}-of-{}", self.index, self.total)
    }
}
