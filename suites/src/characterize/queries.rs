//! Each answer against what the driver itself says.

use clmatrix::opencl3::device::{CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU};
use clmatrix::{Context, Partition, Platform, Program};
use clmatrix_characterize::Answer;

use super::*;
use crate::support::parts::parts;

#[clmatrix_harness::test]
fn facts_are_those_of_the_driver(
    Queried(facts, device): Queried,
    platform: Platform,
) -> Result<()> {
    let device = device.opencl3();
    assert_eq!(facts.platform_name, platform.opencl3().name().map_err(unanswered)?.trim());
    assert_eq!(facts.platform_vendor, platform.opencl3().vendor().map_err(unanswered)?.trim());
    assert_eq!(facts.platform_version, platform.opencl3().version().map_err(unanswered)?.trim());
    assert_eq!(facts.name, device.name().map_err(unanswered)?.trim());
    assert_eq!(facts.vendor, device.vendor().map_err(unanswered)?.trim());
    assert_eq!(facts.device_type.bits(), device.dev_type().map_err(unanswered)?);
    assert_eq!(facts.max_compute_units, device.max_compute_units().map_err(unanswered)?);
    assert_eq!(facts.host_unified_memory, device.host_unified_memory().map_err(unanswered)?);
    let local = match device.local_mem_type().map_err(unanswered)? {
        0 => LocalMemType::None,
        1 => LocalMemType::Local,
        2 => LocalMemType::Global,
        other => panic!("local memory of type {other}"),
    };
    assert_eq!(
        (facts.local_mem_type, facts.local_mem_size),
        (local, device.local_mem_size().map_err(unanswered)?)
    );
    assert_eq!(facts.svm_capabilities.map(|svm| svm.bits()), device.svm_mem_capability().into());
    Ok(())
}

#[clmatrix_harness::test]
fn doubles_are_supported_where_extensions_list_them(Queried(facts, device): Queried) -> Result<()> {
    let extensions = device.opencl3().extensions().map_err(unanswered)?;
    let lists = |name| extensions.split_whitespace().any(|listed| listed == name);
    assert_eq!(facts.has_double_support(), lists("cl_khr_fp64"));
    assert_eq!(facts.has_amd_double_support(), lists("cl_amd_fp64"));
    Ok(())
}

#[clmatrix_harness::test(requires(fp64))]
fn kernels_with_doubles_build(Queried(facts, _): Queried, on_device: OnDevice) {
    let enable = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
    let pragma = if facts.has_double_support() { enable } else { "" };
    let source = format!("{pragma}kernel void k(global double *a) {{ a[0] = 1.0; }}");
    on_device.kernel(&source, "").expect("the kernel is there");
}

#[clmatrix_harness::test]
fn the_fast_options_build(Queried(facts, _): Queried, on_device: OnDevice) {
    let options = facts.fast_inaccurate_build_options().join(" ");
    let source = "kernel void k(global float *a) { a[0] = a[1] * a[2] + sin(a[3]); }";
    if let Err(error) = on_device.kernel(source, "") {
        skip!("a kernel with `sin` does not build, without options: {error}");
    }
    on_device.kernel(source, &options).expect("the kernel is there");
}

fn preferred_multiple(context: &Context) -> Result<usize> {
    // The kernel that is tried: another kernel may have another preference.
    let source = "kernel void k(global float *a) { a[get_global_id(0)] = 0; }";
    let kernel = Program::build(context, source)?.kernel("k")?;
    Ok(kernel.work_group_info(context.default_device())?.preferred_multiple)
}

#[clmatrix_harness::test]
fn the_work_group_multiple_is_the_preferred_one_of_kernels(
    Queried(facts, device): Queried,
    on_device: OnDevice,
) -> Result<()> {
    let expected = match device.opencl3().wrap_size_nv() {
        Ok(warp) => warp as usize,
        Err(_) => preferred_multiple(&on_device.context)?,
    };
    assert_eq!(facts.reasonable_work_group_size_multiple(device.clone())?, expected);
    assert_eq!(facts.reasonable_work_group_size_multiple((&on_device.context, &device))?, expected);
    Ok(())
}

#[clmatrix_harness::test]
fn a_cpu_has_no_implicit_simd_and_a_warp_is_one(Queried(facts, device): Queried) -> Result<()> {
    let found = match facts.simd_group_size(4, device.clone()) {
        // A vendor with `ati` in its name counts as AMD, whose devices are processors.
        Err(error) if !facts.device_type.intersects(DeviceType::CPU | DeviceType::GPU) => {
            assert_eq!(error.code_name(), "CL_INVALID_DEVICE_TYPE");
            return Ok(());
        }
        found => found?,
    };
    match device.opencl3().wrap_size_nv() {
        Ok(warp) => assert_eq!(found, Some(warp as usize)),
        Err(_) if facts.device_type.is_cpu_only() => assert_eq!(found, Some(1)),
        Err(_) => assert_ne!(found, Some(0)),
    }
    Ok(())
}

/// The answer is the driver's count, in each version of the query.
#[clmatrix_harness::test]
fn a_structure_is_one_argument_except_on_old_drivers(
    Queried(facts, device): Queried,
    on_device: OnDevice,
) -> Result<()> {
    let source = "struct pair { long first, second; }; kernel void k(struct pair pair) {}";
    let context = &on_device.context;
    let count = Program::build(context, source)?.kernel("k")?.num_args();
    let bug = facts.has_struct_arg_count_bug((context, &device))?;
    assert!(bug.is_known(), "{:?}", bug.warnings);
    assert_eq!(bug.value.is_some(), count != 1, "{count} arguments");
    Ok(())
}

#[clmatrix_harness::test]
fn banks_follow_from_the_type_of_device(Queried(facts, device): Queried) -> Result<()> {
    let device = device.opencl3();
    let device_type = device.dev_type().map_err(unanswered)?;
    let is_gpu = device_type & CL_DEVICE_TYPE_GPU != 0;
    let is_cpu = device_type & CL_DEVICE_TYPE_CPU != 0 && !is_gpu;
    let side_by_side = facts.simultaneous_work_items_on_local_access();
    let banks = facts.local_memory_bank_count();
    assert_eq!(facts.local_memory_access_granularity(), 4);
    if let Ok(major) = device.compute_capability_major_nv() {
        let expected = if major < 2 { 16 } else { 32 };
        assert_eq!((side_by_side.value, banks?.value), (expected, expected));
    } else if is_cpu && device.local_mem_type().map_err(unanswered)? == 2 {
        assert_eq!(side_by_side.value, 1);
        let error = banks.expect_err("a cache has no banks");
        assert_eq!(error.class(), Class::Unsupported);
        assert!(error.detail().contains("cache"), "{error}");
    } else {
        let banks = banks?;
        assert_eq!((banks.value, banks.warnings.len()), (16, 1));
        assert_eq!(side_by_side.is_known(), is_cpu, "known on a processor alone: {side_by_side:?}");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn all_local_memory_is_usable_but_for_old_arguments(Queried(facts, device): Queried) -> Result<()> {
    let size = device.opencl3().local_mem_size().map_err(unanswered)?;
    let is_old = device.opencl3().compute_capability_major_nv().is_ok_and(|major| major < 2);
    let taken = |bytes| if is_old { bytes } else { 0 };
    assert_eq!(facts.usable_local_mem_size(None), size - taken(256));
    assert_eq!(facts.usable_local_mem_size(Some(3)), size - taken(12));
    Ok(())
}

#[clmatrix_harness::test]
fn vendor_extensions_identify_the_device(Queried(facts, device): Queried) -> Result<()> {
    let capability = match (
        device.opencl3().compute_capability_major_nv(),
        device.opencl3().compute_capability_minor_nv(),
    ) {
        (Ok(major), Ok(minor)) => Some(Version { major, minor }),
        _ => None,
    };
    assert_eq!(facts.nv_compute_capability(), capability);
    assert_eq!(facts.nvidia().map(|gpu| gpu.compute_capability), capability);
    if let Some(gpu) = facts.nvidia() {
        assert_eq!(gpu.sm_count, device.opencl3().max_compute_units().map_err(unanswered)?);
        assert_eq!(gpu.warp_size, device.opencl3().wrap_size_nv().ok());
    }
    match facts.amd() {
        Some(gpu) => assert_eq!(gpu.wavefront_width, device.opencl3().wavefront_width_amd().ok()),
        None => assert!(
            !device
                .opencl3()
                .extensions()
                .map_err(unanswered)?
                .contains("cl_amd_device_attribute_query")
        ),
    }
    Ok(())
}

#[clmatrix_harness::test]
fn svm_support_follows_from_the_capabilities(Queried(facts, device): Queried) -> Result<()> {
    let version = Version::parse(&facts.platform_version).expect("a version");
    // Before OpenCL 2.0 there is nothing to ask for.
    let bits = if version.major >= 2 { device.opencl3().svm_mem_capability() } else { 0 };
    let has = |bit: u64| bits & bit != 0;
    assert_eq!(facts.has_coarse_grain_buffer_svm()?, has(1));
    assert_eq!(facts.has_fine_grain_buffer_svm()?, has(2));
    assert_eq!(facts.has_fine_grain_system_svm()?, has(4));
    assert_eq!(facts.has_fine_grain_buffer_svm_atomics()?, has(2) && has(8));
    assert_eq!(facts.has_fine_grain_system_svm_atomics()?, has(4) && has(8));
    Ok(())
}

#[clmatrix_harness::test]
fn pocl_has_a_version_and_caches_builds(
    Queried(facts, _): Queried,
    platform: Platform,
) -> Result<()> {
    let version = facts.pocl_version(None);
    assert!(version.is_known(), "{:?}", version.warnings);
    if platform.opencl3().name().map_err(unanswered)? == "Portable Computing Language" {
        let version = version.value.expect("a version");
        let of_platform = platform.opencl3().version().map_err(unanswered)?.to_lowercase();
        assert!(of_platform.contains(&format!("pocl {version}")), "{version}");
        assert_eq!(facts.has_src_build_cache(), Some(true));
    } else {
        assert_eq!(version.value, None);
    }
    Ok(())
}

/// The device is a part of the device of the context.
#[clmatrix_harness::test(requires(opencl = "1.2"))]
fn a_context_without_the_device_is_refused(on_device: OnDevice) -> Result<()> {
    let parts = parts(on_device.device(), Partition::Equally(1))?;
    let there = (&on_device.context, &parts[0]);
    let error = there.preferred_work_group_size_multiple().unwrap_err();
    assert_eq!(error.code_name(), "CL_INVALID_DEVICE");
    assert!(error.detail().contains("does not contain the device"), "{error}");
    assert_eq!(there.struct_arg_count().unwrap_err().code(), error.code());
    Ok(())
}

#[clmatrix_harness::test]
fn the_table_lists_each_property_once(Queried(facts, device): Queried) -> Result<()> {
    let table = table(&facts, device.clone());
    let mut names: Vec<_> = table.iter().map(|row| row.function).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), table.len());
    let answer = |function| {
        let row = table.iter().find(|row| row.function == function).expect("there is a row");
        row.answer.as_ref().map(|answer| answer.value.clone()).map_err(ToString::to_string)
    };
    let multiple = facts.reasonable_work_group_size_multiple(device)?;
    assert_eq!(answer("reasonable_work_group_size_multiple"), Ok(Answer::Number(multiple as u64)));
    assert_eq!(answer("has_double_support"), Ok(Answer::Flag(facts.has_double_support())));
    let banks = facts.local_memory_bank_count();
    assert_eq!(
        answer("local_memory_bank_count"),
        banks.map(|banks| Answer::Number(banks.value.into())).map_err(|error| error.to_string())
    );
    Ok(())
}
