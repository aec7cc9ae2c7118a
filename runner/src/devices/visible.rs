//! The environment variable that makes one GPU of a driver the only visible one.

use std::collections::BTreeSet;
use std::fmt;

use clmatrix::select::DeviceType;

use super::ids::platform_slug;
use super::{DeviceAddress, FoundPlatform, Machine};

/// A variable that hides all GPUs of a driver but one.
#[derive(Clone, Debug, PartialEq)]
pub struct Visible {
    /// The environment variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The position of the GPU in a process with this variable.
    pub address: DeviceAddress,
}

impl Visible {
    /// Returns the variable for a GPU, if the driver has several and reads such a variable. `inherited`
    /// looks up the variables of the user, whose GPUs are the only ones that `machine` has.
    ///
    /// A device without UUID and PCI address has none: a worker could not verify that it sees its own GPU.
    pub fn new(
        machine: &Machine,
        (platform, device): (usize, usize),
        inherited: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let found = &machine.platforms[platform];
        let info = &found.info.devices[device];
        let gpus = gpus(machine, found);
        let index = gpus.iter().position(|gpu| *gpu == (found.position, device))?;
        if gpus.len() == 1 || (info.uuid.is_none() && info.pci_address.is_none()) {
            return None;
        }
        // The drivers take an empty value for none, or show no GPU.
        let set =
            |name: &&'static str| Some((*name, inherited(name).filter(|list| !list.is_empty())?));
        let vendor = platform_slug(&found.info.name);
        let (earlier, usual) = match &*vendor {
            "nvidia" => (None, "CUDA_VISIBLE_DEVICES"),
            // GPU_DEVICE_ORDINAL counts the GPUs of ROCR_VISIBLE_DEVICES.
            "amd" => (Some("GPU_DEVICE_ORDINAL"), "ROCR_VISIBLE_DEVICES"),
            "intel" => (None, "ZE_AFFINITY_MASK"),
            _ => return None,
        };
        let (variable, value) = match (earlier.iter().chain([&usual]).find_map(set), &info.uuid) {
            (Some((name, mask)), _) if vendor == "intel" => (name, part_of_mask(&mask, index)?),
            (Some((name, list)), _) => (name, entry(&list, index)?),
            // AMD's driver reports no UUID.
            (None, Some(uuid)) if vendor == "nvidia" => (usual, nvidia_uuid(uuid)?),
            (None, _) => (usual, index.to_string()),
        };
        // The first platform with a GPU is left, with one GPU.
        let own = found.address(device);
        let of_type = own.of_type.map(|(kind, _)| (kind, 0));
        let address = DeviceAddress { platform: gpus[0].0, device: 0, of_type, ..own };
        Some(Self { variable, value, address })
    }
}

/// `NAME=VALUE`.
impl fmt::Display for Visible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.variable, self.value)
    }
}

/// Returns the GPUs of a driver of one vendor: the positions of platform and device, in their order.
fn gpus(machine: &Machine, found: &FoundPlatform) -> Vec<(usize, usize)> {
    let slug = platform_slug(&found.info.name);
    let of_driver = |(platform, device): (usize, usize)| {
        let FoundPlatform { info, driver, position, .. } = &machine.platforms[platform];
        let is_of_driver = *driver == found.driver && platform_slug(&info.name) == slug;
        let is_gpu = info.devices[device].device_type.contains(DeviceType::GPU);
        (is_of_driver && is_gpu).then_some((*position, device))
    };
    let mut gpus: Vec<_> = machine.positions().filter_map(of_driver).collect();
    gpus.sort_unstable();
    gpus
}

/// Returns the entry of a list that shows its GPUs in the order of their entries.
fn entry(list: &str, index: usize) -> Option<String> {
    list.split(',').nth(index).map(|entry| entry.trim().to_owned())
}

/// Returns the part of a mask with the GPU at `index`. An entry is a GPU or one of its tiles (`0.1`), and the GPUs
/// are shown in the order of their numbers.
fn part_of_mask(mask: &str, index: usize) -> Option<String> {
    let gpu = |entry: &str| entry.split('.').next()?.parse::<u32>().ok();
    let entries: Vec<&str> = mask.split(',').map(str::trim).collect();
    let numbers = entries.iter().map(|entry| gpu(entry)).collect::<Option<BTreeSet<_>>>()?;
    let number = numbers.into_iter().nth(index)?;
    let of_gpu = entries.into_iter().filter(|entry| gpu(entry) == Some(number));
    Some(Vec::from_iter(of_gpu).join(","))
}

/// Returns NVIDIA's form of a UUID: `GPU-` and groups of 8, 4, 4, 4 and 12 digits.
fn nvidia_uuid(uuid: &str) -> Option<String> {
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|digits| uuid.get(digits));
    let groups: Option<Vec<&str>> = groups.into_iter().collect();
    Some(format!("GPU-{}", groups?.join("-")))
}

#[cfg(test)]
mod tests {
    use clmatrix::select::{DeviceInfo, PlatformInfo};

    use super::*;
    use crate::devices::DeviceKind;
    use crate::devices::icd::Driver;

    const NVIDIA: &str = "NVIDIA CUDA";
    const AMD: &str = "AMD Accelerated Parallel Processing";
    const INTEL: &str = "Intel(R) OpenCL Graphics";

    const CUDA: &str = "CUDA_VISIBLE_DEVICES";
    const ROCR: &str = "ROCR_VISIBLE_DEVICES";
    const ORDINAL: &str = "GPU_DEVICE_ORDINAL";
    const ZE: &str = "ZE_AFFINITY_MASK";

    const UUID: &str = "00112233445566778899aabbccddeeff";

    fn gpu(number: usize) -> DeviceInfo {
        let mut info = DeviceInfo::default();
        info.name = "GPU".to_owned();
        info.device_type = DeviceType::GPU;
        info.pci_address = Some(format!("0000:0{number}:00.0"));
        info
    }

    fn with_uuid(mut info: DeviceInfo) -> DeviceInfo {
        info.uuid = Some(UUID.to_owned());
        info
    }

    fn platform(name: &str, position: usize, devices: Vec<DeviceInfo>) -> FoundPlatform {
        FoundPlatform {
            ids: devices.iter().map(|device| device.name.clone()).collect(),
            info: {
                let mut info = PlatformInfo::default();
                info.name = name.to_owned();
                info.devices = devices;
                info
            },
            driver: Driver::Icd { library: name.to_owned(), origin: name.into() },
            position,
            library: None,
        }
    }

    /// The variable for a device, as `NAME=VALUE`, and its address there.
    fn shown(
        platforms: Vec<FoundPlatform>,
        at: (usize, usize),
        inherited: &[(&str, &str)],
    ) -> Option<(String, DeviceAddress)> {
        let machine = Machine { platforms, failed: Vec::new() };
        let look_up = |name: &str| {
            let found = inherited.iter().find(|(inherited, _)| *inherited == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let visible = Visible::new(&machine, at, look_up)?;
        Some((visible.to_string(), visible.address))
    }

    #[test]
    fn each_vendor_has_its_variable_and_the_users_value_is_narrowed() {
        let by_uuid = "CUDA_VISIBLE_DEVICES=GPU-00112233-4455-6677-8899-aabbccddeeff";
        for (name, inherited, expected) in [
            (NVIDIA, &[][..], Some(by_uuid)),
            (NVIDIA, &[(CUDA, "")], Some(by_uuid)),
            (NVIDIA, &[(ROCR, "7,8"), (ZE, "7,8")], Some(by_uuid)),
            (NVIDIA, &[(CUDA, "3,1")], Some("CUDA_VISIBLE_DEVICES=1")),
            (NVIDIA, &[(CUDA, "GPU-aa, GPU-00112")], Some("CUDA_VISIBLE_DEVICES=GPU-00112")),
            (NVIDIA, &[(CUDA, "MIG-a,MIG-b")], Some("CUDA_VISIBLE_DEVICES=MIG-b")),
            (NVIDIA, &[(CUDA, "3")], None),
            (AMD, &[], Some("ROCR_VISIBLE_DEVICES=1")),
            (
                AMD,
                &[(ROCR, "2,GPU-0123456789abcdef")],
                Some("ROCR_VISIBLE_DEVICES=GPU-0123456789abcdef"),
            ),
            (AMD, &[(ORDINAL, "1,0")], Some("GPU_DEVICE_ORDINAL=0")),
            (AMD, &[(ROCR, "4,5,6"), (ORDINAL, "0,2")], Some("GPU_DEVICE_ORDINAL=2")),
            (INTEL, &[], Some("ZE_AFFINITY_MASK=1")),
            (INTEL, &[(ZE, "5,3")], Some("ZE_AFFINITY_MASK=5")),
            (INTEL, &[(ZE, "0.0,2.1,2.0")], Some("ZE_AFFINITY_MASK=2.1,2.0")),
            (INTEL, &[(ZE, "a,b")], None),
            ("Portable Computing Language", &[], None),
            ("rusticl", &[], None),
        ] {
            let platforms = vec![platform(name, 0, vec![gpu(0), with_uuid(gpu(1))])];
            let found = shown(platforms, (0, 1), inherited).map(|(variable, _)| variable);
            assert_eq!(found.as_deref(), expected, "{name} {inherited:?}");
        }
    }

    #[test]
    fn a_gpu_without_a_uuid_has_its_index() {
        let found = shown(vec![platform(NVIDIA, 0, vec![gpu(0), gpu(1)])], (0, 1), &[]);
        assert_eq!(found.unwrap().0, "CUDA_VISIBLE_DEVICES=1");
    }

    #[test]
    fn the_address_is_that_of_the_only_gpu_and_verifies_it() {
        let platforms = vec![platform(NVIDIA, 0, vec![gpu(0), with_uuid(gpu(1))])];
        let (_, address) = shown(platforms, (0, 1), &[]).unwrap();
        let expected = DeviceAddress {
            platform: 0,
            device: 0,
            of_type: Some((DeviceKind::Gpu, 0)),
            name: "GPU".to_owned(),
            uuid: Some(UUID.to_owned()),
            pci_address: Some("0000:01:00.0".to_owned()),
        };
        assert_eq!(address, expected);
    }

    #[test]
    fn gpus_are_counted_over_all_platforms_of_their_driver() {
        // In the order of another loader.
        let platforms = || {
            vec![
                platform(INTEL, 2, vec![gpu(2)]),
                platform(NVIDIA, 0, vec![gpu(5)]),
                platform(INTEL, 1, vec![gpu(0), gpu(1)]),
            ]
        };
        for (at, index) in [((2, 0), 0), ((2, 1), 1), ((0, 0), 2)] {
            let (variable, address) = shown(platforms(), at, &[]).unwrap();
            assert_eq!(variable, format!("ZE_AFFINITY_MASK={index}"));
            assert_eq!((address.platform, address.device), (1, 0));
        }
        assert_eq!(shown(platforms(), (1, 0), &[]), None, "it is the only one");
    }

    #[test]
    fn only_gpus_that_can_be_verified_have_a_variable() {
        let cpu = |number| {
            let mut info = gpu(number);
            info.device_type = DeviceType::CPU;
            info
        };
        let cpus = vec![platform(INTEL, 0, vec![cpu(0), cpu(1)])];
        assert_eq!(shown(cpus, (0, 1), &[]), None);
        let nameless = |number| {
            let mut info = gpu(number);
            info.pci_address = None;
            info
        };
        let unknown = vec![platform(AMD, 0, vec![nameless(0), nameless(1)])];
        assert_eq!(shown(unknown, (0, 1), &[]), None);
    }
}
