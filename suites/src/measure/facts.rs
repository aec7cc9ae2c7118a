//! Measured answers beside what the driver itself says.

use clmatrix::Device;
use clmatrix::characterize::measure::{Topic, Value};
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
