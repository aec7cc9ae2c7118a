//! Devices that do not exist.

use clmatrix::select::DeviceInfo;
use clmatrix_runner::devices::icd::Driver;
use clmatrix_runner::devices::run_device::{PlatformName, RunDevice};
use clmatrix_runner::devices::{DeviceAddress, TestDevice};

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
            info: {
                let mut info = DeviceInfo::default();
                info.name = name.clone();
                info
            },
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
