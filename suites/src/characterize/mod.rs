//! The library's answers about a device: compared with the driver's own, with PyOpenCL's recorded
//! answers, and by rules alone for devices that the machine does not have.

mod conflicts;
pub mod entry;
mod queries;
mod recorded;
mod requirements;
mod rules;
pub mod synthetic;

use clmatrix::Device;
use clmatrix_characterize::Facts;
use clmatrix_harness::Fixture;

/// The facts of the device under test.
struct Queried(Facts);

impl Fixture for Queried {
    fn of_device_under_test() -> Self {
        Self(Facts::query(&Device::of_device_under_test()).expect("the driver tells"))
    }
}
