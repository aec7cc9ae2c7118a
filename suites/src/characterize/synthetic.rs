//! Devices that are not here: all combinations of what the rules ask for, and of what they should not
//! mind.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::entry::{Builds, Entry, LocalArray};
use super::*;
use crate::support::property::samples;

/// Name, vendor and version of platforms.
const PLATFORMS: [(&str, &str, &str); 15] = [
    ("NVIDIA CUDA", "NVIDIA Corporation", "OpenCL 3.0 CUDA 12.8.90"),
    ("NVIDIA CUDA", "NVIDIA Corporation", "OpenCL 1.1 CUDA 4.2.1"),
    ("AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc.", "OpenCL 2.1 AMD-APP"),
    ("ATI Stream", "ATI Technologies", "OpenCL 1.0 ATI-Stream"),
    ("Apple", "Apple", "OpenCL 1.2 (Apr 18 2023)"),
    ("Intel(R) OpenCL Graphics", "Intel(R) Corporation", "OpenCL 3.0 LINUX"),
    ("rusticl", "Mesa/X.org", "OpenCL 3.0 Mesa"),
    ("Portable Computing Language", "The pocl project", "OpenCL 3.0 PoCL 3.1+debian  Linux"),
    ("Portable Computing Language", "The pocl project", "OpenCL 1.2 pocl 1.0 Debug"),
    ("Portable Computing Language", "The pocl project", "OpenCL 2.0 pocl 0.15-pre"),
    ("Portable Computing Language", "The pocl project", "OpenCL 2.0 pocl 0.14"),
    ("Portable Computing Language", "The pocl project", "OpenCL 1.2 pocl 0.13"),
    ("Portable Computing Language", "The pocl project", "OpenCL 3.0 PoCL HSTR: pthread"),
    ("Portable Computing Language", "The pocl project", "no version"),
    ("Oclgrind", "Oclgrind", "OpenCL 1.2 (Oclgrind 21.10)"),
];

const VENDORS: [&str; 7] = [
    "NVIDIA Corporation",
    "nvidia",
    "Advanced Micro Devices, Inc.",
    "AuthenticAMD",
    "Intel(R) Corporation",
    "Apple",
    "Imagination Technologies",
];

const EXTENSIONS: [&str; 4] =
    ["cl_khr_fp64", "cl_amd_fp64", "cl_khr_fp64_of_another_kind", "cl_khr_icd"];

const CAPABILITIES: [(u32, u32); 7] = [(1, 0), (1, 3), (2, 0), (2, 1), (3, 0), (7, 5), (9, 0)];

/// Returns facts that any device may have.
pub fn facts() -> impl Strategy<Value = Facts> {
    let names = (select(&PLATFORMS[..]), select(&VENDORS[..]));
    let extensions = subsequence(&EXTENSIONS[..], 0..=EXTENSIONS.len());
    let local = (
        select(&[LocalMemType::None, LocalMemType::Local, LocalMemType::Global][..]),
        select(&[256_u64, 16 << 10, 48 << 10, 1 << 20][..]),
    );
    // Bits 1 to 4 are the types, bit 0 is for the default device.
    let device_type = prop_oneof![select(&[2_u64, 4, 8, 16, 15][..]), 0..32_u64];
    let nvidia = (option::of(select(&CAPABILITIES[..])), option::weighted(0.3, Just(32_u32)));
    (names, extensions, local, device_type, option::weighted(0.8, 0..16_u64), nvidia).prop_map(
        |((platform, vendor), extensions, local, device_type, svm, (capability, warp))| Facts {
            platform_name: platform.0.to_owned(),
            platform_vendor: platform.1.to_owned(),
            platform_version: platform.2.to_owned(),
            vendor: vendor.to_owned(),
            device_type: DeviceType::from_bits_retain(device_type),
            extensions: extensions.into_iter().map(str::to_owned).collect(),
            local_mem_type: local.0,
            local_mem_size: local.1,
            svm_capabilities: svm.map(SvmCapabilities::from_bits_retain),
            nv_compute_capability: capability.map(|(major, minor)| Version { major, minor }),
            nv_warp_size: warp,
            ..Facts::default()
        },
    )
}

/// Returns answers that a driver may give for builds of kernels.
pub fn builds() -> impl Strategy<Value = Builds> {
    (select(&[1_usize, 8, 16, 64][..]), 1..3_u32).prop_map(|(multiple, struct_arg_count)| Builds {
        preferred_work_group_size_multiple: multiple,
        struct_arg_count,
    })
}

/// Arrays of up to four dimensions, with and without padding, small and large elements.
pub fn arrays() -> impl Strategy<Value = LocalArray> {
    let length = prop_oneof![1..5_usize, 1..40_usize, select(&[8_usize, 16, 32, 64][..])];
    let axis = (length, prop_oneof![Just(0_usize), Just(1), 0..4_usize]);
    let item_size = prop_oneof![3 => Just(4_usize), 2 => select(&[1_usize, 2, 8, 12, 16][..])];
    (item_size, prop::collection::vec(axis, 0..=4), any::<bool>()).prop_map(
        |(item_size, axes, padded)| LocalArray {
            item_size,
            shape: axes.iter().map(|(length, _)| *length).collect(),
            stored_shape: padded.then(|| axes.iter().map(|(length, gap)| length + gap).collect()),
        },
    )
}

/// So many devices with all answers, each with `arrays_each` arrays; the same each time.
pub fn entries(count: usize, arrays_each: usize) -> Vec<Entry> {
    let devices = (facts(), builds(), prop::collection::vec(arrays(), arrays_each));
    let entry = |(number, (facts, builds, arrays)): (usize, (Facts, Builds, Vec<LocalArray>))| {
        Entry::of_facts(&format!("synthetic {number}"), facts, builds, &arrays)
    };
    samples(&devices, count).into_iter().enumerate().map(entry).collect()
}

/// The arrays that devices that are here are asked for.
pub fn usual_arrays() -> Vec<LocalArray> {
    samples(&arrays(), 24)
}
