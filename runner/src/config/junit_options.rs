//! The keys of a profile about JUnit files.

use serde::{Deserialize, Serialize};

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
