//! Stable names for devices: `pocl-cpu`, `nvidia-h200`.
//!
//! An id never depends on the other selected devices, on expectations, or on the order of a run. It is made of
//! platform and device. Several devices with the same id are distinguished by the driver's version, or, if that is
//! the same, ordered by their PCI address or UUID.

use std::collections::BTreeMap;

use clmatrix::select::{DeviceInfo, PlatformInfo};

/// The usual short names of platforms.
const PLATFORMS: [(&str, &str); 6] = [
    ("portable computing language", "pocl"),
    ("nvidia", "nvidia"),
    ("intel", "intel"),
    ("amd", "amd"),
    ("arm", "arm"),
    ("apple", "apple"),
];

/// Words in a device's name that add nothing to its platform.
const NOISE: [&str; 10] = [
    "nvidia",
    "intel",
    "amd",
    "radeon",
    "arm",
    "graphics",
    "gpu",
    "corporation",
    "device",
    "oclgrind",
];

/// Returns the ids of all devices, platform by platform.
pub fn ids<'a>(platforms: impl IntoIterator<Item = &'a PlatformInfo>) -> Vec<Vec<String>> {
    let platforms: Vec<&PlatformInfo> = platforms.into_iter().collect();
    let mut by_id: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (p, platform) in platforms.iter().enumerate() {
        for (d, device) in platform.devices.iter().enumerate() {
            by_id.entry(base(platform, device)).or_default().push((p, d));
        }
    }
    let mut ids: Vec<Vec<String>> =
        platforms.iter().map(|platform| vec![String::new(); platform.devices.len()]).collect();
    let device = |(p, d): (usize, usize)| &platforms[p].devices[d];
    for (id, group) in by_id {
        let versions = split(&id, group, |at| slug(&device(at).driver_version));
        for (id, mut same) in versions {
            same.sort_by_key(|at| {
                let device = device(*at);
                (device.pci_address.clone(), device.uuid.clone(), *at)
            });
            let several = same.len() > 1;
            for (number, (p, d)) in same.into_iter().enumerate() {
                ids[p][d] = if several { format!("{id}-{number}") } else { id.clone() };
            }
        }
    }
    ids
}

/// Divides the devices that share `id` by a property, if their values differ.
fn split<At: Copy>(
    id: &str,
    group: Vec<At>,
    property: impl Fn(At) -> String,
) -> BTreeMap<String, Vec<At>> {
    let mut parts: BTreeMap<String, Vec<At>> = BTreeMap::new();
    for at in group {
        parts.entry(property(at)).or_default().push(at);
    }
    if parts.len() == 1 {
        parts.into_values().map(|group| (id.to_owned(), group)).collect()
    } else {
        parts.into_iter().map(|(part, group)| (format!("{id}-{part}"), group)).collect()
    }
}

fn base(platform: &PlatformInfo, device: &DeviceInfo) -> String {
    let platform = platform_slug(&platform.name);
    // Oclgrind's device is of all types at once.
    // quirk: OCLGRIND-5
    let device = if device.device_type.is_cpu_only() {
        "cpu".to_owned()
    } else {
        device_slug(&device.name, &platform)
    };
    format!("{platform}-{device}")
}

/// Returns the short name of a platform.
pub(super) fn platform_slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let known = PLATFORMS.iter().find(|(part, _)| lower.starts_with(part));
    match known {
        Some((_, short)) => (*short).to_owned(),
        None => slug(&lower),
    }
}

fn device_slug(name: &str, platform: &str) -> String {
    // Text in parentheses or after a comma has details of the build, or trademarks.
    let name = name.replace("(R)", "").replace("(TM)", "");
    let name =
        name.split(['(', ',']).next().filter(|part| !part.trim().is_empty()).unwrap_or(&name);
    let slug = slug(name);
    let words: Vec<&str> =
        slug.split('-').filter(|word| !NOISE.contains(word) && *word != platform).collect();
    match words.is_empty() {
        true => "gpu".to_owned(),
        false => words.join("-"),
    }
}

/// Returns lower case letters, digits, dots and single dashes; never empty.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() || (c == '.' && !slug.is_empty()) {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches(['-', '.']);
    if slug.is_empty() { "unnamed".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use clmatrix::select::DeviceType;

    use super::*;

    const CPU: DeviceType = DeviceType::CPU;
    const GPU: DeviceType = DeviceType::GPU;

    fn platform(name: &str, devices: Vec<DeviceInfo>) -> PlatformInfo {
        let mut info = PlatformInfo::default();
        info.name = name.to_owned();
        info.devices = devices;
        info
    }

    fn device(name: &str, device_type: DeviceType) -> DeviceInfo {
        let mut info = DeviceInfo::default();
        info.name = name.to_owned();
        info.device_type = device_type;
        info
    }

    #[test]
    fn ids_are_short_and_say_what_it_is() {
        for (platform_name, name, device_type, id) in [
            ("Portable Computing Language", "pthread-Intel(R) Xeon(R)", CPU, "pocl-cpu"),
            ("Portable Computing Language", "CUDA-NVIDIA H200", GPU, "pocl-cuda-h200"),
            ("NVIDIA CUDA", "NVIDIA H200", GPU, "nvidia-h200"),
            ("NVIDIA CUDA", "NVIDIA GeForce RTX 4090", GPU, "nvidia-geforce-rtx-4090"),
            ("Intel(R) OpenCL", "Intel(R) Xeon(R) Processor", CPU, "intel-cpu"),
            ("Intel(R) OpenCL Graphics", "Intel(R) Arc(TM) A770 Graphics", GPU, "intel-arc-a770"),
            ("rusticl", "llvmpipe (LLVM 15.0.6, 256 bits)", CPU, "rusticl-cpu"),
            ("rusticl", "AMD Radeon RX 6800 (radeonsi, navi21)", GPU, "rusticl-rx-6800"),
            (
                "Oclgrind",
                "Oclgrind Simulator",
                DeviceType::from_bits_retain(15),
                "oclgrind-simulator",
            ),
            (
                "AMD Accelerated Parallel Processing",
                "gfx90a:sramecc+:xnack-",
                GPU,
                "amd-gfx90a-sramecc-xnack",
            ),
            ("Something <New>", "???", GPU, "something-new-unnamed"),
        ] {
            let found = ids(&[platform(platform_name, vec![device(name, device_type)])]);
            assert_eq!(found, [[id]], "{platform_name} / {name}");
        }
    }

    #[test]
    fn driver_versions_tell_equal_devices_apart() {
        let pocl = |version: &str| {
            let cpu = {
                let mut info = device("pthread", CPU);
                info.driver_version = version.to_owned();
                info
            };
            platform("Portable Computing Language", vec![cpu])
        };
        assert_eq!(
            ids(&[pocl("3.1+debian"), pocl("5.0")]),
            [["pocl-cpu-3.1-debian"], ["pocl-cpu-5.0"]]
        );
    }

    #[test]
    fn identical_devices_are_numbered_by_pci_address_whatever_their_order() {
        let h200 = |pci: &str| {
            let mut info = device("NVIDIA H200", GPU);
            info.pci_address = Some(pci.to_owned());
            info.driver_version = "570".to_owned();
            info
        };
        let found =
            ids(&[platform("NVIDIA CUDA", vec![h200("0000:d8:00.0"), h200("0000:18:00.0")])]);
        assert_eq!(found, [["nvidia-h200-1", "nvidia-h200-0"]]);
    }
}
