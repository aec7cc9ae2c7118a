//! Single queries of a device.

use std::collections::BTreeSet;

use bytemuck::AnyBitPattern;
use cl3::device as cl;

use super::Version;
use crate::device::Device;

/// CL_DEVICE_PCI_DOMAIN_ID_NV of cl_nv_device_attribute_query.
const CL_DEVICE_PCI_DOMAIN_ID_NV: u32 = 0x400A;

/// CL_DEVICE_SUB_GROUP_SIZES_INTEL of cl_intel_required_subgroup_size.
const CL_DEVICE_SUB_GROUP_SIZES_INTEL: u32 = 0x4108;

/// CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD of cl_amd_device_attribute_query.
const CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD: u32 = 1;

/// The queries of one device (`clGetDeviceInfo`, `pyopencl.Device.get_info`). A query that the driver does not answer
/// is empty or `None`.
///
/// ```
/// use clmatrix::cl3::device::CL_DEVICE_MAX_COMPUTE_UNITS;
/// use clmatrix::{Platform, Result};
///
/// # fn main() -> Result<()> {
/// for device in Platform::all()?.iter().flat_map(Platform::devices).flatten() {
///     let compute_units: Option<u32> = device.query().value(CL_DEVICE_MAX_COMPUTE_UNITS);
///     assert!(compute_units.is_some_and(|count| count > 0), "{}", device.name());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Query<'a>(pub(crate) &'a Device);

impl Query<'_> {
    /// Returns the words of CL_DEVICE_EXTENSIONS.
    pub fn extensions(&self) -> BTreeSet<String> {
        self.text(cl::CL_DEVICE_EXTENSIONS).split_whitespace().map(str::to_owned).collect()
    }

    fn data(&self, name: u32) -> std::result::Result<Vec<u8>, i32> {
        cl::get_device_data(self.0.as_raw(), name)
    }

    /// Returns a string, without the blanks that some drivers add; empty where the driver has none.
    pub fn text(&self, name: u32) -> String {
        text(self.data(name))
    }

    /// Returns a value, or `None` where the driver does not know the name or has another size for it.
    pub fn value<T: AnyBitPattern>(&self, name: u32) -> Option<T> {
        bytemuck::try_pod_read_unaligned(&self.data(name).ok()?).ok()
    }

    pub(crate) fn flag(&self, name: u32) -> bool {
        self.value::<u32>(name).is_some_and(|value| value != 0)
    }

    /// Returns whether a floating-point type is supported; in OpenCL 1.1, by the extension alone.
    pub(crate) fn float(
        &self,
        extensions: &BTreeSet<String>,
        config: u32,
        extension: &str,
    ) -> bool {
        match self.value::<u64>(config) {
            Some(config) => config != 0,
            None => extensions.contains(extension),
        }
    }

    /// Returns `domain:bus:device.function`, where the driver has it.
    pub fn pci_address(&self) -> Option<String> {
        let extensions = self.extensions();
        let [domain, bus, device, function] = if extensions.contains("cl_khr_pci_bus_info") {
            self.value::<[u32; 4]>(cl::CL_DEVICE_PCI_BUS_INFO_KHR)?
        } else if extensions.contains("cl_nv_device_attribute_query") {
            let slot: u32 = self.value(cl::CL_DEVICE_PCI_SLOT_ID_NV)?;
            let domain = self.value(CL_DEVICE_PCI_DOMAIN_ID_NV).unwrap_or_default();
            [domain, self.value(cl::CL_DEVICE_PCI_BUS_ID_NV)?, slot >> 3, slot & 7]
        } else if extensions.contains("cl_amd_device_attribute_query") {
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

    /// Returns true if work items form sub-groups. OpenCL 2.1 has them, 3.0 may have them, and any version may by an
    /// extension.
    pub(crate) fn sub_groups(&self, opencl: Version, extensions: &BTreeSet<String>) -> bool {
        let may_tell = opencl >= (Version { major: 2, minor: 1 });
        may_tell && self.flag(cl::CL_DEVICE_MAX_NUM_SUB_GROUPS) || lists_sub_groups(extensions)
    }

    /// Returns the numbers of work items that run together, if the driver reports them.
    pub(crate) fn sub_group_sizes(&self, extensions: &BTreeSet<String>) -> Vec<u64> {
        let mut sizes = Vec::new();
        if extensions.contains("cl_intel_required_subgroup_size") {
            let data = self.data(CL_DEVICE_SUB_GROUP_SIZES_INTEL).unwrap_or_default();
            let (told, _) = data.as_chunks::<{ size_of::<usize>() }>();
            sizes.extend(told.iter().map(|size| usize::from_ne_bytes(*size) as u64));
        }
        for (extension, query) in [
            ("cl_nv_device_attribute_query", cl::CL_DEVICE_WARP_SIZE_NV),
            ("cl_amd_device_attribute_query", cl::CL_DEVICE_WAVEFRONT_WIDTH_AMD),
        ] {
            let told = extensions.contains(extension).then(|| self.value::<u32>(query)).flatten();
            sizes.extend(told.map(u64::from));
        }
        sizes
    }

    pub(crate) fn uuid(&self, extensions: &BTreeSet<String>) -> Option<String> {
        if !extensions.contains("cl_khr_device_uuid") {
            return None;
        }
        let uuid: [u8; 16] = self.value(cl::CL_DEVICE_UUID_KHR)?;
        Some(uuid.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn lists_sub_groups(extensions: &BTreeSet<String>) -> bool {
    ["cl_khr_subgroups", "cl_intel_subgroups"].iter().any(|name| extensions.contains(*name))
}

/// Converts a driver's string, which ends at its terminator; removes the blanks that some drivers add.
// quirk: DRIVER-6, LOADER-6
pub(crate) fn text(data: std::result::Result<Vec<u8>, i32>) -> String {
    let data = data.unwrap_or_default();
    let text = data.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drivers_string_has_no_terminator_and_no_blanks_around_it() {
        assert_eq!(text(Ok(b" OpenCL 3.0 \0".to_vec())), "OpenCL 3.0");
        assert_eq!(text(Ok(b"OpenCL 3.0\0memory of others\0".to_vec())), "OpenCL 3.0");
        assert_eq!(text(Err(-30)), "");
    }

    #[test]
    fn sub_groups_are_not_a_required_size_of_them() {
        let lists = |name: &str| lists_sub_groups(&["cl_khr_fp64", name].map(str::to_owned).into());
        assert!(lists("cl_khr_subgroups") && lists("cl_intel_subgroups"));
        assert!(
            !lists("cl_nv_device_attribute_query") && !lists("cl_intel_required_subgroup_size")
        );
    }
}
