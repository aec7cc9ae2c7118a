//! Tests of a crate on ocl, on each device: those of `docs/guide/bindings.md`.

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Context, Device};
use clmatrix_harness::CtxFactory;
use ocl::core;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

#[clmatrix_harness::test]
fn doubles_on_the_default_device() -> Result {
    assert_eq!(with_ocl::doubled(&[1.0, 2.0])?, [2.0, 4.0]);
    Ok(())
}

#[clmatrix_harness::test]
fn the_default_device_is_the_one_under_test(device: Device) -> Result {
    let theirs = ocl::Device::first(ocl::Platform::default())?;
    assert_eq!(theirs.as_core().as_raw(), device.as_raw());
    Ok(())
}

#[clmatrix_harness::test]
fn doubles_in_a_context_of_the_harness(ctx_factory: CtxFactory) -> Result {
    let context = ctx_factory()?;
    let device = ctx_factory.device();
    // SAFETY: the handles are valid, and the context of ocl has a reference of its own.
    let (theirs, device) = unsafe {
        (
            core::Context::from_raw_copied_ptr(context.as_raw()),
            core::DeviceId::from_raw(device.as_raw()),
        )
    };
    let queue = ocl::Queue::new(&ocl::Context::from(theirs), device.into(), None)?;
    assert_eq!(with_ocl::doubled_in(&queue, &[1.0, 2.0])?, [2.0, 4.0]);
    Ok(())
}

#[clmatrix_harness::test]
fn the_library_takes_a_context_of_ocl(device: Device) -> Result {
    // SAFETY: the handle is valid.
    let device = unsafe { core::DeviceId::from_raw(device.as_raw()) };
    let theirs = ocl::Context::builder().devices(ocl::Device::from(device)).build()?;
    // SAFETY: the handle is valid.
    let context = unsafe { Context::retain_raw(theirs.as_core().as_ptr()) }?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1.0_f32, 2.0])?;
    assert_eq!(buffer.to_vec::<f32>(&CommandQueue::new(&context)?)?, [1.0, 2.0]);
    Ok(())
}

clmatrix_harness::main!();
