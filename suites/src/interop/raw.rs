//! A program on raw handles: plain calls of OpenCL on objects of this library, and the other way round.

use std::ffi::c_void;
use std::ptr::{self, null_mut};

use clmatrix::cl3::command_queue::{create_command_queue, enqueue_nd_range_kernel};
use clmatrix::cl3::context::{create_context, release_context};
use clmatrix::cl3::kernel::{create_kernel, release_kernel, set_kernel_arg};
use clmatrix::cl3::memory::{CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, create_buffer};
use clmatrix::memory::{Buffer, MemFlags, MemoryObject};
use clmatrix::{CommandQueue, Context, Device, Error, Kernel, Program, Result};

use super::{SOURCE, VALUES};
use crate::support::on_device::OnDevice;

/// Names the call that returned a code.
fn in_call(call: &'static str) -> impl Fn(i32) -> Error {
    move |code| Error::from_call(call, code)
}

/// The handles of our objects go to OpenCL's functions, and its event comes back.
#[clmatrix_harness::test]
fn plain_calls_use_objects_of_this_library(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let (values, doubled) = VALUES;
    let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, &values)?;
    let program = Program::build(context, SOURCE)?;
    let kernel = create_kernel(program.as_raw(), c"twice").map_err(in_call("clCreateKernel"))?;
    let raw = buffer.as_raw();
    // SAFETY: the argument is what the kernel declares, with an element for each work item, and is not mapped; the
    // event is recorded.
    let launched = unsafe {
        let (argument, size) = (ptr::from_ref(&raw).cast::<c_void>(), size_of_val(&raw));
        set_kernel_arg(kernel, 0, size, argument).map_err(in_call("clSetKernelArg"))?;
        let (queue_raw, sizes) = (queue.as_raw(), [4_usize]);
        let (sizes, none) = (sizes.as_ptr(), ptr::null());
        let event =
            enqueue_nd_range_kernel(queue_raw, kernel, 1, none, sizes, none, 0, ptr::null());
        queue.event_from_raw(event.map_err(in_call("clEnqueueNDRangeKernel"))?)?
    };
    buffer.record_use(&launched)?;
    // SAFETY: the reference is given up once.
    unsafe { release_kernel(kernel) }.map_err(in_call("clReleaseKernel"))?;
    assert_eq!(buffer.to_vec::<f32>(queue)?, doubled);
    Ok(())
}

/// Our handles take over the references of objects that plain calls made, or add some.
#[clmatrix_harness::test]
fn this_library_uses_objects_of_plain_calls(device: Device) -> Result<()> {
    let (mut values, doubled) = VALUES;
    // SAFETY: the handles are valid and each reference is owned here; the data has so many bytes.
    let (context, queue, buffer) = unsafe {
        let raw = create_context(&[device.as_raw()], ptr::null(), None, null_mut())
            .map_err(in_call("clCreateContext"))?;
        let queue = create_command_queue(raw, device.as_raw(), 0)
            .map_err(in_call("clCreateCommandQueue"))?;
        let (flags, data) = (CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, values.as_mut_ptr());
        let buffer = create_buffer(raw, flags, size_of_val(&values), data.cast())
            .map_err(in_call("clCreateBuffer"))?;
        let context = Context::retain_raw(raw)?;
        release_context(raw).map_err(in_call("clReleaseContext"))?;
        (context, CommandQueue::from_raw(queue)?, Buffer::from_raw(buffer)?)
    };
    assert_eq!((buffer.context(), buffer.size()), (context.clone(), 16));
    let program = Program::build(&context, SOURCE)?;
    let kernel = create_kernel(program.as_raw(), c"twice").map_err(in_call("clCreateKernel"))?;
    // SAFETY: the kernel is valid, and its reference is owned here.
    let mut kernel = unsafe { Kernel::from_raw(kernel) }?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { kernel.launch().arg(&buffer).global(4).enqueue(&queue) }?;
    assert_eq!(buffer.to_vec::<f32>(&queue)?, doubled);
    assert_eq!(buffer.reference_count()?, 1);
    Ok(())
}

/// `from_raw` leaves the reference with the caller where it fails.
#[clmatrix_harness::test]
fn a_handle_of_another_kind_keeps_its_reference(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    // SAFETY: the handle is valid; nothing is taken over.
    let refused = unsafe { clmatrix::memory::Pipe::from_raw(buffer.as_raw()) };
    assert_eq!(refused.unwrap_err().code_name(), "CL_INVALID_MEM_OBJECT");
    // SAFETY: as above.
    let refused = unsafe { clmatrix::memory::Pipe::retain_raw(buffer.as_raw()) };
    assert_eq!(refused.unwrap_err().code_name(), "CL_INVALID_MEM_OBJECT");
    assert_eq!(buffer.reference_count()?, 1);
    Ok(())
}
