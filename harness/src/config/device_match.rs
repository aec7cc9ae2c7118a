//! Which devices an override or an expectation is for.

use super::value::{IdPattern, NamePattern};
use crate::events::RunDevice;
use crate::plan::HOST;

/// Patterns of which all that are given must match; without any it is every device, and the host.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceMatch {
    /// The device's slug, as in a test's id.
    pub(super) id: Option<IdPattern>,
    /// CL_PLATFORM_NAME.
    pub(super) platform: Option<NamePattern>,
    /// CL_DEVICE_NAME.
    pub(super) device: Option<NamePattern>,
    /// CL_DEVICE_VENDOR.
    pub(super) vendor: Option<NamePattern>,
    /// CL_DRIVER_VERSION.
    pub(super) driver_version: Option<NamePattern>,
}

impl DeviceMatch {
    /// Whether it is for this device.
    pub(super) fn matches(&self, device: &RunDevice) -> bool {
        let info = &device.info;
        let names = [
            (&self.platform, &device.platform.name),
            (&self.device, &info.name),
            (&self.vendor, &info.vendor),
            (&self.driver_version, &info.driver_version),
        ];
        self.id.as_ref().is_none_or(|id| id.matches(&device.id))
            && names.iter().all(|(pattern, name)| pattern.as_ref().is_none_or(|p| p.matches(name)))
    }

    /// Whether it is for tests that need no device: they have an id, but no driver.
    pub(super) fn matches_host(&self) -> bool {
        let of_a_driver = [&self.platform, &self.device, &self.vendor, &self.driver_version];
        of_a_driver.iter().all(|pattern| pattern.is_none())
            && self.id.as_ref().is_none_or(|id| id.matches(HOST))
    }
}
