//! Devices without shared virtual memory, or without a kind of it, say so.

use clmatrix::{Class, Error};

use super::*;

/// CL_DEVICE_SVM_CAPABILITIES: coarse-grain buffers, and the host's own memory.
const ANY: u64 = 1;
const SYSTEM: u64 = 4;

fn skip_with(on_device: &OnDevice, capability: u64) {
    let device = on_device.context.default_device();
    if device.opencl3().svm_mem_capability() & capability != 0 {
        skip!("the device has such memory");
    }
}

/// It names the device, and what to do instead.
#[track_caller]
fn assert_unsupported<T>(result: Result<T>, on_device: &OnDevice, instead: &str) -> Result<()> {
    let device = on_device.context.default_device();
    let Err(error) = result else { panic!("there is some") };
    assert_eq!((error.class(), error.code_name()), (Class::Unsupported, "CL_INVALID_OPERATION"));
    assert!(error.detail().contains(&device.opencl3().name().map_err(unanswered)?), "{error}");
    assert!(error.detail().contains(instead), "{error}");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn allocations_are_refused_without_svm(
    on_device: OnDevice,
    #[values(COARSE, FINE, FINE | SvmFlags::ATOMICS)] flags: SvmFlags,
    #[values(0, 64)] size: usize,
) -> Result<()> {
    skip_with(&on_device, ANY);
    let result = SvmAllocation::new(&on_device.context, size, 0, flags);
    assert_unsupported(result, &on_device, "use a Buffer")
}

#[clmatrix_harness::test]
fn arrays_are_refused_without_svm(on_device: OnDevice) -> Result<()> {
    skip_with(&on_device, ANY);
    let result = SvmAllocation::builder(&on_device.context).array::<f32, _>((2, 3));
    assert_unsupported(result, &on_device, "use a Buffer")
}

/// The caller's value comes back.
#[clmatrix_harness::test]
fn host_memory_is_refused_without_system_svm(on_device: OnDevice) -> Result<()> {
    skip_with(&on_device, SYSTEM);
    let Err(returned) = SystemSvm::new(&on_device.context, vec![1_u8, 2, 3]) else {
        panic!("it was taken");
    };
    assert_eq!(returned.memory, [1, 2, 3]);
    assert_unsupported(Err::<(), Error>(returned.error), &on_device, "use an SvmAllocation")
}
