//! A selected device as the event log has it: with its driver and its settings.

use std::path::Path;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Contexts, DeviceSettings, Leaks, Leftovers};
use crate::devices::TestDevice;
use crate::devices::icd::Driver;
use crate::devices::run_device::RunDevice;
use crate::serde_time::{nanoseconds, rfc3339};
use crate::system;

/// A selected device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceRecord {
    /// The device and its platform.
    pub device: RunDevice,
    /// Names the device on this host, whatever else is visible: `HOST/uuid`, else `HOST/pci`, else
    /// `HOST/id`.
    pub key: String,
    /// The library of the driver, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverFile>,
    /// The variable that hides the other GPUs of the driver from its workers, as `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_by: Option<String>,
    /// The settings of its tests.
    pub settings: SettingsRecord,
}

/// The library of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriverFile {
    /// The path, with links resolved.
    pub file: String,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change.
    #[serde(with = "rfc3339")]
    #[schemars(with = "String")]
    pub modified: SystemTime,
    /// The build id, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

/// The settings of the tests of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsRecord {
    /// The time limit of a test that has none of its own.
    #[serde(rename = "timeout_ns", with = "nanoseconds")]
    #[schemars(with = "u64")]
    pub timeout: Duration,
    /// Multiplies the time limits of tests. Absent if it is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_factor: Option<f64>,
    /// The number of tests that may run at the same time.
    pub slots: u64,
    /// The number of tests after which a new worker replaces the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_per_worker: Option<u64>,
    /// The number of times that a test that goes wrong is repeated. Absent if it is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The verdict on changes that a test leaves behind in its process.
    pub leftovers: Leftovers,
    /// The verdict on objects of the driver that a test leaves behind.
    #[serde(default)]
    pub leaks: Leaks,
    /// The contexts of tests.
    #[serde(default)]
    pub contexts: Contexts,
    /// The lines on standard error by which the driver reports an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
}

impl DeviceRecord {
    /// Describes a device that is run with these settings.
    pub fn new(device: &TestDevice, settings: &DeviceSettings) -> Self {
        Self {
            device: device.run.clone(),
            key: key(&system::host(), &device.run),
            driver: device
                .library
                .as_deref()
                .or(named_library(&device.driver))
                .and_then(DriverFile::new),
            visible_by: device.visible.as_ref().map(ToString::to_string),
            settings: SettingsRecord::new(settings),
        }
    }
}

/// The library that the `.icd` file names by its path.
fn named_library(driver: &Driver) -> Option<&Path> {
    match driver {
        Driver::Icd { library, .. } => Some(Path::new(library)).filter(|path| path.is_absolute()),
        Driver::Loader => None,
    }
}

fn key(host: &str, device: &RunDevice) -> String {
    let info = &device.info;
    let name = info.uuid.as_ref().or(info.pci_address.as_ref()).unwrap_or(&device.id);
    format!("{host}/{name}")
}

impl DriverFile {
    fn new(file: &Path) -> Option<Self> {
        let file = file.canonicalize().ok()?;
        let metadata = file.metadata().ok()?;
        Some(Self {
            size: metadata.len(),
            modified: metadata.modified().ok()?,
            build_id: system::build_id(&file),
            file: file.display().to_string(),
        })
    }
}

impl SettingsRecord {
    /// Describes these settings.
    pub fn new(settings: &DeviceSettings) -> Self {
        Self {
            timeout: settings.timeout,
            timeout_factor: Some(settings.timeout_factor.get()).filter(|factor| *factor != 1.0),
            slots: settings.slots as u64,
            tests_per_worker: settings.tests_per_worker.map(|tests| tests as u64),
            retries: Some(settings.retries).filter(|retries| *retries > 0),
            leftovers: settings.leftovers,
            leaks: settings.leaks,
            contexts: settings.contexts,
            diagnostics: settings.diagnostics.patterns().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::device;

    #[test]
    fn a_key_prefers_the_uuid_to_the_address_to_the_id() {
        let mut device = device("pocl-cpu", "PoCL");
        assert_eq!(key("bench", &device), "bench/pocl-cpu");
        device.info.pci_address = Some("0000:01:00.0".to_owned());
        assert_eq!(key("bench", &device), "bench/0000:01:00.0");
        device.info.uuid = Some("aa-bb".to_owned());
        assert_eq!(key("bench", &device), "bench/aa-bb");
    }
}
