//! Tests that record their device, and the number of devices that their worker sees.

use clmatrix::Device;
use clmatrix::select::platforms;
use clmatrix_harness::{device, record_property};
use rstest::rstest;

#[rstest]
#[clmatrix_harness::test]
fn sees(device: Device, #[values(1, 2)] _slot: u32) {
    let platforms = platforms().expect("the platform of the device");
    let mut devices =
        platforms.iter().flat_map(|platform| platform.devices.iter().zip(&platform.info.devices));
    record_property("devices", devices.clone().count());
    let (_, info) =
        devices.find(|(found, _)| found.as_raw() == device.as_raw()).expect("its device");
    record_property("uuid", info.uuid.clone().unwrap_or_default());
}
