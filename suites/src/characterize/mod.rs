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
use clmatrix_harness::device;
use rstest::fixture;

/// Returns the facts of the device under test.
#[fixture]
fn facts(device: Device) -> Facts {
    Facts::query(&device).expect("the driver tells")
}
