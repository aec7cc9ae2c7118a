//! The key `junit-output` of a profile.

use serde::{Deserialize, Serialize};

/// The results whose outputs are in JUnit files.
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
