//! Choices in the configuration: the values of keys with few of them, and the tables that they are in.

use std::num::NonZeroUsize;

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
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// At most once a second, by a thread of its own.
    #[default]
    #[serde(rename = "1s")]
    EachSecond,
    /// Before each test is handed to a worker.
    Each,
    /// When the operating system does.
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

/// The verdict on a change that a test leaves behind in its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Leftovers {
    /// The change is noted in the result.
    #[default]
    Note,
    /// A test that passed fails.
    Fail,
}

/// The verdict on references to contexts and memory objects that a test leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Leaks {
    /// They are noted in the result.
    #[default]
    Report,
    /// A test that passed fails.
    Fail,
    /// They are not counted.
    Off,
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

/// The contents of JUnit files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JunitOptions {
    /// The results whose outputs are there.
    pub output: JunitOutput,
    /// The longest output or message, in bytes.
    pub output_limit: usize,
    /// The reader of the files.
    pub flavor: JunitFlavor,
}

/// The results whose outputs are in JUnit files (`junit-output`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JunitOutput {
    /// Results with an attempt that went wrong.
    #[default]
    Failed,
    /// All results.
    All,
    /// No result.
    None,
}

/// The reader of JUnit files (`junit-flavor`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JunitFlavor {
    /// GitLab, Buildkite and others that read, or ignore, `file` and `line` of a test.
    #[default]
    Gitlab,
    /// The xUnit plugin of Jenkins, whose schema has neither.
    Jenkins,
}

impl Default for JunitOptions {
    fn default() -> Self {
        Self {
            output: JunitOutput::default(),
            output_limit: 64 << 10,
            flavor: JunitFlavor::default(),
        }
    }
}

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
