//! The requirements of tests, checked against the information of a device.

use std::fmt;

pub use clmatrix::select::Version;
use clmatrix::select::{DeviceInfo, SvmCapabilities};

/// One condition. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Double precision in kernels.
    Fp64,
    /// Half precision in kernels.
    Fp16,
    /// Images (CL_DEVICE_IMAGE_SUPPORT).
    Images,
    /// Pipes.
    Pipes,
    /// Shared virtual memory of at least this level.
    Svm(SvmLevel),
    /// At least this version of OpenCL.
    OpenCl(Version),
    /// An extension by its full name.
    Extension(&'static str),
    /// CL_DEVICE_GLOBAL_MEM_SIZE.
    GlobalMem(u64),
    /// CL_DEVICE_MAX_MEM_ALLOC_SIZE.
    MaxAlloc(u64),
    /// CL_DEVICE_LOCAL_MEM_SIZE.
    LocalMem(u64),
    /// Sub-groups of any size, with their functions in kernels.
    SubGroups,
    /// Sub-groups of this many work items, which may be warps or wavefronts, as the driver reports.
    SubGroup(u64),
}

/// The kinds of shared virtual memory (CL_DEVICE_SVM_CAPABILITIES).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SvmLevel {
    /// Coarse-grain buffers.
    Coarse,
    /// Fine-grain buffers.
    Fine,
    /// Fine-grain system memory: any pointer of the host.
    System,
    /// Atomics across host and device.
    Atomics,
}

/// Returns why `device` cannot run a test with these requirements, or `None` if it can.
pub fn missing(requires: &[Requirement], device: &DeviceInfo) -> Option<String> {
    let missing: Vec<String> = requires.iter().filter_map(|r| r.missing_on(device)).collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fp64 => f.write_str("fp64"),
            Self::Fp16 => f.write_str("fp16"),
            Self::Images => f.write_str("images"),
            Self::Pipes => f.write_str("pipes"),
            Self::Svm(level) => write!(f, "svm: {}", format!("{level:?}").to_lowercase()),
            Self::OpenCl(version) => write!(f, "OpenCL {version}"),
            Self::Extension(name) => f.write_str(name),
            Self::GlobalMem(bytes) => write!(f, "global memory: {bytes} bytes"),
            Self::MaxAlloc(bytes) => write!(f, "largest allocation: {bytes} bytes"),
            Self::LocalMem(bytes) => write!(f, "local memory: {bytes} bytes"),
            Self::SubGroups => f.write_str("sub-groups"),
            Self::SubGroup(size) => write!(f, "sub-groups of {size}"),
        }
    }
}

impl Requirement {
    fn missing_on(self, device: &DeviceInfo) -> Option<String> {
        match self {
            Self::Fp64 => lacks(device.fp64, "no fp64 (double)"),
            Self::Fp16 => lacks(device.fp16, "no fp16 (half)"),
            Self::Images => lacks(device.images, "no images"),
            Self::Pipes => lacks(device.pipes, "no pipes"),
            Self::Svm(level) => level.missing_on(device),
            Self::OpenCl(version) => (device.opencl < version)
                .then(|| format!("needs OpenCL {version}, the device has {}", device.opencl)),
            Self::Extension(name) => {
                (!device.has_extension(name)).then(|| format!("no extension {name}"))
            }
            Self::GlobalMem(bytes) => too_small("global memory", device.global_mem_size, bytes),
            Self::MaxAlloc(bytes) => {
                too_small("largest allocation", device.max_mem_alloc_size, bytes)
            }
            Self::LocalMem(bytes) => too_small("local memory", device.local_mem_size, bytes),
            Self::SubGroups => lacks(device.sub_groups, "no sub-groups"),
            Self::SubGroup(size) => no_sub_groups_of(size, device),
        }
    }
}

/// Returns the available sizes, if `size` is not one of them.
fn no_sub_groups_of(size: u64, device: &DeviceInfo) -> Option<String> {
    let has = device.sub_groups && device.sub_group_sizes.contains(&size);
    let sizes = Vec::from_iter(device.sub_group_sizes.iter().map(u64::to_string)).join(", ");
    let instead = match &*sizes {
        // A warp alone does not give kernels the functions of sub-groups.
        _ if !device.sub_groups => "the device has none".to_owned(),
        "" => "the driver does not report its sizes".to_owned(),
        sizes => format!("the device has {sizes}"),
    };
    (!has).then(|| format!("sub-groups: needs {size} work items, {instead}"))
}

impl SvmLevel {
    fn missing_on(self, device: &DeviceInfo) -> Option<String> {
        let (needed, lack) = match self {
            Self::Coarse => (SvmCapabilities::COARSE_GRAIN_BUFFER, "no coarse-grain SVM"),
            Self::Fine => (SvmCapabilities::FINE_GRAIN_BUFFER, "no fine-grain buffer SVM"),
            Self::System => (SvmCapabilities::FINE_GRAIN_SYSTEM, "no fine-grain system SVM"),
            Self::Atomics => (SvmCapabilities::ATOMICS, "no SVM atomics"),
        };
        lacks(device.svm.contains(needed), lack)
    }
}

fn lacks(has: bool, what: &str) -> Option<String> {
    (!has).then(|| what.to_owned())
}

fn too_small(what: &str, has: u64, needs: u64) -> Option<String> {
    (has < needs).then(|| format!("{what}: needs {needs} bytes, the device has {has}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_all_that_is_missing() {
        let device = {
            let mut info = DeviceInfo::default();
            info.opencl = Version { major: 1, minor: 2 };
            info.images = true;
            info.local_mem_size = 1024;
            info
        };
        for (requires, reason) in [
            (&[][..], None),
            (&[Requirement::Images], None),
            (&[Requirement::OpenCl(Version { major: 1, minor: 2 })], None),
            (&[Requirement::LocalMem(1024)], None),
            (
                &[Requirement::Fp64, Requirement::OpenCl(Version { major: 2, minor: 0 })],
                Some("no fp64 (double); needs OpenCL 2.0, the device has 1.2"),
            ),
            (
                &[Requirement::LocalMem(1025)],
                Some("local memory: needs 1025 bytes, the device has 1024"),
            ),
            (&[Requirement::Svm(SvmLevel::Coarse)], Some("no coarse-grain SVM")),
            (&[Requirement::Extension("cl_khr_fp16")], Some("no extension cl_khr_fp16")),
            (
                &[Requirement::LocalMem(2048), Requirement::SubGroups],
                Some("local memory: needs 2048 bytes, the device has 1024; no sub-groups"),
            ),
        ] {
            assert_eq!(missing(requires, &device).as_deref(), reason, "{requires:?}");
        }
    }

    #[test]
    fn sub_groups_are_those_that_the_driver_tells() {
        let device = |sub_groups, sizes: &[u64]| {
            let mut info = DeviceInfo::default();
            info.sub_groups = sub_groups;
            info.sub_group_sizes = sizes.to_vec();
            info
        };
        for (device, any, of_32) in [
            (device(false, &[32]), false, Some("the device has none")),
            (device(true, &[32]), true, None),
            (device(true, &[8, 16, 32]), true, None),
            (device(true, &[4, 8]), true, Some("the device has 4, 8")),
            (device(true, &[]), true, Some("the driver does not report its sizes")),
            (device(false, &[]), false, Some("the device has none")),
        ] {
            assert_eq!(missing(&[Requirement::SubGroups], &device).is_none(), any, "{device:?}");
            let reason = of_32.map(|reason| format!("sub-groups: needs 32 work items, {reason}"));
            assert_eq!(missing(&[Requirement::SubGroup(32)], &device), reason);
        }
    }
}
