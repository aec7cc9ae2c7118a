//! The conditions for the devices of an override or an expectation.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize as _;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

use super::value::{IdPattern, NamePattern, PlatformName, Text, deserialize_from_text};
use super::version_range::{Narrowed, VersionNumbers, VersionPattern, VersionRange};
use crate::devices::DeviceKind;
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

impl DeviceMatch {
    /// Returns the first condition that this device does not meet, or with `None` tests without a device. One that
    /// cannot be compared comes last.
    pub(super) fn mismatch(&self, device: Option<&RunDevice>) -> Option<Mismatch> {
        let Some(RunDevice { id, platform, info }) = device else { return self.host_mismatch() };
        let opencl = VersionNumbers::new(vec![info.opencl.major.into(), info.opencl.minor.into()]);
        let named = |known: &PlatformName| known.matches(&platform.name, &platform.vendor);
        let (name, vendor, types) = (&info.name, &info.vendor, info.device_type);
        let is_of_type = |kinds: &DeviceKinds| kinds.0.iter().any(|kind| kind.is_among(types));
        let version = &info.driver_version;
        let seen = |seen: &VersionPattern| seen.matches(version);
        // A glob costs its first comparison, so that the conditions behind an unmet one are left out.
        unmet("id", id, &self.id, |glob| glob.0.matches(id))
            .or_else(|| unmet("platform", &platform.name, &self.platform, named))
            .or_else(|| unmet("device", name, &self.device, |part| part.matches(name)))
            .or_else(|| unmet("vendor", vendor, &self.vendor, |part| part.matches(vendor)))
            .or_else(|| unmet("opencl", info.opencl, &self.opencl, |range| range.contains(&opencl)))
            .or_else(|| unmet("type", types, &self.device_type, is_of_type))
            .or_else(|| unmet(DRIVER_VERSION, version, &self.driver_version, seen))
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
        unmet("id", HOST, &self.id, |glob| glob.0.matches(HOST))
            .or_else(|| unmet("platform", "none", &self.platform, |_| false))
            .or_else(|| unmet("device", "none", &self.device, |_| false))
            .or_else(|| unmet("vendor", "none", &self.vendor, |_| false))
            .or_else(|| unmet("opencl", "none", &self.opencl, |_| false))
            .or_else(|| unmet("type", "none", &self.device_type, |_| false))
            .or_else(|| unmet(DRIVER_VERSION, "none", &self.driver_version, |_| false))
    }
}

/// Returns the mismatch with the value that was `found`, unless it meets the condition, if there is one. Without an
/// answer, it cannot be compared.
fn unmet<T, Answer: Into<Option<bool>>>(
    key: &'static str,
    found: impl fmt::Display,
    condition: &Option<T>,
    meets: impl Fn(&T) -> Answer,
) -> Option<Mismatch> {
    let is_met: Option<bool> = meets(condition.as_ref()?).into();
    let is_comparable = is_met.is_some();
    (is_met != Some(true)).then(|| Mismatch { key, found: found.to_string(), is_comparable })
}

/// Types of which a device has at least one.
#[derive(Clone, Debug)]
pub(super) struct DeviceKinds(Vec<DeviceKind>);

impl Text for DeviceKinds {
    const EXPECTED: &str =
        "a type of devices, or several: `cpu`, `gpu`, `accelerator`, `custom`, `{cpu,accelerator}`";

    fn parse(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let names = inner.map_or(vec![text], |inner| inner.split(',').map(str::trim).collect());
        let kinds = names.into_iter().map(|name| DeviceKind::deserialize(name.into_deserializer()));
        let kinds: Result<_, Error> = kinds.collect();
        kinds.map(Self).map_err(|error| error.to_string())
    }
}

deserialize_from_text!(DeviceKinds);
