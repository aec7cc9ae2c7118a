//! A program on opencl3, with the memory of this library.

use clmatrix::memory::{
    AddressingMode, Buffer, FilterMode, Image, MemFlags, MemoryObject, Pipe, Sampler,
};
use clmatrix::opencl3::error_codes::ClError;
use clmatrix::opencl3::kernel::{ExecuteKernel, Kernel as TheirKernel};
use clmatrix::opencl3::memory::ClMem;
use clmatrix::opencl3::program::Program as TheirProgram;
use clmatrix::{
    CommandQueue, Context, Device, Error, Event, Kernel, Platform, Program, Result, UserEvent,
};

use super::{SOURCE, VALUES};
use crate::image::RGBA_U32;
use crate::support::on_device::OnDevice;

/// Converts an error of opencl3, which does not name the call.
fn theirs(error: ClError) -> Error {
    Error::from_call("opencl3", error.0)
}

fn program(context: &Context) -> Result<TheirProgram> {
    let context = context.opencl3()?;
    TheirProgram::create_and_build_from_source(&context, SOURCE, "")
        .map_err(|log| Error::from_call("clBuildProgram", -11).with_detail(log))
}

/// Their program, kernel and launch, with our context, queue and buffer: the launch alone is unsafe.
#[clmatrix_harness::test]
fn a_kernel_of_opencl3_runs_on_memory_of_this_library(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let (values, doubled) = VALUES;
    let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, &values)?;
    let kernel = TheirKernel::create(&program(context)?, "twice").map_err(theirs)?;
    let (their_queue, their_buffer) = (queue.opencl3()?, buffer.opencl3::<f32>()?);
    let mut launch = ExecuteKernel::new(&kernel);
    // SAFETY: the argument is what the kernel declares, with an element for each work item, and is not mapped.
    let launched = unsafe {
        launch.set_arg(&their_buffer).set_global_work_size(4).enqueue_nd_range(&their_queue)
    };
    let launched = launched.map_err(theirs)?;
    // SAFETY: the event is alive, and of a command of this queue.
    buffer.record_use(&unsafe { queue.event_retain_raw(launched.get()) }?)?;
    assert_eq!(buffer.to_vec::<f32>(queue)?, doubled);
    Ok(())
}

/// Their context, queue, program and kernel, which this library launches.
#[clmatrix_harness::test]
fn this_library_launches_a_kernel_of_opencl3(on_device: OnDevice) -> Result<()> {
    let (values, doubled) = VALUES;
    let (their_context, their_queue) = (on_device.context.opencl3()?, on_device.queue.opencl3()?);
    let their_program = program(&on_device.context)?;
    let their_kernel = TheirKernel::create(&their_program, "twice").map_err(theirs)?;
    // SAFETY: the objects are alive, and no other handle launches the kernel.
    let (context, queue, program, kernel) = unsafe {
        (
            Context::from_opencl3(&their_context)?,
            CommandQueue::from_opencl3(&their_queue)?,
            Program::from_opencl3(&their_program)?,
            Kernel::from_opencl3(&their_kernel)?,
        )
    };
    drop((their_context, their_queue, their_program, their_kernel));
    assert_eq!((program.context(), queue.context()), (&context, context.clone()));
    for mut kernel in [kernel, program.kernel("twice")?] {
        let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &values)?;
        // SAFETY: the argument is what the kernel declares, with an element for each work item.
        unsafe { kernel.launch().arg(&buffer).global(&[4][..]).enqueue(&queue) }?;
        assert_eq!(buffer.to_vec::<f32>(&queue)?, doubled);
    }
    Ok(())
}

/// Converts an object there and back: both have the same handle, and each a reference of its own.
macro_rules! there_and_back {
    ($object:expr, $type:ident $(::<$element:ty>)?, $raw:ident) => {{
        let object = $object;
        let theirs = object.opencl3$(::<$element>)?()?;
        assert_eq!(theirs.$raw(), object.as_raw());
        // SAFETY: the object is alive, and no other handle uses it.
        let back = unsafe { $type::from_opencl3(&theirs) }?;
        let raw = object.as_raw();
        drop((object, theirs));
        assert_eq!(back.as_raw(), raw);
        back
    }};
}

#[clmatrix_harness::test]
fn objects_go_to_opencl3_and_back(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let device = context.default_device().clone();
    let platform = device.platform()?;
    // SAFETY: the platform and the device are alive.
    let (same_platform, same_device) = unsafe {
        (Platform::from_opencl3(&platform.opencl3()), Device::from_opencl3(&device.opencl3())?)
    };
    assert_eq!((same_platform, same_device), (platform, device));
    let again = there_and_back!(context.clone(), Context, get);
    there_and_back!(CommandQueue::new(&again)?, CommandQueue, get).finish()?;
    let kernel = there_and_back!(Program::build(context, SOURCE)?.kernel("twice")?, Kernel, get);
    assert_eq!(kernel.name(), "twice");
    let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, &VALUES.0)?;
    let buffer = there_and_back!(buffer, Buffer::<f32>, get);
    assert_eq!((buffer.reference_count()?, buffer.to_vec(queue)?), (1, VALUES.0.to_vec()));
    let user = UserEvent::new(context)?;
    let event = there_and_back!(Event::clone(&user), Event, get);
    user.set_complete()?;
    event.wait()?;
    if context.default_device().info().images {
        let image = Image::builder(context, RGBA_U32).shape([2, 3]).build()?;
        assert_eq!(there_and_back!(image, Image, get).shape(), [2, 3]);
        let sampler = Sampler::new(context, false, AddressingMode::None, FilterMode::Nearest)?;
        assert_eq!(there_and_back!(sampler, Sampler, get).reference_count()?, 1);
    }
    Ok(())
}

#[clmatrix_harness::test(requires(pipes))]
fn a_pipe_goes_to_opencl3_and_back(on_device: OnDevice) -> Result<()> {
    let pipe = Pipe::new(&on_device.context, MemFlags::READ_WRITE, 4, 8)?;
    assert_eq!(there_and_back!(pipe, Pipe, get).max_packets(), 8);
    Ok(())
}
