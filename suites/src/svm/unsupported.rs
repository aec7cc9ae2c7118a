//! Devices without shared virtual memory, or without a kind of it, say so.

use clmatrix::memory::{SvmAllocation, SvmFlags, SystemSvm};
use clmatrix::{Class, Device, Error, Result};
use clmatrix_harness::{device, skip};
use rstest::rstest;

use super::{COARSE, FINE};
use crate::support::on_device::{OnDevice, on_device};
use crate::support::unanswered;

/// CL_DEVICE_SVM_CAPABILITIES: coarse-grain buffers, and the host's own memory.
const ANY: u64 = 1;
const SYSTEM: u64 = 4;

fn skip_with(device: Device, capability: u64) {
    if device.opencl3().svm_mem_capability() & capability != 0 {
        skip!("the device has such memory");
    }
}

/// It names the device, and what to do instead.
#[track_caller]
fn assert_unsupported<T>(result: Result<T>, device: Device, instead: &str) -> Result<()> {
    let error = match result {
        Ok(_) => panic!("there is some"),
        Err(error) => error,
    };
    assert_eq!((error.class(), error.code_name()), (Class::Unsupported, "CL_INVALID_OPERATION"));
    assert!(error.detail().contains(&device.opencl3().name().map_err(unanswered)?), "{error}");
    assert!(error.detail().contains(instead), "{error}");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn allocations_are_refused_without_svm(
    on_device: OnDevice,
    device: Device,
    #[values(COARSE, FINE, FINE | SvmFlags::ATOMICS)] flags: SvmFlags,
    #[values(0, 64)] size: usize,
) -> Result<()> {
    skip_with(device.clone(), ANY);
    let result = SvmAllocation::new(&on_device.context, size, 0, flags);
    assert_unsupported(result, device, "use a Buffer")
}

#[clmatrix_harness::test]
fn arrays_are_refused_without_svm(on_device: OnDevice, device: Device) -> Result<()> {
    skip_with(device.clone(), ANY);
    let result = SvmAllocation::builder(&on_device.context).array::<f32, _>((2, 3));
    assert_unsupported(result, device, "use a Buffer")
}

/// The caller's value comes back.
#[clmatrix_harness::test]
fn host_memory_is_refused_without_system_svm(on_device: OnDevice, device: Device) -> Result<()> {
    skip_with(device.clone(), SYSTEM);
    let Err(returned) = SystemSvm::new(&on_device.context, vec![1_u8, 2, 3]) else {
        panic!("it was taken");
    };
    assert_eq!(returned.memory, [1, 2, 3]);
    assert_unsupported(Err::<(), Error>(returned.error), device, "use an SvmAllocation")
}
