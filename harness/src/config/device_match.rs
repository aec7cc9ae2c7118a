//! The devices that an override or an expectation is for.

use super::value::{IdPattern, NamePattern, PlatformName};
use crate::devices::run_device::HOST;
use crate::devices::run_device::RunDevice;

/// Patterns. A device matches if each given pattern does; without any, every device and the host
/// match.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceMatch {
    /// The device's slug, as in a test's id.
    pub(super) id: Option<IdPattern>,
    /// CL_PLATFORM_NAME and CL_PLATFORM_VENDOR, as in a selection.
    pub(super) platform: Option<PlatformName>,
    /// CL_DEVICE_NAME.
    pub(super) device: Option<NamePattern>,
    /// CL_DEVICE_VENDOR.
    pub(super) vendor: Option<NamePattern>,
    /// CL_DRIVER_VERSION.
    pub(super) driver_version: Option<NamePattern>,
}

impl DeviceMatch {
    /// Returns whether this device matches.
    pub(super) fn matches(&self, device: &RunDevice) -> bool {
        let info = &device.info;
        let names = [
            (&self.device, &info.name),
            (&self.vendor, &info.vendor),
            (&self.driver_version, &info.driver_version),
        ];
        self.id.as_ref().is_none_or(|id| id.matches(&device.id))
            && self.platform.as_ref().is_none_or(|platform| {
                platform.0.matches(&device.platform.name, &device.platform.vendor)
            })
            && names.iter().all(|(pattern, name)| pattern.as_ref().is_none_or(|p| p.matches(name)))
    }

    /// Returns whether tests without a device match: they have an id, but no driver.
    pub(super) fn matches_host(&self) -> bool {
        let of_a_driver = [&self.device, &self.vendor, &self.driver_version];
        self.platform.is_none()
            && of_a_driver.iter().all(|pattern| pattern.is_none())
            && self.id.as_ref().is_none_or(|id| id.matches(HOST))
    }
}
