//! A type of devices.

use std::fmt;

use clmatrix::select::DeviceType;
use serde::{Deserialize, Serialize};

/// A bit of CL_DEVICE_TYPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Another accelerator.
    Accelerator,
    /// A device with functions of its own, which CL_DEVICE_TYPE_ALL leaves out.
    Custom,
}

/// The word in the configuration, and in CL_DEVICE_TYPE of the conformance test suite.
impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl DeviceKind {
    /// Returns the first type of a device.
    pub(crate) fn first_of(types: DeviceType) -> Option<Self> {
        let kinds = [Self::Cpu, Self::Gpu, Self::Accelerator, Self::Custom];
        kinds.into_iter().find(|kind| kind.is_among(types))
    }

    /// Returns whether this is among the types of a device.
    pub(crate) fn is_among(self, types: DeviceType) -> bool {
        types.contains(match self {
            Self::Cpu => DeviceType::CPU,
            Self::Gpu => DeviceType::GPU,
            Self::Accelerator => DeviceType::ACCELERATOR,
            Self::Custom => DeviceType::CUSTOM,
        })
    }
}
