//! The devices of this machine, found without trusting any driver, and those under test.
//!
//! [`icd`] finds the drivers, a worker enumerates each in a process of its own, [`diagnose`] finds the reason of a
//! driver without a platform, [`visible`] hides the other GPUs from a worker, [`loader_functions`] finds functions
//! that the loader lacks, [`ids`] names the devices, [`cache`] stores them for the many short processes of `cargo
//! nextest`, and [`selection`] selects.

pub mod cache;
pub mod diagnose;
pub mod failure;
pub mod icd;
pub mod ids;
pub mod loader_functions;
pub mod run_device;
pub mod selection;
pub mod visible;

use std::fmt;
use std::path::PathBuf;

use clmatrix::select::{DeviceInfo, DeviceType, PlatformInfo};
use serde::{Deserialize, Serialize};

use crate::variable;
pub use failure::FailedDriver;
pub use icd::Driver;
use run_device::PlatformName;
pub use run_device::RunDevice;
use visible::Visible;

/// The platforms and drivers of this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The platforms in the order in which the loader and PyOpenCL list them.
    pub platforms: Vec<FoundPlatform>,
    /// Drivers that show no platform.
    pub failed: Vec<FailedDriver>,
}

/// A platform, and its driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundPlatform {
    /// Its name, vendor, version and devices.
    pub info: PlatformInfo,
    /// The ids of its devices.
    pub ids: Vec<String>,
    /// The driver to load.
    pub driver: Driver,
    /// Its position among the platforms of that driver.
    pub position: usize,
    /// The file of the driver's code, if known.
    pub library: Option<PathBuf>,
}

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

/// A device under test, for reports and for its worker.
#[derive(Clone, Debug)]
pub struct TestDevice {
    /// The device as reports show it.
    pub run: RunDevice,
    /// The one driver that its worker sees.
    pub driver: Driver,
    /// The position of the device there.
    pub address: DeviceAddress,
    /// The variable that hides the other GPUs of the driver from its worker.
    pub visible: Option<Visible>,
    /// The file of the driver's code, if known.
    pub library: Option<PathBuf>,
}

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

impl Machine {
    /// Returns the ids of all devices, with the PCI addresses that are known.
    pub(crate) fn ids_with_addresses(&self) -> Vec<(&str, Option<&str>)> {
        let devices = self.platforms.iter().flat_map(|platform| {
            let addresses = platform.info.devices.iter().map(|info| info.pci_address.as_deref());
            platform.ids.iter().map(String::as_str).zip(addresses)
        });
        devices.collect()
    }

    /// Returns the device at these positions.
    pub fn device(&self, platform: usize, device: usize) -> TestDevice {
        let found = &self.platforms[platform];
        let info = found.info.devices[device].clone();
        TestDevice {
            driver: found.driver.clone(),
            library: found.library.clone(),
            address: found.address(device),
            visible: Visible::new(self, (platform, device), variable::lossy),
            run: RunDevice { id: found.ids[device].clone(), platform: found.name(), info },
        }
    }

    /// Returns the positions of all devices, platform by platform.
    pub fn positions(&self) -> impl Iterator<Item = (usize, usize)> {
        let platforms = self.platforms.iter().enumerate();
        platforms.flat_map(|(p, platform)| (0..platform.info.devices.len()).map(move |d| (p, d)))
    }
}

impl DeviceAddress {
    /// Returns whether the device at this position is the expected one.
    pub fn is_of(&self, device: &DeviceInfo) -> bool {
        self.name == device.name
            && self.uuid == device.uuid
            && self.pci_address == device.pci_address
    }
}

impl FoundPlatform {
    /// Returns the strings that name the platform.
    pub fn name(&self) -> PlatformName {
        let PlatformInfo { name, vendor, version, .. } = &self.info;
        let [name, vendor, version] = [name, vendor, version].map(String::clone);
        PlatformName { name, vendor, version }
    }

    /// Returns the address of a device in a process that sees all devices of the driver.
    fn address(&self, device: usize) -> DeviceAddress {
        let info = &self.info.devices[device];
        let before = &self.info.devices[..device];
        let number =
            |kind: DeviceKind| before.iter().filter(|info| kind.is_among(info.device_type)).count();
        DeviceAddress {
            platform: self.position,
            device,
            of_type: DeviceKind::first_of(info.device_type).map(|kind| (kind, number(kind))),
            name: info.name.clone(),
            uuid: info.uuid.clone(),
            pci_address: info.pci_address.clone(),
        }
    }
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
