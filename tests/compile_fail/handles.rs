//! Handles of the driver.

use clmatrix::cl3::types::{cl_context, cl_device_id, cl_kernel, cl_platform_id, cl_program};
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Context, Device, Kernel, Platform, Program};

fn without_unsafe_code(
    platform: cl_platform_id,
    device: cl_device_id,
    context: cl_context,
    program: cl_program,
    kernel: cl_kernel,
) {
    let _ = Platform::from_raw(platform); //~ E0133
    let _ = Device::from_raw(device); //~ E0133
    let _ = Context::from_raw(context, true); //~ E0133
    let _ = Program::from_raw(program, true); //~ E0133
    let _ = Kernel::from_raw(kernel, true); //~ E0133
}

fn objects_of_opencl3(context: &clmatrix::opencl3::context::Context) {
    let _ = CommandQueue::new(context); //~ E0308
    let _ = Buffer::new(context, MemFlags::READ_WRITE, 4); //~ E0308
}

fn main() {}
