//! Choosing the device under test by what it says of itself, and what it says checked against
//! what it does.

use std::collections::BTreeSet;

use clmatrix::select::{
    PlatformInfo, PropertyValue, Selection, SelectionError, Version, choose_devices, platforms,
};
use clmatrix::{Device, Platform, Result};
use clmatrix_harness::Fixture;

use crate::support::on_device::OnDevice;
use crate::support::unanswered;

/// Where the device under test stands among all that this process sees.
struct Seen {
    all: Vec<PlatformInfo>,
    platform: usize,
    device: usize,
}

impl Fixture for Seen {
    fn of_device_under_test() -> Self {
        let device = Device::of_device_under_test();
        let found = platforms().expect("there is the platform of the device under test");
        let at = |(p, platform): (usize, &clmatrix::select::FoundPlatform)| {
            let d = platform.devices.iter().position(|other| other.as_raw() == device.as_raw())?;
            Some((p, d))
        };
        let (platform, device) =
            found.iter().enumerate().find_map(at).expect("the device under test is listed");
        Seen { all: found.into_iter().map(|platform| platform.info).collect(), platform, device }
    }
}

impl Seen {
    fn resolve(&self, text: &str) -> std::result::Result<Vec<(usize, usize)>, SelectionError> {
        Selection::parse_clmatrix(text)?.resolve(&self.all)
    }

    fn position(&self) -> (usize, usize) {
        (self.platform, self.device)
    }

    fn platform(&self) -> &PlatformInfo {
        &self.all[self.platform]
    }
}

#[clmatrix_harness::test]
fn devices_are_selected_by_index_from_either_end(
    seen: Seen,
) -> std::result::Result<(), SelectionError> {
    let (p, d) = seen.position();
    assert_eq!(seen.resolve(&format!("{p}:{d}"))?, [(p, d)]);
    let from_the_end = seen.platform().devices.len() as i64 - d as i64;
    let platform_from_the_end = seen.all.len() as i64 - p as i64;
    assert_eq!(seen.resolve(&format!("-{platform_from_the_end}:-{from_the_end}"))?, [(p, d)]);
    Ok(())
}

#[clmatrix_harness::test]
fn devices_are_selected_by_name_in_any_case(seen: Seen) -> std::result::Result<(), SelectionError> {
    // The characters that mean something in the grammar are left out of the names.
    let plain = |name: &str| {
        let part = name.split([':', ';', ',', '=', '*', '?', '[', ']']).next().unwrap_or_default();
        part.to_uppercase()
    };
    let platform = plain(&seen.platform().name);
    let device = plain(&seen.platform().devices[seen.device].name);
    assert!(seen.resolve(&platform)?.contains(&seen.position()));
    // The first of several devices with one name is taken.
    let (p, d) = seen.resolve(&format!("{platform}:{device}"))?[0];
    assert_eq!(p, seen.platform);
    assert!(plain(&seen.platform().devices[d].name).contains(&device));
    Ok(())
}

#[clmatrix_harness::test]
fn an_empty_name_selects_the_first_device(seen: Seen) -> std::result::Result<(), SelectionError> {
    let first = seen.resolve("0:0")?;
    assert_eq!(seen.resolve("0:")?, first);
    assert_eq!(seen.resolve(":")?, first);
    Ok(())
}

#[clmatrix_harness::test]
fn devices_are_selected_by_type_and_pattern(seen: Seen) -> std::result::Result<(), SelectionError> {
    let device = &seen.platform().devices[seen.device];
    for name in device.device_type.iter_names().map(|(name, _)| name) {
        let found = seen.resolve(&format!("*:*{}*", name.to_lowercase()))?;
        assert!(found.contains(&seen.position()), "{name}");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn an_error_lists_the_available_devices(seen: Seen) {
    for text in ["no such platform", "0:no such device", "999", "0:999", "no*such*thing"] {
        let error = seen.resolve(text).unwrap_err().to_string();
        let piece = text.rsplit(':').next().unwrap();
        assert!(error.contains(&format!("{piece:?}")), "{error}");
        assert!(error.contains(&seen.platform().devices[seen.device].name), "{error}");
    }
}

#[clmatrix_harness::test]
fn pyopencl_ctx_selects_the_device(seen: Seen) -> std::result::Result<(), SelectionError> {
    let (p, d) = seen.position();
    let (platform, device) = (p.to_string(), d.to_string());
    assert_eq!(choose_devices(&seen.all, &[&platform, &device])?, (p, vec![d]));
    assert_eq!(choose_devices(&seen.all, &[])?, (0, vec![0]));
    Ok(())
}

#[clmatrix_harness::test]
fn create_some_context_uses_the_device_under_test(device: Device) -> Result<()> {
    let context = clmatrix::create_some_context()?;
    assert_eq!(context.devices(), [device]);
    Ok(())
}

#[clmatrix_harness::test]
fn the_version_is_that_of_the_driver(seen: Seen, device: Device) -> Result<()> {
    let info = &seen.platform().devices[seen.device];
    assert_eq!(info.version, device.opencl3().version().map_err(unanswered)?.trim_end());
    assert_eq!(Version::parse(&info.version), Some(info.opencl));
    assert!(info.version.starts_with(&format!("OpenCL {}", info.opencl)), "{}", info.version);
    Ok(())
}

/// A device that has doubles computes with them; `requires(fp64)` keeps this from the others.
#[clmatrix_harness::test(requires(fp64))]
fn kernels_use_doubles_where_fp64_is_supported(on_device: OnDevice, seen: Seen) -> Result<()> {
    assert!(seen.platform().devices[seen.device].fp64);
    let source = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable
        kernel void k(global double *x) { x[get_global_id(0)] /= 3; }";
    let flags = clmatrix::memory::MemFlags::READ_WRITE;
    let buffer = clmatrix::memory::Buffer::from_slice(&on_device.context, flags, &[1.0_f64, 2.0])?;
    on_device.run(source, &[&buffer], 2)?;
    let mut thirds = [0.0_f64; 2];
    buffer.read(&on_device.queue, &mut thirds)?;
    assert_eq!(thirds, [1.0 / 3.0, 2.0 / 3.0]);
    Ok(())
}

/// Each property has another name, and those of any device are there.
#[clmatrix_harness::test]
fn properties_are_listed_with_their_names(device: Device, platform: Platform) {
    let info = device.info();
    let (flag, number) = (PropertyValue::Flag, PropertyValue::Number);
    let text = |text: &str| PropertyValue::Text(text.to_owned());
    let listed: Vec<_> = device.properties().collect();
    for (name, value) in [
        ("CL_DEVICE_NAME", text(&info.name)),
        ("CL_DRIVER_VERSION", text(&info.driver_version)),
        ("CL_DEVICE_TYPE", PropertyValue::Bits(info.device_type.bits())),
        ("CL_DEVICE_IMAGE_SUPPORT", flag(info.images)),
        ("CL_DEVICE_GLOBAL_MEM_SIZE", number(info.global_mem_size)),
        ("CL_DEVICE_MAX_MEM_ALLOC_SIZE", number(info.max_mem_alloc_size)),
    ] {
        let found: Vec<_> = listed.iter().filter(|listed| listed.0 == name).collect();
        assert_eq!(found, [&(name, value)]);
    }
    // OpenCL 1.2 has 73 that are not handles.
    assert!(listed.len() >= 60, "{listed:?}");
    for listed in [listed, platform.properties().collect()] {
        let names: BTreeSet<_> = listed.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), listed.len(), "{listed:?}");
    }
    let named: Vec<_> = platform.properties().take(1).collect();
    assert_eq!(named, [("CL_PLATFORM_NAME", text(&platform.name()))]);
}
