//! The key `junit-flavor` of a profile.

use serde::{Deserialize, Serialize};

/// The reader of JUnit files.
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
