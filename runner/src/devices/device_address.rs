//! The position of a device for a worker.

use clmatrix::select::DeviceInfo;
use serde::{Deserialize, Serialize};

use super::device_kind::DeviceKind;

/// The position of a device in a process that sees only its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceAddress {
    /// Position of the platform among those of the driver.
    pub platform: usize,
    /// Position of the device in its platform.
    pub device: usize,
    /// The first type of the device, and its position among the devices of its platform that have this type.
    pub of_type: Option<(DeviceKind, usize)>,
    /// CL_DEVICE_NAME, to notice another device at this position.
    pub name: String,
    /// `DeviceInfo::uuid`, for the same reason.
    pub uuid: Option<String>,
    /// `DeviceInfo::pci_address`, for the same reason.
    pub pci_address: Option<String>,
}

impl DeviceAddress {
    /// Returns whether the device at this position is the expected one.
    pub fn is_of(&self, device: &DeviceInfo) -> bool {
        self.name == device.name
            && self.uuid == device.uuid
            && self.pci_address == device.pci_address
    }
}
