//! A group of tests of which only some run at the same time.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// A group of tests of which only some run at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The name.
    pub name: String,
    /// The most of its tests that run at the same time.
    pub max: usize,
    /// The tests that are counted together.
    pub per: GroupScope,
}

/// The tests that a group counts together (`per`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GroupScope {
    /// The tests of each device are counted alone.
    #[default]
    Device,
    /// The tests of all devices are counted together.
    Host,
}

/// `[group.NAME]`, as written.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct GroupKeys {
    /// The most of its tests that run at the same time.
    max: Option<NonZeroUsize>,
    /// The tests that are counted together.
    #[serde(default)]
    per: GroupScope,
}

impl GroupKeys {
    /// Returns the group with this name.
    pub(super) fn named(self, name: &str) -> Group {
        Group { name: name.to_owned(), max: self.max.map_or(1, NonZeroUsize::get), per: self.per }
    }
}
