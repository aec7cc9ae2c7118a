//! Sub-devices (OpenCL 3.0, 4.3).

use crate::support::unanswered;
use clmatrix::cl3::device::{CL_DEVICE_PARTITION_BY_COUNTS, CL_DEVICE_PARTITION_EQUALLY};
use clmatrix::{Device, Partition, Result};
use clmatrix_harness::skip;

/// Divides the device. Skips the test where the device reports no such parts, or one part only.
pub fn parts(device: &Device, partition: Partition<'_>) -> Result<Vec<Device>> {
    let units = device.opencl3().max_compute_units().map_err(unanswered)?;
    let (kind, count, needed) = match partition {
        Partition::Equally(each) => (CL_DEVICE_PARTITION_EQUALLY, units / each, 2 * each),
        Partition::ByCounts(counts) => {
            (CL_DEVICE_PARTITION_BY_COUNTS, counts.len() as u32, counts.iter().sum())
        }
        other => panic!("no test has parts {other:?}"),
    };
    let kinds = device.opencl3().partition_properties().map_err(unanswered)?;
    let most = device.opencl3().partition_max_sub_devices().map_err(unanswered)?;
    if !kinds.contains(&kind) || units < needed || most < count {
        skip!(
            "CL_DEVICE_MAX_COMPUTE_UNITS {units}, CL_DEVICE_PARTITION_MAX_SUB_DEVICES {most} and \
             CL_DEVICE_PARTITION_PROPERTIES {kinds:x?} do not allow {partition:?}"
        );
    }
    let parts = device.partition(partition)?;
    assert_eq!(
        parts.len(),
        count as usize,
        "parts of clCreateSubDevices for {partition:?} of {units} units"
    );
    Ok(parts)
}
