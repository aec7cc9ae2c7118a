//! The part of the driver's description of a device on which guesses depend.

use std::collections::BTreeSet;

use cl3::device as cl;
use clmatrix::select::{DeviceType, Query, SvmCapabilities, Version};
use clmatrix::{Device, Error, Result};

/// The driver's description of a device and its platform. Sizes are in bytes.
///
/// ```
/// use clmatrix_characterize::Facts;
/// use clmatrix::select::{DeviceType, Version};
///
/// // A device that is not here.
/// let h200 = Facts {
///     platform_name: "NVIDIA CUDA".to_owned(),
///     vendor: "NVIDIA Corporation".to_owned(),
///     device_type: DeviceType::GPU,
///     nv_compute_capability: Some(Version { major: 9, minor: 0 }),
///     nv_warp_size: Some(32),
///     ..Facts::default()
/// };
/// let banks = h200.local_memory_bank_count().unwrap();
/// assert_eq!((banks.value, banks.warnings.len()), (32, 1));
/// assert_eq!(h200.has_src_build_cache(), Some(true));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Facts {
    /// CL_PLATFORM_NAME.
    pub platform_name: String,
    /// CL_PLATFORM_VENDOR.
    pub platform_vendor: String,
    /// CL_PLATFORM_VERSION, the whole string.
    pub platform_version: String,
    /// CL_DEVICE_NAME.
    pub name: String,
    /// CL_DEVICE_VENDOR.
    pub vendor: String,
    /// CL_DEVICE_TYPE.
    pub device_type: DeviceType,
    /// CL_DEVICE_EXTENSIONS.
    pub extensions: BTreeSet<String>,
    /// CL_DEVICE_MAX_COMPUTE_UNITS.
    pub max_compute_units: u32,
    /// CL_DEVICE_HOST_UNIFIED_MEMORY: its memory is the host's.
    #[serde(default)]
    pub host_unified_memory: bool,
    /// CL_DEVICE_LOCAL_MEM_TYPE.
    pub local_mem_type: LocalMemType,
    /// CL_DEVICE_LOCAL_MEM_SIZE.
    pub local_mem_size: u64,
    /// CL_DEVICE_SVM_CAPABILITIES; `None` where the driver does not support the query.
    pub svm_capabilities: Option<SvmCapabilities>,
    /// `domain:bus:device.function`, where the driver reports it.
    pub pci_address: Option<String>,
    /// CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV and CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV.
    pub nv_compute_capability: Option<Version>,
    /// CL_DEVICE_WARP_SIZE_NV.
    pub nv_warp_size: Option<u32>,
    /// CL_DEVICE_BOARD_NAME_AMD.
    pub amd_board_name: Option<String>,
    /// CL_DEVICE_WAVEFRONT_WIDTH_AMD.
    pub amd_wavefront_width: Option<u32>,
}

/// CL_DEVICE_LOCAL_MEM_TYPE.
///
/// ```
/// use clmatrix_characterize::{Facts, LocalMemType};
/// use clmatrix::select::DeviceType;
///
/// let cpu = |local_mem_type| Facts {
///     device_type: DeviceType::CPU,
///     local_mem_type,
///     ..Facts::default()
/// };
/// assert!(cpu(LocalMemType::Local).local_memory_bank_count().is_ok());
/// assert!(cpu(LocalMemType::Global).local_memory_bank_count().is_err());
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum LocalMemType {
    /// CL_NONE: custom devices may have no local memory.
    #[default]
    None,
    /// CL_LOCAL: memory of its own.
    Local,
    /// CL_GLOBAL: a part of global memory, which caches make fast.
    Global,
}

impl LocalMemType {
    fn from_raw(raw: u32) -> Self {
        match raw {
            cl::CL_LOCAL => Self::Local,
            cl::CL_GLOBAL => Self::Global,
            _ => Self::None,
        }
    }
}

impl Facts {
    /// Queries the driver (`clGetDeviceInfo`, `clGetPlatformInfo`).
    ///
    /// # Errors
    /// The driver's errors where it does not report the platform of the device, or a property that every device has.
    pub fn query(device: &Device) -> Result<Self> {
        let ask = device.query();
        let (platform, described) = (device.platform()?, device.opencl3());
        let extensions = ask.extensions();
        let has_amd_queries = extensions.contains("cl_amd_device_attribute_query");
        let svm: Option<u64> = ask.value(cl::CL_DEVICE_SVM_CAPABILITIES);
        let board_name = has_amd_queries.then(|| ask.text(cl::CL_DEVICE_BOARD_NAME_AMD));
        let wavefront_width = || ask.value(cl::CL_DEVICE_WAVEFRONT_WIDTH_AMD);
        Ok(Self {
            platform_name: platform.name(),
            platform_vendor: platform.vendor(),
            platform_version: platform.version(),
            name: ask.text(cl::CL_DEVICE_NAME),
            vendor: ask.text(cl::CL_DEVICE_VENDOR),
            device_type: DeviceType::from_bits_retain(described.dev_type().map_err(unanswered)?),
            max_compute_units: described.max_compute_units().map_err(unanswered)?,
            host_unified_memory: ask.value(cl::CL_DEVICE_HOST_UNIFIED_MEMORY) == Some(1_u32),
            local_mem_type: LocalMemType::from_raw(described.local_mem_type().map_err(unanswered)?),
            local_mem_size: described.local_mem_size().map_err(unanswered)?,
            svm_capabilities: svm.map(SvmCapabilities::from_bits_retain),
            pci_address: ask.pci_address(),
            // PyOpenCL queries these without the extension that has them: some drivers answer without
            // listing it.
            nv_compute_capability: compute_capability(&ask),
            nv_warp_size: ask.value(cl::CL_DEVICE_WARP_SIZE_NV),
            amd_board_name: board_name.filter(|name| !name.is_empty()),
            amd_wavefront_width: has_amd_queries.then(wavefront_width).flatten(),
            extensions,
        })
    }

    /// Returns whether CL_DEVICE_EXTENSIONS lists `extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.extensions.contains(extension)
    }
}

fn compute_capability(ask: &Query) -> Option<Version> {
    Some(Version {
        major: ask.value(cl::CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV)?,
        minor: ask.value(cl::CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV)?,
    })
}

pub(crate) fn unanswered(error: opencl3::error_codes::ClError) -> Error {
    Error::from_call("clGetDeviceInfo", error.0)
}
