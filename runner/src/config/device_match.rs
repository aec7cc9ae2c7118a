//! The conditions for the devices of an override or an expectation.

use std::collections::BTreeSet;
use std::fmt;

use super::device_kinds::DeviceKinds;
use super::value::{IdPattern, NamePattern, PlatformName};
use super::version_range::{Narrowed, VersionNumbers, VersionPattern, VersionRange};
use crate::devices::run_device::{HOST, RunDevice};

/// The key of the driver's version, the last condition that is checked.
pub(super) const DRIVER_VERSION: &str = "driver-version";

/// Conditions. A device matches if it meets each of them; without any, every device and the host match.
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
    pub(super) driver_version: Option<VersionPattern>,
    /// The version of OpenCL in CL_DEVICE_VERSION.
    pub(super) opencl: Option<VersionRange>,
    /// CL_DEVICE_TYPE.
    pub(super) device_type: Option<DeviceKinds>,
}

/// A condition that a device does not meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The key of the condition.
    pub key: &'static str,
    /// The device's value.
    pub found: String,
    /// False if the value has no numbers that can be compared with those of a range.
    pub is_comparable: bool,
}

/// A key, whether a device meets its condition, if that can be compared, and the device's own value.
type Condition<'a> = (&'static str, &'a dyn Fn() -> Option<bool>, &'a dyn fmt::Display);

impl DeviceMatch {
    /// Returns the first condition that this device does not meet, or with `None` tests without a device. One that
    /// cannot be compared comes last.
    pub(super) fn mismatch(&self, device: Option<&RunDevice>) -> Option<Mismatch> {
        let Some(RunDevice { id, platform, info }) = device else { return self.host_mismatch() };
        let opencl = VersionNumbers::new(vec![info.opencl.major.into(), info.opencl.minor.into()]);
        let version = |pattern: &VersionPattern| pattern.matches(&info.driver_version);
        // A glob costs its first comparison, so that the conditions behind an unmet one are left out.
        let conditions: [Condition<'_>; 7] = [
            ("id", &|| is_met(&self.id, |pattern| pattern.0.matches(id)), id),
            (
                "platform",
                &|| is_met(&self.platform, |known| known.matches(&platform.name, &platform.vendor)),
                &platform.name,
            ),
            ("device", &|| is_met(&self.device, |name| name.matches(&info.name)), &info.name),
            ("vendor", &|| is_met(&self.vendor, |name| name.matches(&info.vendor)), &info.vendor),
            ("opencl", &|| is_met(&self.opencl, |range| range.contains(&opencl)), &info.opencl),
            (
                "type",
                &|| is_met(&self.device_type, |kinds| kinds.are_among(info.device_type)),
                &info.device_type,
            ),
            (
                DRIVER_VERSION,
                &|| self.driver_version.as_ref().map_or(Some(true), version),
                &info.driver_version,
            ),
        ];
        let mut met = conditions.into_iter().map(|(key, is_met, found)| (key, is_met(), found));
        let unmet = met.find(|(_, is_met, _)| *is_met != Some(true));
        unmet.map(|(key, is_met, found)| Mismatch {
            key,
            found: found.to_string(),
            is_comparable: is_met.is_some(),
        })
    }

    /// Returns the last version at which the fault was seen, if it may extend to this version of the same
    /// driver, which only `platform` names.
    pub(super) fn last_seen(&self, version: &str) -> Option<VersionNumbers> {
        let pattern = self.driver_version.as_ref().filter(|_| self.platform.is_some())?;
        pattern.last_seen().filter(|_| pattern.allows(version) == Some(true))
    }

    /// Returns the versions without those at which tests have passed.
    pub(super) fn without(&self, passed: &BTreeSet<VersionNumbers>) -> Narrowed {
        let all = VersionPattern::default();
        self.driver_version.as_ref().unwrap_or(&all).without(passed)
    }

    /// Returns the first condition that tests without a device do not meet: they have an id, but no driver.
    fn host_mismatch(&self) -> Option<Mismatch> {
        let conditions = [
            ("id", self.id.as_ref().is_some_and(|id| !id.0.matches(HOST)), HOST),
            ("platform", self.platform.is_some(), "none"),
            ("device", self.device.is_some(), "none"),
            ("vendor", self.vendor.is_some(), "none"),
            ("opencl", self.opencl.is_some(), "none"),
            ("type", self.device_type.is_some(), "none"),
            (DRIVER_VERSION, self.driver_version.is_some(), "none"),
        ];
        let unmet = conditions.into_iter().find(|(_, is_unmet, _)| *is_unmet);
        unmet.map(|(key, _, found)| Mismatch { key, found: found.to_owned(), is_comparable: true })
    }
}

fn is_met<T>(condition: &Option<T>, meets: impl Fn(&T) -> bool) -> Option<bool> {
    Some(condition.as_ref().is_none_or(meets))
}
