//! Asks the drivers that this process sees for their platforms and devices.
//!
//! A query that fails costs its own answer only: old drivers do not know every name, and one
//! broken platform must not hide the others.

use bytemuck::AnyBitPattern;
use cl3::device as cl;
use cl3::platform as clp;
use opencl3::device::Device;
use opencl3::platform::{Platform, get_platforms};

use super::catalog::{DeviceInfo, DeviceType, PlatformInfo, Svm, Version};
use crate::error::{Error, Result};

/// CL_DEVICE_PCI_DOMAIN_ID_NV of cl_nv_device_attribute_query.
const CL_DEVICE_PCI_DOMAIN_ID_NV: u32 = 0x400A;

/// CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD of cl_amd_device_attribute_query.
const CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD: u32 = 1;

/// A platform, its devices, and what they say of themselves.
#[derive(Clone, Debug)]
pub struct FoundPlatform {
    /// What platform and devices say; `info.devices` is in the order of `devices`.
    pub info: PlatformInfo,
    /// The platform itself.
    pub platform: Platform,
    /// The devices themselves.
    pub devices: Vec<Device>,
}

/// The platforms that the loader shows this process, in its order, with all their devices
/// (`clGetPlatformIDs`, `clGetDeviceIDs` with CL_DEVICE_TYPE_ALL).
///
/// A platform may have no devices. Never empty.
///
/// # Errors
/// Of class [`NoRuntime`](crate::Class::NoRuntime) where there is no loader or no driver.
pub fn platforms() -> Result<Vec<FoundPlatform>> {
    const CALL: &str = "clGetPlatformIDs";
    let platforms = get_platforms().map_err(|error| Error::from_call(CALL, error.0))?;
    if platforms.is_empty() {
        // Some loaders report success and no platform.
        return Err(Error::from_call(CALL, cl3::error_codes::CL_PLATFORM_NOT_FOUND_KHR));
    }
    Ok(platforms.into_iter().map(describe_platform).collect())
}

fn describe_platform(platform: Platform) -> FoundPlatform {
    let text = |name| text(clp::get_platform_data(platform.id(), name));
    let name = text(clp::CL_PLATFORM_NAME);
    let devices = devices(platform, &name);
    let info = PlatformInfo {
        vendor: text(clp::CL_PLATFORM_VENDOR),
        version: text(clp::CL_PLATFORM_VERSION),
        devices: devices.iter().map(describe_device).collect(),
        name,
    };
    FoundPlatform { info, platform, devices }
}

fn devices(platform: Platform, name: &str) -> Vec<Device> {
    match platform.get_devices(cl::CL_DEVICE_TYPE_ALL) {
        Ok(ids) => ids.into_iter().map(Device::new).collect(),
        Err(error) if error.0 == cl3::error_codes::CL_DEVICE_NOT_FOUND => Vec::new(),
        Err(error) => {
            log::warn!("platform {name:?}: {}", Error::from_call("clGetDeviceIDs", error.0));
            Vec::new()
        }
    }
}

fn describe_device(device: &Device) -> DeviceInfo {
    let query = Query(device);
    let version = query.text(cl::CL_DEVICE_VERSION);
    let opencl = Version::parse(&version).unwrap_or_default();
    let mut info = DeviceInfo {
        name: query.text(cl::CL_DEVICE_NAME),
        vendor: query.text(cl::CL_DEVICE_VENDOR),
        device_type: DeviceType(query.value(cl::CL_DEVICE_TYPE).unwrap_or_default()),
        driver_version: query.text(cl::CL_DRIVER_VERSION),
        version,
        opencl,
        extensions: query
            .text(cl::CL_DEVICE_EXTENSIONS)
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        images: query.flag(cl::CL_DEVICE_IMAGE_SUPPORT),
        pipes: match opencl.major {
            2 => true,
            major => major > 2 && query.flag(cl::CL_DEVICE_PIPE_SUPPORT),
        },
        global_mem_size: query.value(cl::CL_DEVICE_GLOBAL_MEM_SIZE).unwrap_or_default(),
        max_mem_alloc_size: query.value(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE).unwrap_or_default(),
        local_mem_size: query.value(cl::CL_DEVICE_LOCAL_MEM_SIZE).unwrap_or_default(),
        ..DeviceInfo::default()
    };
    // What follows may only be asked where the version or an extension brings it.
    if opencl.major >= 2 {
        info.svm = Svm(query.value(cl::CL_DEVICE_SVM_CAPABILITIES).unwrap_or_default());
    }
    info.fp64 = query.float(&info, cl::CL_DEVICE_DOUBLE_FP_CONFIG, "cl_khr_fp64");
    info.fp16 = info.has_extension("cl_khr_fp16")
        && query.float(&info, cl::CL_DEVICE_HALF_FP_CONFIG, "cl_khr_fp16");
    info.pci_address = query.pci_address(&info);
    info.uuid = query.uuid(&info);
    info
}

/// clGetDeviceInfo on one device.
struct Query<'a>(&'a Device);

impl Query<'_> {
    fn data(&self, name: u32) -> std::result::Result<Vec<u8>, i32> {
        cl::get_device_data(self.0.id(), name)
    }

    fn text(&self, name: u32) -> String {
        text(self.data(name))
    }

    /// `None` where the driver does not know the name, or answers with another size.
    fn value<T: AnyBitPattern>(&self, name: u32) -> Option<T> {
        bytemuck::try_pod_read_unaligned(&self.data(name).ok()?).ok()
    }

    fn flag(&self, name: u32) -> bool {
        self.value::<u32>(name).is_some_and(|value| value != 0)
    }

    /// Whether a floating-point type is there; OpenCL 1.1 tells by the extension alone.
    fn float(&self, info: &DeviceInfo, config: u32, extension: &str) -> bool {
        match self.value::<u64>(config) {
            Some(config) => config != 0,
            None => info.has_extension(extension),
        }
    }

    fn pci_address(&self, info: &DeviceInfo) -> Option<String> {
        let [domain, bus, device, function] = if info.has_extension("cl_khr_pci_bus_info") {
            self.value::<[u32; 4]>(cl::CL_DEVICE_PCI_BUS_INFO_KHR)?
        } else if info.has_extension("cl_nv_device_attribute_query") {
            let slot: u32 = self.value(cl::CL_DEVICE_PCI_SLOT_ID_NV)?;
            let domain = self.value(CL_DEVICE_PCI_DOMAIN_ID_NV).unwrap_or_default();
            [domain, self.value(cl::CL_DEVICE_PCI_BUS_ID_NV)?, slot >> 3, slot & 7]
        } else if info.has_extension("cl_amd_device_attribute_query") {
            self.amd_topology()?
        } else {
            return None;
        };
        Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
    }

    /// cl_device_topology_amd: a type of 4 bytes, 17 unused ones, bus, device, function.
    fn amd_topology(&self) -> Option<[u32; 4]> {
        let topology: [u8; 24] = self.value(cl::CL_DEVICE_TOPOLOGY_AMD)?;
        let [k0, k1, k2, k3, .., bus, device, function] = topology;
        (u32::from_ne_bytes([k0, k1, k2, k3]) == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
            .then(|| [0, bus.into(), device.into(), function.into()])
    }

    fn uuid(&self, info: &DeviceInfo) -> Option<String> {
        if !info.has_extension("cl_khr_device_uuid") {
            return None;
        }
        let uuid: [u8; 16] = self.value(cl::CL_DEVICE_UUID_KHR)?;
        Some(uuid.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// A driver's string without its terminator and the blanks that some drivers pad with.
fn text(data: std::result::Result<Vec<u8>, i32>) -> String {
    let data = data.unwrap_or_default();
    String::from_utf8_lossy(&data).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
}
