//! Choices in the configuration: the values of keys with few of them.

use serde::Deserialize;

/// The shard of each run with a profile (`shard`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProfileShard {
    /// The shard that environment variables name.
    Auto,
}

/// The interval at which the event log is written to the disk (`sync`).
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

/// The effect of a flaky result on the run (`flaky-result`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FlakyResult {
    /// The run fails.
    #[default]
    Fail,
    /// The run may succeed.
    Pass,
}

/// The effect of an unexpected pass on the run (`unexpected-pass`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UnexpectedPass {
    /// The run fails.
    #[default]
    Fail,
    /// The run may succeed.
    Report,
}
