//! The key `flaky-result` of a profile.

use serde::Deserialize;

/// The effect of a flaky result on the run.
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
