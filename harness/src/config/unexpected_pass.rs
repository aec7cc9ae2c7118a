//! The key `unexpected-pass` of a profile.

use serde::Deserialize;

/// The effect of an unexpected pass on the run.
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
