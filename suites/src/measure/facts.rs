//! Measured answers beside what the driver itself says.

use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
use clmatrix::{CommandQueue, QueueProperties};

use super::*;

/// PyOpenCL knows of two platforms that keep builds.
#[clmatrix_harness::test(alone)]
fn pocl_caches_builds_and_oclgrind_does_not(context: Context, platform: Platform) {
    let cached = certain(&measured(&context, Topic::Build), "has_src_build_cache");
    let Some(cached) = cached else { return };
    match platform.name().as_str() {
        "Portable Computing Language" => assert_eq!(cached.value, Value::Flag(true)),
        "Oclgrind" => assert_eq!(cached.value, Value::Flag(false)),
        _ => assert!(matches!(cached.value, Value::Flag(_))),
    }
}

#[clmatrix_harness::test(alone)]
fn times_of_commands_are_steps_of_the_timer(context: Context) -> Result<()> {
    const COMMANDS: usize = 32;
    let all = measured(&context, Topic::Timer);
    let Some(step) = certain(&all, "profiling_timer_resolution").map(as_number) else {
        return Ok(());
    };
    // Commands that the measurement has not timed.
    let queue = CommandQueue::with_properties(&context, QueueProperties::PROFILING)?;
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 4096)?;
    for _ in 0..COMMANDS {
        let event = enqueue_fill(&queue, &buffer, &1_u32, ..)?;
        event.wait()?;
        let profile = event.profile()?;
        let time = profile.ended - profile.started;
        assert_eq!(time % step as u64, 0, "{time} ns in steps of {step} ns");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn usable_local_memory_is_at_most_the_local_memory(context: Context) -> Result<()> {
    let all = measured(&context, Topic::LocalMemory);
    let Some(usable) = number(&all, "usable_local_mem_size") else { return Ok(()) };
    let size = device(&context).local_mem_size().map_err(unanswered)? as f64;
    assert!(usable > 0.0 && usable <= size, "{usable} of {size}");
    Ok(())
}

/// Caches have no banks, and a device that is interpreted has no work items in step that could meet
/// at one. NVIDIA's have 32 since the first that knew OpenCL 1.1.
#[clmatrix_harness::test(alone)]
fn banks_are_those_of_the_hardware(context: Context, platform: Platform) -> Result<()> {
    let all = measured(&context, Topic::LocalMemory);
    if device(&context).local_mem_type().map_err(unanswered)? == CL_GLOBAL {
        for measured in all.iter().filter(|measured| measured.name != "usable_local_mem_size") {
            let missing = measured.answer.as_ref().unwrap_err();
            assert!(missing.reason.contains("cached global memory"), "{missing}");
        }
    }
    let banks = certain(&all, "local_memory_bank_count").map(as_number);
    if device(&context).dev_type().map_err(unanswered)? & CL_DEVICE_TYPE_CPU != 0 {
        assert_eq!(banks, None);
    }
    if platform.name() == "NVIDIA CUDA" {
        assert!(banks.is_none_or(|banks| banks == 32.0), "{banks:?}");
    }
    Ok(())
}

/// PoCL's work items and Oclgrind's go one after the other. Work items that go in step are a power of two.
#[clmatrix_harness::test(alone)]
fn work_items_run_in_lockstep_where_they_run_in_parallel(context: Context, platform: Platform) {
    let all = measured(&context, Topic::Simd);
    let Some(lanes) = certain(&all, "get_simd_group_size").map(as_number) else { return };
    assert_eq!(lanes.log2().fract(), 0.0, "{lanes}");
    let name = platform.name();
    assert!(!["Portable Computing Language", "Oclgrind"].contains(&name.as_str()), "{lanes}");
}

#[clmatrix_harness::test(alone)]
fn missing_properties_are_not_measurable(context: Context) {
    let all = measured(&context, Topic::Arithmetic);
    for (name, extension) in
        [("fp64_throughput", "cl_khr_fp64"), ("fp16_throughput", "cl_khr_fp16")]
    {
        let measured = all.iter().find(|measured| measured.name == name).expect("it is measured");
        // The driver's own text, beside what the library makes of it.
        let text = context.default_device().opencl3().extensions().expect("CL_DEVICE_EXTENSIONS");
        if !text.split_whitespace().any(|word| word == extension) {
            let missing = measured.answer.as_ref().unwrap_err();
            assert!(missing.reason.contains(extension), "{missing}");
        }
    }
}

/// The times are properties of the result: another load of the machine is no failure.
#[clmatrix_harness::test(alone)]
fn launches_take_time(context: Context) {
    let all = measured(&context, Topic::Launch);
    for name in ["launch_latency", "launch_and_wait"] {
        let Some(time) = number(&all, name) else { continue };
        record_property(name, time);
        assert!(time > 0.0, "{name}: {time}");
    }
}

#[clmatrix_harness::test(alone)]
fn measured_memory_is_at_most_the_global_memory(context: Context) -> Result<()> {
    let all = device(&context).global_mem_size().map_err(unanswered)? as f64;
    for (topic, name) in
        [(Topic::Allocation, "largest_buffer"), (Topic::Exhaustion, "total_memory")]
    {
        let measured = measured(&context, topic);
        let measured = measured.iter().find(|measured| measured.name == name).expect("it is there");
        let tried = measured.series.iter().flat_map(|series| &series.points);
        for point in tried {
            assert!(point.x <= all, "{name}: {} of {all} bytes", point.x);
        }
        if let Ok(Finding { value: Value::Number(found), .. }) = measured.answer {
            assert!(found <= all, "{name}: {found} of {all} bytes");
        }
    }
    Ok(())
}
