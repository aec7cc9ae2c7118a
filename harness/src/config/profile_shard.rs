//! The key `shard` of a profile.

use serde::Deserialize;

/// The shard of each run with a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProfileShard {
    /// The shard that environment variables name.
    Auto,
}
