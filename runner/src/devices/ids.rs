//! Stable names for devices: `pocl-cpu`, `nvidia-h200`.
//!
//! An id never depends on the other selected devices, on expectations, or on the order of a run. It is made of
//! platform and device. Several devices with the same id are distinguished by the driver's version, or, if that is
//! the same, ordered by their PCI address or UUID.

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
    let (mut all, mut ids) = (Vec::new(), Vec::new());
    for (p, platform) in platforms.into_iter().enumerate() {
        for (d, device) in platform.devices.iter().enumerate() {
            let version = slug(&device.driver_version);
            all.push((base(platform, device), version, &device.pci_address, &device.uuid, (p, d)));
        }
        ids.push(vec![String::new(); platform.devices.len()]);
    }
    all.sort();
    for of_id in all.chunk_by(|(id, ..), (next, ..)| id == next) {
        let versions_differ = of_id[0].1 != of_id[of_id.len() - 1].1;
        for same in of_id.chunk_by(|(_, version, ..), (_, next, ..)| version == next) {
            for (number, (id, version, .., (p, d))) in same.iter().enumerate() {
                let version = if versions_differ { format!("-{version}") } else { String::new() };
                let number = if same.len() > 1 { format!("-{number}") } else { String::new() };
                ids[*p][*d] = format!("{id}{version}{number}");
            }
        }
    }
    ids
}

fn base(platform: &PlatformInfo, device: &DeviceInfo) -> String {
    let platform = platform_slug(&platform.name);
    // Oclgrind's device is of all types at once.
    // quirk: OCLGRIND-5
    let is_cpu = device.device_type.is_cpu_only();
    let device = if is_cpu { "cpu".to_owned() } else { device_slug(&device.name, &platform) };
    format!("{platform}-{device}")
}

/// Returns the short name of a platform.
pub(super) fn platform_slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let known = PLATFORMS.iter().find(|(part, _)| lower.starts_with(part));
    known.map_or_else(|| slug(&lower), |(_, short)| (*short).to_owned())
}

fn device_slug(name: &str, platform: &str) -> String {
    // Text in parentheses or after a comma has details of the build, or trademarks.
    let name = name.replace("(R)", "").replace("(TM)", "");
    let beginning = name.split(['(', ',']).next().filter(|part| !part.trim().is_empty());
    let slug = slug(beginning.unwrap_or(&name));
    let words = slug.split('-').filter(|word| !NOISE.contains(word) && *word != platform);
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "gpu".to_owned() } else { words.join("-") }
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
