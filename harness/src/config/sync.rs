//! The key `sync` of a profile.

use serde::Deserialize;

/// The interval at which the event log is written to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Sync {
    /// At most once a second, by a thread of its own.
    #[default]
    #[serde(rename = "1s")]
    EachSecond,
    /// Before each test is handed to a worker.
    #[serde(rename = "each")]
    Each,
    /// When the operating system does.
    #[serde(rename = "off")]
    Off,
}
