//! A selected device in the event log: with its driver and its settings.

use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::config::DeviceSettings;
use crate::devices::{Driver, RunDevice, TestDevice};
use crate::serde_time::Rfc3339;
use crate::{os, system};

/// A selected device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRecord {
    /// The device and its platform.
    pub device: RunDevice,
    /// The name of the device on this host, for any visible devices: `HOST/uuid`, else `HOST/pci`, else
    /// `HOST/id`.
    pub key: String,
    /// The library of the driver, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverFile>,
    /// The variable that hides the other GPUs of the driver from its workers, as `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_by: Option<String>,
    /// The settings of its tests.
    pub settings: DeviceSettings,
}

/// The library of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverFile {
    /// The path, with links resolved.
    pub file: String,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change.
    #[serde(with = "Rfc3339")]
    pub modified: SystemTime,
    /// The build id, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

impl DeviceRecord {
    /// Describes a device that is run with these settings.
    pub fn new(device: &TestDevice, settings: &DeviceSettings) -> Self {
        let library = device.library.as_deref().or(named_library(&device.driver));
        Self {
            device: device.run.clone(),
            key: key(&system::host(), &device.run),
            driver: library.and_then(DriverFile::new),
            visible_by: device.visible.as_ref().map(ToString::to_string),
            settings: settings.clone(),
        }
    }
}

/// Returns the library that the `.icd` file names by its path.
fn named_library(driver: &Driver) -> Option<&Path> {
    let Driver::Icd { library, .. } = driver else { return None };
    Some(Path::new(library)).filter(|path| path.is_absolute())
}

fn key(host: &str, device: &RunDevice) -> String {
    let info = &device.info;
    let name = info.uuid.as_ref().or(info.pci_address.as_ref()).unwrap_or(&device.id);
    format!("{host}/{name}")
}

impl DriverFile {
    fn new(file: &Path) -> Option<Self> {
        let file = os::canonical(file).ok()?;
        let metadata = file.metadata().ok()?;
        Some(Self {
            size: metadata.len(),
            modified: metadata.modified().ok()?,
            build_id: system::build_id(&file),
            file: file.display().to_string(),
        })
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
