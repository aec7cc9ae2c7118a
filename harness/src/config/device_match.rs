//! Which devices an override or an expectation is for.

use super::value::DevicePattern;
use crate::events::RunDevice;
use crate::plan::HOST;

/// Globs of which all that are given must match; without any it is every device, and the host.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceMatch {
    /// The device's slug, as in a test's id.
    pub(super) id: Option<DevicePattern>,
    /// CL_PLATFORM_NAME.
    pub(super) platform: Option<DevicePattern>,
    /// CL_DEVICE_NAME.
    pub(super) device: Option<DevicePattern>,
    /// CL_DEVICE_VENDOR.
    pub(super) vendor: Option<DevicePattern>,
    /// CL_DRIVER_VERSION.
    pub(super) driver_version: Option<DevicePattern>,
}

impl DeviceMatch {
    /// Whether it is for this device.
    pub(super) fn matches(&self, device: &RunDevice) -> bool {
        let info = &device.info;
        [
            (&self.id, &device.id),
            (&self.platform, &device.platform.name),
            (&self.device, &info.name),
            (&self.vendor, &info.vendor),
            (&self.driver_version, &info.driver_version),
        ]
        .iter()
        .all(|(pattern, name)| pattern.as_ref().is_none_or(|pattern| pattern.matches(name)))
    }

    /// Whether it is for tests that need no device: they have an id, but no driver.
    pub(super) fn matches_host(&self) -> bool {
        let of_a_driver = [&self.platform, &self.device, &self.vendor, &self.driver_version];
        of_a_driver.iter().all(|pattern| pattern.is_none())
            && self.id.as_ref().is_none_or(|id| id.matches(HOST))
    }
}
