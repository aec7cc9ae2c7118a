//! The library's answers about a device: compared with the driver's own, with PyOpenCL's recorded
//! answers, and by rules alone for devices that the machine does not have.

mod conflicts;
pub mod entry;
mod queries;
mod recorded;
mod requirements;
mod rules;
pub mod synthetic;

use clmatrix::select::{DeviceType, SvmCapabilities, Version};
use clmatrix::{Class, Device, Result};
use clmatrix_characterize::{CharacterizationWarning, Facts, LocalMemType, TrialBuild, table};
use clmatrix_harness::{Fixture, skip};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::on_device::OnDevice;
use crate::support::unanswered;

/// The device under test, with its facts.
struct Queried(Facts, Device);

impl Fixture for Queried {
    fn of_device_under_test() -> Self {
        let device = Device::of_device_under_test();
        Self(Facts::query(&device).expect("the driver tells"), device)
    }
}
