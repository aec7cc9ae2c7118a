//! The keys of caches: objects by their handles, retained as long as there are values.

use std::sync::Arc;

use clmatrix::cache::{
    FirstArg, FirstArgCache, clear_first_arg_caches, first_arg_dependent_memoize,
};
use clmatrix::memory::{AddressingMode, Buffer, FilterMode, MemFlags, Sampler};
use clmatrix::{Device, Program, Result};

use crate::support::on_device::{OnDevice, soon};
use crate::support::unanswered;

/// Values of any object, each computed with the next number.
static NUMBERS: FirstArgCache<(), u32> = FirstArgCache::new();

fn number(object: &impl FirstArg, new: u32) -> Result<u32> {
    Ok(*NUMBERS.get_or_compute(object, &(), || new)?)
}

/// The two objects have values of their own, as long as `count` is one more than without, which it
/// is again when the caches are cleared.
fn check<O: FirstArg>(objects: [&O; 2], count: impl Fn() -> Result<u32>) -> Result<()> {
    let before = count()?;
    for _ in 0..2 {
        assert_eq!((number(objects[0], 1)?, number(objects[1], 2)?), (1, 2));
    }
    assert_eq!(number(objects[0], 3)?, 1);
    assert_eq!(count()?, before + 1);
    clear_first_arg_caches();
    assert!(soon(|| Ok(count()? == before))?, "{} references, not {before}", count()?);
    assert_eq!(number(objects[0], 4)?, 4);
    clear_first_arg_caches();
    Ok(())
}

#[clmatrix_harness::test]
fn values_are_cached_per_queue(on_device: OnDevice) -> Result<()> {
    let queues = [on_device.another_queue(), on_device.another_queue()];
    for _ in 0..2 {
        assert_eq!((number(&queues[0], 1)?, number(&queues[1], 2)?), (1, 2));
    }
    // A queue keeps its context, and the cache keeps the queues.
    let count = || -> Result<u32> { on_device.context.reference_count() };
    let before = count()?;
    drop(queues);
    assert_eq!(count()?, before);
    clear_first_arg_caches();
    assert!(soon(|| Ok(count()? < before))?, "{} references", count()?);
    Ok(())
}

#[clmatrix_harness::test]
fn values_are_cached_per_program(on_device: OnDevice) -> Result<()> {
    let make = || Program::build(&on_device.context, "kernel void k() {}");
    let programs = [make()?, make()?];
    check([&programs[0], &programs[1]], || programs[0].reference_count())
}

#[clmatrix_harness::test]
fn values_are_cached_per_buffer(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    let other = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    assert_eq!((number(&buffer, 1)?, number(&other, 2)?, number(&buffer.clone(), 3)?), (1, 2, 1));
    let region = buffer.sub_buffer(..)?;
    assert_eq!(number(&region, 4)?, 4);
    clear_first_arg_caches();
    assert_eq!(number(&buffer, 5)?, 5);
    clear_first_arg_caches();
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn values_are_cached_per_sampler(on_device: OnDevice) -> Result<()> {
    let make = |filter| Sampler::new(&on_device.context, false, AddressingMode::None, filter);
    let (nearest, linear) = (make(FilterMode::Nearest)?, make(FilterMode::Linear)?);
    assert_eq!(
        (number(&nearest, 1)?, number(&linear, 2)?, number(&nearest.clone(), 3)?),
        (1, 2, 1)
    );
    clear_first_arg_caches();
    assert_eq!(number(&nearest, 4)?, 4);
    clear_first_arg_caches();
    Ok(())
}

/// A device is the same however often it is enumerated.
#[clmatrix_harness::test]
fn values_are_cached_per_device(device: Device) -> Result<()> {
    let name = first_arg_dependent_memoize(|device: &Device, _: &()| -> Result<_> {
        device.opencl3().name().map_err(unanswered)
    });
    let first = name(&device, &())?;
    assert_eq!(*first, device.opencl3().name().map_err(unanswered)?);
    // SAFETY: the device is valid.
    let again = unsafe { Device::retain_raw(device.as_raw()) }?;
    assert!(Arc::ptr_eq(&first, &name(&again, &())?));
    clear_first_arg_caches();
    assert!(!Arc::ptr_eq(&first, &name(&device, &())?));
    Ok(())
}
