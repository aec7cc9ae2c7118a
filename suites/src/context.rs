//! The contexts that a test gets: another one at each call, on one device, and gone after use.

use clmatrix::cl3::context::{CL_CONTEXT_PLATFORM, CL_CONTEXT_PROPERTIES, get_context_info};
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{
    CommandQueue, Context, Device, Error, Partition, Platform, Program, QueueProperties, Result,
};
use clmatrix_harness::CtxFactory;

use crate::support::on_device::{OnDevice, soon};
use crate::support::parts::parts;

#[clmatrix_harness::test]
fn each_call_creates_a_new_context(ctx_factory: CtxFactory) -> Result<()> {
    let (first, second) = (ctx_factory()?, ctx_factory()?);
    assert_ne!(first.as_raw(), second.as_raw());
    let count = first.reference_count()?;
    assert_eq!(second.reference_count()?, count);
    assert!(count <= 2, "the test has a reference, and the worker may have one: {count}");
    Ok(())
}

#[clmatrix_harness::test]
fn a_context_has_the_device_under_test_only(ctx_factory: CtxFactory, device: Device) -> Result<()> {
    let context = ctx_factory()?;
    assert_eq!(context.devices(), [device]);
    Ok(())
}

/// Other libraries look for the platform there.
#[clmatrix_harness::test]
fn a_context_states_its_platform(ctx_factory: CtxFactory, platform: Platform) -> Result<()> {
    let context = ctx_factory()?;
    let properties = get_context_info(context.as_raw(), CL_CONTEXT_PROPERTIES)
        .map_err(|code| Error::from_call("clGetContextInfo", code))?;
    let expected = [CL_CONTEXT_PLATFORM, platform.as_raw() as isize, 0];
    assert_eq!(Vec::<isize>::from(properties), expected);
    Ok(())
}

#[clmatrix_harness::test]
fn the_device_belongs_to_the_platform(device: Device, platform: Platform) -> Result<()> {
    assert_eq!(device.platform()?, platform);
    Ok(())
}

#[clmatrix_harness::test]
fn fixtures_agree_on_the_device(ctx_factory: CtxFactory, device: Device) {
    assert_eq!(ctx_factory.device().as_raw(), device.as_raw());
}

#[clmatrix_harness::test]
fn a_context_may_have_two_devices(device: Device) -> Result<()> {
    let parts = parts(&device, Partition::ByCounts(&[1, 1]))?;
    let context = Context::new(&parts)?;
    let source = "kernel void k(global uint *out, uint value) { out[get_global_id(0)] = value; }";
    let program = Program::build(&context, source)?;
    let mut kernel = program.kernel("k")?;
    let shared = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32; 4])?;
    for (part, value) in parts.iter().zip([7_u32, 8]) {
        let queue = CommandQueue::on_device(&context, part, QueueProperties::empty())?;
        assert_eq!((queue.device(), queue.context()), (part, context.clone()));
        let own = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[2_u32; 4])?;
        // SAFETY: the arguments are those that the kernel declares, with an element for each work item.
        unsafe { kernel.launch().arg(&own).arg(value).global(4).enqueue(&queue)? };
        own.slice::<u32>(1..).copy_to(&queue, shared.slice(1..))?;
        assert_eq!(shared.to_vec::<u32>(&queue)?, [1, value, value, value]);
    }
    let error = Program::build(&context, "kernel void k() { undeclared_name = 1; }").unwrap_err();
    let log = error.build_log().expect("a build log");
    for (position, part) in parts.iter().enumerate() {
        assert!(log.contains(&format!("device {position}, {}:", part.name())), "{log}");
    }
    assert!(log.contains("undeclared_name"), "{log}");
    Ok(())
}

/// Drivers limit the number of contexts, so a context must be released with its last user.
// quirk: DRIVER-15
#[clmatrix_harness::test(fresh_context)]
fn many_contexts_are_created_in_turn(ctx_factory: CtxFactory) -> Result<()> {
    for _ in 0..3 {
        let context = ctx_factory()?;
        let queue = CommandQueue::new(&context)?;
        let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[7_u32])?;
        let mut back = [0_u32];
        buffer.read(&queue, &mut back)?;
        assert_eq!(back, [7]);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_context_is_released_with_its_last_object(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let before = context.reference_count()?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32; 64])?;
    let region = buffer.sub_buffer(..)?;
    region.write(&queue, &[2_u32; 64])?;
    drop((region, buffer, queue));
    let count = || context.reference_count();
    assert!(soon(|| Ok(count()? == before))?, "{} references, {before} before", count()?);
    Ok(())
}

#[clmatrix_harness::test(fresh_context)]
fn objects_keep_their_context(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = on_device;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3])?;
    drop(context);
    let mut back = [0_u32; 3];
    buffer.read(&queue, &mut back)?;
    assert_eq!(back, [1, 2, 3]);
    Ok(())
}

#[clmatrix_harness::test]
fn objects_of_another_context_are_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let other: Context = ctx_factory()?;
    let stranger = Buffer::from_slice(&other, MemFlags::READ_WRITE, &[1_u32])?;
    let mut back = [0_u32];
    let error = stranger.read(&on_device.queue, &mut back).unwrap_err();
    assert_eq!(error.code_name(), "CL_INVALID_CONTEXT");
    Ok(())
}
