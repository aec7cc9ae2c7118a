//! The condition `type` of an override or an expectation.

use clmatrix::select::DeviceType;
use serde::Deserialize;

/// A bit of CL_DEVICE_TYPE.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DeviceKind {
    Cpu,
    Gpu,
    Accelerator,
    Custom,
}

impl DeviceKind {
    /// Returns whether this is among the types of a device.
    pub(super) fn is_among(self, types: DeviceType) -> bool {
        let bit = match self {
            Self::Cpu => 1,
            Self::Gpu => 2,
            Self::Accelerator => 3,
            Self::Custom => 4,
        };
        types.0 & (1 << bit) != 0
    }
}
