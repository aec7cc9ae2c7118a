//! What is measured of global memory, beside what cannot be otherwise.

use clmatrix::characterize::measure::{Topic, Value};
use clmatrix::{Device, Result};
use clmatrix_harness::device;
use rstest::rstest;

use super::{found, measured, number};

#[rstest]
#[clmatrix_harness::test]
fn caches_grow_and_memory_is_larger(device: Device) -> Result<()> {
    let all = measured(device, Topic::Latency);
    let Some(caches) = found(&all, "cache_sizes") else { return Ok(()) };
    let Value::Numbers(sizes) = caches.value else { panic!("{caches:?}") };
    assert!(sizes.is_sorted_by(|smaller, larger| smaller < larger), "{sizes:?}");
    let memory = device.global_mem_size()? as f64;
    assert!(sizes.iter().all(|size| *size < memory), "{sizes:?} of {memory}");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_line_has_a_power_of_two_of_bytes(device: Device) {
    let Some(line) = number(&measured(device, Topic::Latency), "cache_line_size") else { return };
    assert!((line as usize).is_power_of_two(), "{line}");
}

#[rstest]
#[clmatrix_harness::test]
fn nothing_is_pinned_for_a_cpu(device: Device) -> Result<()> {
    let all = measured(device, Topic::HostTransfer);
    let is_cpu = device.dev_type()? & clmatrix::cl3::device::CL_DEVICE_TYPE_CPU != 0;
    for name in ["host_to_device_pinned", "device_to_host_pinned"] {
        assert!(!is_cpu || found(&all, name).is_none(), "{name}");
    }
    Ok(())
}

/// As the driver's own copies are measured in the same run, so are those of kernels.
#[rstest]
#[clmatrix_harness::test]
fn each_way_of_moving_has_its_own_rate(device: Device) {
    let all = measured(device, Topic::Bandwidth);
    let moved = all.iter().filter(|measured| measured.answer.is_ok());
    for measured in moved {
        let [series] = &measured.series[..] else { panic!("{measured:?}") };
        let rates = series.points.iter().flat_map(|point| &point.samples);
        assert!(rates.clone().all(|rate| *rate > 0.0), "{measured:?}");
        let fastest = rates.copied().fold(0.0, f64::max);
        let rate = number(&all, &measured.name).unwrap();
        assert!(rate <= fastest, "{rate} of {fastest}");
    }
}
