//! Queries the drivers that this process sees for their platforms and devices.
//!
//! A query that fails leaves out its own answer only: old drivers do not know every name, and one broken platform
//! must not hide the others.

use crate::device::Device;
use cl3::device as cl;

use super::catalog::{DeviceInfo, DeviceType, PlatformInfo, SvmCapabilities, Version};
use crate::error::Result;
use crate::platform::{ONE_THREAD, Platform};

/// A platform, its devices, and their descriptions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundPlatform {
    /// The descriptions of the platform and its devices; `info.devices` is in the order of `devices`.
    pub info: PlatformInfo,
    /// The platform itself.
    pub platform: Platform,
    /// The devices themselves.
    pub devices: Vec<Device>,
}

/// Returns the platforms that the loader shows this process, in its order, with all their devices
/// (`clGetPlatformIDs`, `clGetDeviceIDs` with CL_DEVICE_TYPE_ALL).
///
/// A platform may have no devices. Never empty.
///
/// # Errors
/// Returns an error of class [`NoRuntime`](crate::Class::NoRuntime) where there is no loader or no driver.
pub fn platforms() -> Result<Vec<FoundPlatform>> {
    let _guard = ONE_THREAD.lock();
    Ok(Platform::all()?.into_iter().map(describe_platform).collect())
}

fn describe_platform(platform: Platform) -> FoundPlatform {
    let name = platform.name();
    let devices = platform.devices().unwrap_or_else(|error| {
        log::warn!("platform {name:?}: {error}");
        Vec::new()
    });
    let info = PlatformInfo {
        vendor: platform.vendor(),
        version: platform.version(),
        devices: devices.iter().map(Device::info).collect(),
        name,
    };
    FoundPlatform { info, platform, devices }
}

impl Device {
    /// Returns the driver's description of the device: its type, versions, sizes of memory, extensions, UUID and
    /// PCI address.
    pub fn info(&self) -> DeviceInfo {
        let query = self.query();
        let number = |name| query.value::<u64>(name).unwrap_or_default();
        let version = query.text(cl::CL_DEVICE_VERSION);
        let opencl = Version::parse(&version).unwrap_or_default();
        let mut info = DeviceInfo {
            name: query.text(cl::CL_DEVICE_NAME),
            vendor: query.text(cl::CL_DEVICE_VENDOR),
            device_type: DeviceType::from_bits_retain(number(cl::CL_DEVICE_TYPE)),
            driver_version: query.text(cl::CL_DRIVER_VERSION),
            version,
            opencl,
            extensions: query.extensions(),
            images: query.flag(cl::CL_DEVICE_IMAGE_SUPPORT),
            pipes: match opencl.major {
                2 => true,
                major => major > 2 && query.flag(cl::CL_DEVICE_PIPE_SUPPORT),
            },
            global_mem_size: number(cl::CL_DEVICE_GLOBAL_MEM_SIZE),
            max_mem_alloc_size: number(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE),
            local_mem_size: number(cl::CL_DEVICE_LOCAL_MEM_SIZE),
            ..DeviceInfo::default()
        };
        // The next queries exist only in this version, or with an extension.
        if opencl.major >= 2 {
            info.svm = SvmCapabilities::from_bits_retain(number(cl::CL_DEVICE_SVM_CAPABILITIES));
        }
        info.fp64 = query.float(&info.extensions, cl::CL_DEVICE_DOUBLE_FP_CONFIG, "cl_khr_fp64");
        info.fp16 = info.has_extension("cl_khr_fp16")
            && query.float(&info.extensions, cl::CL_DEVICE_HALF_FP_CONFIG, "cl_khr_fp16");
        info.sub_groups = query.sub_groups(opencl, &info.extensions);
        info.sub_group_sizes = query.sub_group_sizes(&info.extensions);
        info.pci_address = query.pci_address();
        info.uuid = query.uuid(&info.extensions);
        info
    }
}
