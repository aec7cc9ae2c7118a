//! Descriptions of platforms and devices, as plain data.
//!
//! A catalogue is made once, by [`platforms`](super::platforms) in this process or in another one. All code that
//! selects or judges devices works on it: selection never calls a driver, so it can be tested without one.

use std::collections::BTreeSet;
use std::fmt;

use cl3::device as cl;

/// One OpenCL platform and its devices (CL_PLATFORM_*).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PlatformInfo {
    /// CL_PLATFORM_NAME.
    pub name: String,
    /// CL_PLATFORM_VENDOR.
    pub vendor: String,
    /// CL_PLATFORM_VERSION, the whole string.
    pub version: String,
    /// The devices in the driver's order; a platform may have none.
    pub devices: Vec<DeviceInfo>,
}

/// One OpenCL device (CL_DEVICE_*). Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct DeviceInfo {
    /// CL_DEVICE_NAME.
    pub name: String,
    /// CL_DEVICE_VENDOR.
    pub vendor: String,
    /// CL_DEVICE_TYPE.
    pub device_type: DeviceType,
    /// CL_DRIVER_VERSION.
    pub driver_version: String,
    /// CL_DEVICE_VERSION, the whole string ("OpenCL 3.0 ...").
    pub version: String,
    /// The version of OpenCL that `version` states.
    pub opencl: Version,
    /// CL_DEVICE_EXTENSIONS.
    pub extensions: BTreeSet<String>,
    /// True if the compiler supports `double` (CL_DEVICE_DOUBLE_FP_CONFIG is not zero).
    pub fp64: bool,
    /// True if the compiler supports `half` (CL_DEVICE_HALF_FP_CONFIG is not zero).
    pub fp16: bool,
    /// CL_DEVICE_IMAGE_SUPPORT.
    pub images: bool,
    /// True if pipes can be created (OpenCL 2.x: always; 3.0: CL_DEVICE_PIPE_SUPPORT).
    pub pipes: bool,
    /// CL_DEVICE_SVM_CAPABILITIES.
    pub svm: SvmCapabilities,
    /// CL_DEVICE_GLOBAL_MEM_SIZE.
    pub global_mem_size: u64,
    /// CL_DEVICE_MAX_MEM_ALLOC_SIZE.
    pub max_mem_alloc_size: u64,
    /// CL_DEVICE_LOCAL_MEM_SIZE.
    pub local_mem_size: u64,
    /// True if work items form sub-groups (CL_DEVICE_MAX_NUM_SUB_GROUPS is not zero, or an extension
    /// that has them is listed).
    #[cfg_attr(feature = "serde", serde(default))]
    pub sub_groups: bool,
    /// The numbers of work items that a sub-group, warp or wavefront can have; empty where the driver reports none
    /// (CL_DEVICE_SUB_GROUP_SIZES_INTEL, CL_DEVICE_WARP_SIZE_NV, CL_DEVICE_WAVEFRONT_WIDTH_AMD).
    #[cfg_attr(feature = "serde", serde(default))]
    pub sub_group_sizes: Vec<u64>,
    /// `domain:bus:device.function`, where the driver reports it.
    pub pci_address: Option<String>,
    /// CL_DEVICE_UUID_KHR in hexadecimal, where the driver reports it.
    pub uuid: Option<String>,
}

impl DeviceInfo {
    /// Returns whether CL_DEVICE_EXTENSIONS lists `extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.extensions.contains(extension)
    }
}

/// A version of OpenCL, ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Version {
    /// The number before the point.
    pub major: u32,
    /// The number after the point.
    pub minor: u32,
}

impl Version {
    /// Reads CL_PLATFORM_VERSION or CL_DEVICE_VERSION: `OpenCL 3.0 vendor's own words`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix("OpenCL ")?.split_whitespace().next()?;
        let (major, minor) = number.split_once('.')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// CL_DEVICE_TYPE; a device may have several bits (Oclgrind does).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceType(u64);

/// CL_DEVICE_SVM_CAPABILITIES.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SvmCapabilities(u64);

bitflags::bitflags! {
    // In the order in which `Display` names them.
    impl DeviceType: u64 {
        /// A graphics processor.
        const GPU = cl::CL_DEVICE_TYPE_GPU;
        /// A processor.
        const CPU = cl::CL_DEVICE_TYPE_CPU;
        /// Another accelerator.
        const ACCELERATOR = cl::CL_DEVICE_TYPE_ACCELERATOR;
        /// A device with functions of its own, which CL_DEVICE_TYPE_ALL leaves out.
        const CUSTOM = cl::CL_DEVICE_TYPE_CUSTOM;
        /// The default device of its platform.
        const DEFAULT = cl::CL_DEVICE_TYPE_DEFAULT;
    }

    impl SvmCapabilities: u64 {
        /// Buffers that the host and the device share, by maps.
        const COARSE_GRAIN_BUFFER = cl::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
        /// Buffers that both access at once.
        const FINE_GRAIN_BUFFER = cl::CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
        /// Any memory of the host.
        const FINE_GRAIN_SYSTEM = cl::CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
        /// Atomics of both on fine-grain memory.
        const ATOMICS = cl::CL_DEVICE_SVM_ATOMICS;
    }
}

impl DeviceType {
    /// Returns whether the device is a CPU and, apart from being the default device, nothing else.
    pub fn is_cpu_only(self) -> bool {
        self.difference(Self::DEFAULT) == Self::CPU
    }
}

/// `CPU`, or `GPU|CPU` where a device has several bits.
impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.iter_names().map(|(name, _)| name).collect::<Vec<_>>().join("|") {
            none if none.is_empty() => write!(f, "{:#x}", self.0),
            names => f.write_str(&names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, version) in [
            ("OpenCL 3.0 PoCL 3.1", Some((3, 0))),
            ("OpenCL 1.2 ", Some((1, 2))),
            ("OpenCL 3.10", Some((3, 10))),
            ("OpenCL C 1.2", None),
            ("OpenCL 3", None),
            ("3.0", None),
            ("", None),
        ] {
            let expected = version.map(|(major, minor)| Version { major, minor });
            assert_eq!(Version::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn types_have_names() {
        for (bits, name, cpu_only) in [
            (0, "0x0", false),
            (2, "CPU", true),
            (3, "CPU|DEFAULT", true),
            (4, "GPU", false),
            (6, "GPU|CPU", false),
            (15, "GPU|CPU|ACCELERATOR|DEFAULT", false),
            (16, "CUSTOM", false),
            (32, "0x20", false),
        ] {
            let device_type = DeviceType::from_bits_retain(bits);
            assert_eq!(
                (device_type.to_string().as_str(), device_type.is_cpu_only()),
                (name, cpu_only)
            );
        }
    }
}
