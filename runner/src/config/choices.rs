//! Choices in the configuration: the values of keys with few of them.

use clap::ValueEnum;
use clmatrix::select::DeviceType;
use serde::{Deserialize, Serialize};

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

/// The contexts that `ctx_factory` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Contexts {
    /// New contexts.
    #[default]
    Fresh,
    /// Contexts that the worker keeps, if no test uses them.
    Reuse,
}

impl Contexts {
    /// Returns the contexts for tests on a device of this type, without a configuration. A new context takes
    /// microseconds on a CPU and some 0.1 s on a GPU.
    pub(super) fn usual_on(device_type: DeviceType) -> Self {
        if device_type.contains(DeviceType::CPU) { Self::Fresh } else { Self::Reuse }
    }
}
