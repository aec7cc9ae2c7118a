//! A machine for tests: platforms that are alike, one without devices, devices that are the same.

use super::catalog::{DeviceInfo, DeviceType, PlatformInfo};

pub(super) fn platforms() -> Vec<PlatformInfo> {
    let (cpu, gpu) = (DeviceType::CPU, DeviceType::GPU);
    vec![
        platform(
            "Intel(R) OpenCL",
            "Intel(R) Corporation",
            &[
                ("Intel(R) Core(TM) i5-8250U", "Intel(R) Corporation", cpu),
                ("Intel(R) Core(TM) i7-8550U", "Intel(R) Corporation", cpu),
                ("AMD EPYC 2", "Intel(R) Corporation", cpu),
            ],
        ),
        platform("Clover", "Mesa", &[]),
        platform(
            "Portable Computing Language",
            "The pocl project",
            &[("pthread-AMD EPYC", "AuthenticAMD", cpu)],
        ),
        platform(
            "NVIDIA CUDA",
            "NVIDIA Corporation",
            &[
                ("NVIDIA H200", "NVIDIA Corporation", gpu),
                ("NVIDIA H200", "NVIDIA Corporation", gpu),
            ],
        ),
        platform(
            "Intel(R) OpenCL Graphics",
            "Intel(R) Corporation",
            &[("Intel(R) Arc(TM)=A770", "Intel(R) Corporation", gpu)],
        ),
    ]
}

fn platform(name: &str, vendor: &str, devices: &[(&str, &str, DeviceType)]) -> PlatformInfo {
    let device = |&(name, vendor, device_type): &(&str, &str, DeviceType)| DeviceInfo {
        name: name.to_owned(),
        vendor: vendor.to_owned(),
        device_type,
        ..DeviceInfo::default()
    };
    PlatformInfo {
        name: name.to_owned(),
        vendor: vendor.to_owned(),
        devices: devices.iter().map(device).collect(),
        ..PlatformInfo::default()
    }
}
