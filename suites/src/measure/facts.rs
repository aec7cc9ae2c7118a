//! Measured answers beside what the driver itself says.

use clmatrix::Device;
use clmatrix::characterize::measure::{Confidence, Topic, Value};
use clmatrix::cl3::device::CL_GLOBAL;
use clmatrix::{Platform, Result};
use clmatrix_harness::{device, platform};
use rstest::rstest;

use super::{found, measured, number};

/// PyOpenCL knows of two platforms that keep builds.
#[rstest]
#[clmatrix_harness::test]
fn pocl_keeps_builds_and_oclgrind_does_not(device: Device, platform: Platform) -> Result<()> {
    let cached = found(&measured(device, Topic::Build), "has_src_build_cache");
    let name = platform.name()?;
    if let Some(cached) = cached {
        match name.as_str() {
            "Portable Computing Language" => assert_eq!(cached.value, Value::Flag(true)),
            "Oclgrind" => assert_eq!(cached.value, Value::Flag(false)),
            _ => assert!(matches!(cached.value, Value::Flag(_))),
        }
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn times_of_commands_are_steps_of_the_timer(device: Device) -> Result<()> {
    let all = measured(device, Topic::Timer);
    let Some(step) = number(&all, "profiling_timer_resolution") else { return Ok(()) };
    for sample in &all[0].series[0].points[0].samples {
        assert_eq!(sample % step, 0.0, "{sample} ns in steps of {step} ns");
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn usable_local_memory_is_part_of_what_there_is(device: Device) -> Result<()> {
    let all = measured(device, Topic::LocalMemory);
    let Some(usable) = number(&all, "usable_local_mem_size") else { return Ok(()) };
    assert!(usable > 0.0 && usable <= device.local_mem_size()? as f64, "{usable}");
    Ok(())
}

/// Caches have no banks, and a device that is interpreted has no work items in step that could meet
/// at one.
#[rstest]
#[clmatrix_harness::test]
fn a_cpu_s_local_memory_has_no_banks(device: Device) -> Result<()> {
    let all = measured(device, Topic::LocalMemory);
    if device.local_mem_type()? == CL_GLOBAL {
        for measured in all.iter().filter(|measured| measured.name != "usable_local_mem_size") {
            let why = measured.answer.as_ref().unwrap_err();
            assert!(why.reason.contains("cached global memory"), "{why}");
        }
    }
    assert_eq!(found(&all, "local_memory_bank_count"), None);
    Ok(())
}

/// PoCL's work items and Oclgrind's go one after the other. Those that go in step are a power of two.
#[rstest]
#[clmatrix_harness::test]
fn work_items_go_in_step_where_they_go_side_by_side(
    device: Device,
    platform: Platform,
) -> Result<()> {
    let all = measured(device, Topic::Simd);
    let Some(lanes) = number(&all, "get_simd_group_size") else { return Ok(()) };
    assert_eq!(lanes.log2().fract(), 0.0, "{lanes}");
    let name = platform.name()?;
    if ["Portable Computing Language", "Oclgrind"].contains(&name.as_str()) {
        let confidence = found(&all, "get_simd_group_size").map(|found| found.confidence);
        assert_ne!(confidence, Some(Confidence::High), "{lanes}");
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn numbers_that_a_device_has_not_are_not_measurable(device: Device) -> Result<()> {
    let all = measured(device, Topic::Arithmetic);
    for (name, extension) in
        [("fp64_throughput", "cl_khr_fp64"), ("fp16_throughput", "cl_khr_fp16")]
    {
        let has = device.extensions()?.split_whitespace().any(|listed| listed == extension);
        let measured = all.iter().find(|measured| measured.name == name).expect("it is measured");
        if !has {
            let why = measured.answer.as_ref().unwrap_err();
            assert!(why.reason.contains(extension), "{why}");
        }
    }
    Ok(())
}
