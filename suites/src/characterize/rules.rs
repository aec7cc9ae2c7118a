//! The rules on devices that the machine does not have, one vendor after the other.

use clmatrix_characterize::StructArgCountBug;

use super::entry::Builds;
use super::*;

const CPU: DeviceType = DeviceType::CPU;
const GPU: DeviceType = DeviceType::GPU;
const ACCELERATOR: DeviceType = DeviceType::ACCELERATOR;

const BUILDS: Builds = Builds { preferred_work_group_size_multiple: 48, struct_arg_count: 1 };
const BUILDS_WITH_BUG: Builds = Builds { struct_arg_count: 2, ..BUILDS };

fn device(vendor: &str, device_type: DeviceType) -> Facts {
    Facts { vendor: vendor.to_owned(), device_type, ..Facts::default() }
}

fn nvidia(major: u32, minor: u32) -> Facts {
    Facts {
        local_mem_size: 16384,
        nv_compute_capability: Some(Version { major, minor }),
        nv_warp_size: Some(32),
        ..device("NVIDIA Corporation", GPU)
    }
}

fn pocl(version: &str) -> Facts {
    Facts {
        platform_name: "Portable Computing Language".to_owned(),
        platform_version: version.to_owned(),
        ..device("GenuineIntel", CPU)
    }
}

#[clmatrix_harness::test(once)]
fn local_memory_of_nvidia_depends_on_the_compute_capability() -> Result<()> {
    for (major, minor, width, guessed, usable) in [
        (1, 0, 16, false, [16128, 16384, 16344]),
        (1, 3, 16, false, [16128, 16384, 16344]),
        (2, 0, 32, false, [16384; 3]),
        (2, 1, 32, false, [16384; 3]),
        (3, 0, 32, true, [16384; 3]),
        (9, 0, 32, true, [16384; 3]),
    ] {
        let facts = nvidia(major, minor);
        let side_by_side = facts.simultaneous_work_items_on_local_access();
        let banks = facts.local_memory_bank_count()?;
        assert_eq!((side_by_side.value, banks.value), (width, width), "{major}.{minor}");
        assert_eq!(side_by_side.is_known(), !guessed, "{major}.{minor}");
        assert_eq!(banks.is_known(), !guessed, "{major}.{minor}");
        let sizes = [None, Some(0), Some(10)].map(|nargs| facts.usable_local_mem_size(nargs));
        assert_eq!(sizes, usable, "{major}.{minor}");
    }
    let no_room = Facts { local_mem_size: 100, ..nvidia(1, 0) };
    assert_eq!(no_room.usable_local_mem_size(Some(u32::MAX)), 0);
    Ok(())
}

#[clmatrix_harness::test(once)]
fn guessed_properties_have_a_warning() -> Result<()> {
    use CharacterizationWarning::{GuessedBankCount, GuessedLocalAccessSize};
    for facts in [
        nvidia(9, 0),
        device("", GPU),
        device("", ACCELERATOR),
        device("", DeviceType::from_bits_retain(15)),
    ] {
        let side_by_side = facts.simultaneous_work_items_on_local_access();
        assert_eq!(side_by_side.warnings, [GuessedLocalAccessSize]);
        assert_eq!(facts.local_memory_bank_count()?.warnings, [GuessedBankCount]);
        let conflict = facts.why_not_local_access_conflict_free(4, &[4], None)?;
        assert_eq!(conflict.warnings, [GuessedLocalAccessSize, GuessedBankCount]);
    }
    Ok(())
}

#[clmatrix_harness::test(once)]
fn a_cpu_has_banks_only_if_its_local_memory_is_its_own() {
    for (local_mem_type, has_banks) in
        [(LocalMemType::Local, true), (LocalMemType::Global, false), (LocalMemType::None, true)]
    {
        let facts = Facts { local_mem_type, ..device("", CPU) };
        assert_eq!(facts.local_memory_bank_count().is_ok(), has_banks, "{local_mem_type:?}");
        let side_by_side = facts.simultaneous_work_items_on_local_access();
        assert_eq!((side_by_side.value, side_by_side.is_known()), (1, true));
    }
    let gpu = Facts { local_mem_type: LocalMemType::Global, ..device("", GPU) };
    assert!(gpu.local_memory_bank_count().is_ok());
}

#[clmatrix_harness::test(once)]
fn simd_group_size_depends_on_the_vendor() -> Result<()> {
    for (vendor, device_type, expected) in [
        ("NVIDIA Corporation", GPU, Some(32)),
        ("Advanced Micro Devices, Inc.", GPU, Some(48)),
        ("Advanced Micro Devices, Inc.", CPU, Some(1)),
        // `Corporation` has `ati` in it.
        ("Intel(R) Corporation", GPU, Some(48)),
        ("Intel(R) Corporation", CPU, Some(1)),
        ("Apple", GPU, None),
        ("Apple", CPU, Some(1)),
        ("Apple", DeviceType::from_bits_retain(15), Some(1)),
    ] {
        let facts = device(vendor, device_type);
        let of = format!("{vendor} {device_type}");
        assert_eq!(facts.simd_group_size(4, BUILDS)?, expected, "{of}");
        assert_eq!(facts.reasonable_work_group_size_multiple(BUILDS)?, 48, "{of}");
        let platform_vendor = vendor.to_uppercase();
        let by_platform = Facts { platform_vendor, ..device("?", device_type) };
        assert_eq!(by_platform.simd_group_size(4, BUILDS)?, expected, "by the platform: {of}");
    }
    let warp = Facts { nv_warp_size: Some(64), ..device("Apple", GPU) };
    assert_eq!(warp.simd_group_size(4, BUILDS)?, Some(64));
    assert_eq!(warp.reasonable_work_group_size_multiple(BUILDS)?, 64);
    let error = device("ATI", ACCELERATOR).simd_group_size(4, BUILDS).unwrap_err();
    assert_eq!(error.class(), Class::Unsupported);
    Ok(())
}

#[clmatrix_harness::test(once)]
fn strict_aliasing_is_assumed_for_two_vendors() {
    for (vendor, has_it) in [
        ("NVIDIA Corporation", true),
        ("Advanced Micro Devices, Inc.", true),
        ("nvidia", false),
        ("The NVIDIA", false),
        ("Intel(R) Corporation", false),
    ] {
        let options = device(vendor, GPU).fast_inaccurate_build_options();
        assert_eq!(options.contains(&"-cl-strict-aliasing"), has_it, "{vendor}");
        assert_eq!(options.len(), if has_it { 4 } else { 3 }, "{vendor}");
    }
}

#[clmatrix_harness::test(once)]
fn old_pocl_and_apple_count_the_members_of_structures() -> Result<()> {
    for (version, sound, with_bug) in [
        ("OpenCL 1.2 pocl 0.13", true, true),
        ("OpenCL 2.0 pocl 0.14", false, true),
        ("OpenCL 2.0 pocl 0.15-pre", false, false),
        ("OpenCL 3.0 PoCL 3.1+debian", false, false),
        // As of 0.14.
        ("OpenCL 2.0 pocl", false, true),
    ] {
        for (builds, expected) in [(BUILDS, sound), (BUILDS_WITH_BUG, with_bug)] {
            let bug = pocl(version).has_struct_arg_count_bug(builds)?;
            let expected = expected.then_some(StructArgCountBug::Pocl);
            assert_eq!(bug.value, expected, "{version}");
            assert_eq!(bug.is_known(), version != "OpenCL 2.0 pocl", "{version}");
        }
    }
    for (device_type, expected) in [(CPU, Some(StructArgCountBug::Apple)), (GPU, None)] {
        let apple = Facts { platform_name: "Apple".to_owned(), ..device("Apple", device_type) };
        assert_eq!(apple.has_struct_arg_count_bug(BUILDS_WITH_BUG)?.value, expected);
    }
    Ok(())
}

#[clmatrix_harness::test(once)]
fn an_unusual_version_of_pocl_gets_the_fallback() {
    let facts = pocl("OpenCL 3.0 PoCL HSTR");
    let fallback = Some(Version { major: 0, minor: 14 });
    let answer = facts.pocl_version(fallback);
    assert_eq!(answer.value, fallback);
    let platform_version = facts.platform_version.clone();
    assert_eq!(answer.warnings, [CharacterizationWarning::UnknownPoclVersion { platform_version }]);
    assert_eq!(device("", CPU).pocl_version(fallback).value, None);
}

#[clmatrix_harness::test(once)]
fn some_platforms_cache_builds() {
    let of =
        |platform_name: &str| Facts { platform_name: platform_name.to_owned(), ..device("", GPU) };
    assert_eq!(of("Portable Computing Language").has_src_build_cache(), Some(true));
    assert_eq!(of("AMD Accelerated Parallel Processing").has_src_build_cache(), Some(false));
    assert_eq!(of("Intel(R) OpenCL").has_src_build_cache(), None);
    assert_eq!(nvidia(1, 0).has_src_build_cache(), Some(true));
}

#[clmatrix_harness::test(once)]
fn svm_needs_opencl_2() -> Result<()> {
    let all = Some(SvmCapabilities::all());
    let of = |version: &str, svm_capabilities| Facts {
        platform_version: version.to_owned(),
        svm_capabilities,
        ..device("", GPU)
    };
    for (facts, has_it) in [
        (of("OpenCL 1.2 x", all), false),
        (of("OpenCL 1.2 x", None), false),
        (of("OpenCL 2.0 x", all), true),
        (of("OpenCL 3.0 x", Some(SvmCapabilities::empty())), false),
        (Facts { svm_capabilities: all, ..pocl("OpenCL 1.2 pocl 1.0") }, true),
        (Facts { svm_capabilities: all, ..pocl("OpenCL 2.0 pocl 0.14") }, false),
    ] {
        for found in [
            facts.has_coarse_grain_buffer_svm()?,
            facts.has_fine_grain_buffer_svm()?,
            facts.has_fine_grain_system_svm()?,
            facts.has_fine_grain_buffer_svm_atomics()?,
            facts.has_fine_grain_system_svm_atomics()?,
        ] {
            assert_eq!(found, has_it, "{facts:?}");
        }
    }
    let atomics =
        of("OpenCL 2.0 x", Some(SvmCapabilities::COARSE_GRAIN_BUFFER | SvmCapabilities::ATOMICS));
    assert!(!atomics.has_fine_grain_buffer_svm_atomics()?, "there is nothing to use them on");
    for unknown in [of("OpenCL 2.0 x", None), of("x", all), pocl("OpenCL 2.0 pocl")] {
        let error = unknown.has_coarse_grain_buffer_svm().unwrap_err();
        assert_eq!(error.class(), Class::Unsupported, "{unknown:?}");
    }
    Ok(())
}

#[clmatrix_harness::test(once)]
fn amd_devices_have_board_names() {
    assert_eq!(nvidia(9, 0).amd(), None);
    let facts = Facts {
        amd_board_name: Some("Radeon".to_owned()),
        amd_wavefront_width: Some(64),
        pci_address: Some("0000:03:00.0".to_owned()),
        ..device("Advanced Micro Devices, Inc.", GPU)
    };
    let amd = facts.amd().expect("it has a name");
    assert_eq!((amd.board_name.as_str(), amd.wavefront_width), ("Radeon", Some(64)));
    assert_eq!(amd.topology.as_deref(), Some("0000:03:00.0"));
    assert_eq!(facts.nvidia(), None);
}

#[clmatrix_harness::test(once)]
fn a_row_of_the_table_has_a_value_a_warning_or_an_error() {
    let row = |facts: &Facts, function: &str| {
        let mut rows = table(facts, BUILDS).into_iter();
        let row = rows.find(|row| row.function == function).expect("there is a row");
        serde_json::to_value(&row).expect("rows are plain data")
    };
    let function = "nv_compute_capability";
    let value = json!({"major": 9, "minor": 0});
    assert_eq!(
        row(&nvidia(9, 0), function),
        json!({"function": function, "value": value, "warnings": []})
    );
    let function = "local_memory_bank_count";
    assert_eq!(
        row(&nvidia(9, 0), function),
        json!({"function": function, "value": 32, "warnings": ["GuessedBankCount"]})
    );
    let cached = Facts { local_mem_type: LocalMemType::Global, ..device("", CPU) };
    let error = cached.local_memory_bank_count().unwrap_err().to_string();
    assert_eq!(row(&cached, function), json!({"function": function, "error": error}));
}
