//! Devices that do not exist.

use clmatrix::select::DeviceInfo;
use clmatrix_harness::private::devices::TestDevice;
use clmatrix_harness::private::devices::device_address::DeviceAddress;
use clmatrix_harness::private::devices::icd::Driver;
use clmatrix_harness::private::devices::run_device::{PlatformName, RunDevice};

pub fn simulated_device(number: usize) -> TestDevice {
    let name = format!("Simulated {number}");
    TestDevice {
        library: None,
        run: RunDevice {
            id: format!("simulated-device-{number}"),
            platform: PlatformName {
                name: String::new(),
                vendor: String::new(),
                version: String::new(),
            },
            info: DeviceInfo { name: name.clone(), ..DeviceInfo::default() },
        },
        driver: Driver::Loader,
        address: DeviceAddress {
            platform: 0,
            device: number,
            of_type: None,
            name,
            uuid: None,
            pci_address: None,
        },
        visible: None,
    }
}
