//! The key `per` of a group.

use serde::{Deserialize, Serialize};

/// The tests that a group counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GroupScope {
    /// The tests of each device are counted alone.
    #[default]
    Device,
    /// The tests of all devices are counted together.
    Host,
}
