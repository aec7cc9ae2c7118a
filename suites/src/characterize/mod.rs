//! What the library makes of a device: against the driver's own answers, against PyOpenCL's recorded
//! ones, and by rules alone for devices that are not here.

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

/// What the driver tells of the device under test.
#[fixture]
fn facts(device: Device) -> Facts {
    Facts::of(&device).expect("the driver tells")
}
