//! The key `per` of a group.

use serde::{Deserialize, Serialize};

/// The tests that a group counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GroupScope {
    /// Those of each device by themselves.
    #[default]
    Device,
    /// Those of all devices.
    Host,
}
