//! Shares objects between ocl and clmatrix on each device, in both directions.

use std::error::Error;
use std::slice;

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Context, Device, Kernel, Platform};
use ocl::core;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Doubles each element.
const SOURCE: &str = "kernel void twice(global float *values) { values[get_global_id(0)] *= 2; }";

const VALUES: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
const DOUBLED: [f32; 4] = [2.0, 4.0, 6.0, 8.0];

fn main() -> Result<()> {
    for platform in Platform::all()? {
        for device in platform.devices()? {
            println!("{} on {}", device.name(), platform.name());
            ocl_uses_objects_of_clmatrix(&platform, &device)?;
            clmatrix_uses_objects_of_ocl(&device)?;
        }
    }
    Ok(())
}

/// Builds and enqueues a kernel by ocl, with clmatrix's context, queue and buffer.
fn ocl_uses_objects_of_clmatrix(platform: &Platform, device: &Device) -> Result<()> {
    let context = Context::new([device])?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &VALUES)?;
    // SAFETY: the handles are valid; the results have references of their own.
    let (their_context, their_device, their_queue, their_buffer) = unsafe {
        (
            core::Context::from_raw_copied_ptr(context.as_raw()),
            core::DeviceId::from_raw(device.as_raw()),
            core::CommandQueue::from_raw_copied_ptr(queue.as_raw()),
            core::Mem::from_raw_copied_ptr(buffer.as_raw()),
        )
    };
    let found = ocl::Context::from(their_context.clone()).platform()?.expect("the platform");
    assert_eq!(found.as_core().as_ptr(), platform.as_raw());
    let program = ocl::Program::builder()
        .src(SOURCE)
        .devices(ocl::Device::from(their_device))
        .build(&ocl::Context::from(their_context))?;
    let kernel = core::create_kernel(&program, "twice")?;
    core::set_kernel_arg(&kernel, 0, core::ArgVal::mem(&their_buffer))?;
    let mut event = core::Event::null();
    // SAFETY: the argument is what the kernel declares, with an element for each work item, and is not mapped; the
    // event is recorded below.
    let launched = unsafe {
        core::enqueue_kernel(
            &their_queue,
            &kernel,
            1,
            None,
            &[VALUES.len(), 1, 1],
            None,
            None::<&core::Event>,
            Some(&mut event),
        )?;
        queue.event_retain_raw(*event.as_ptr_ref())?
    };
    clmatrix::memory::MemoryObject::record_use(&buffer, &launched)?;
    assert_eq!(buffer.to_vec::<f32>(&queue)?, DOUBLED);
    Ok(())
}

/// Launches a kernel of ocl by clmatrix, in ocl's context and queue, on ocl's buffer.
fn clmatrix_uses_objects_of_ocl(device: &Device) -> Result<()> {
    let platform = device.platform()?;
    // SAFETY: the handles are valid.
    let (their_platform, their_device) = unsafe {
        (core::PlatformId::from_raw(platform.as_raw()), core::DeviceId::from_raw(device.as_raw()))
    };
    let their_device = ocl::Device::from(their_device);
    let their_context = ocl::Context::builder()
        .platform(ocl::Platform::from(their_platform))
        .devices(their_device)
        .build()?;
    let their_queue = ocl::Queue::new(&their_context, their_device, None)?;
    let program =
        ocl::Program::builder().src(SOURCE).devices(their_device).build(&their_context)?;
    let their_buffer =
        ocl::Buffer::builder().queue(their_queue.clone()).len(4).copy_host_slice(&VALUES).build()?;
    let their_kernel = ocl::Kernel::builder()
        .program(&program)
        .name("twice")
        .arg(None::<&ocl::Buffer<f32>>)
        .build()?;
    // SAFETY: the handles are valid, and ocl neither maps the buffer nor launches the kernel.
    let (context, queue, buffer, mut kernel) = unsafe {
        (
            Context::retain_raw(their_context.as_core().as_ptr())?,
            CommandQueue::retain_raw(their_queue.as_core().as_ptr())?,
            Buffer::retain_raw(their_buffer.as_core().as_ptr())?,
            Kernel::retain_raw(their_kernel.as_core().as_ptr())?,
        )
    };
    assert_eq!((context.devices(), buffer.context()), (slice::from_ref(device), context.clone()));
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { kernel.launch().arg(&buffer).global(VALUES.len()).enqueue(&queue)? };
    assert_eq!(buffer.to_vec::<f32>(&queue)?, DOUBLED);
    Ok(())
}
