//! The key `contexts` of a profile and an override.

use clap::ValueEnum;
use clmatrix::select::DeviceType;
use serde::{Deserialize, Serialize};

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
