//! Handles of the driver.

use clmatrix::cl3::types::{
    cl_command_queue, cl_context, cl_device_id, cl_event, cl_kernel, cl_mem, cl_platform_id,
    cl_program, cl_sampler,
};
use clmatrix::memory::{Buffer, Image, MemFlags, Sampler};
use clmatrix::{CommandQueue, Context, Device, Event, Kernel, Platform, Program, UserEvent};

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

fn other_handles(queue: cl_command_queue, event: cl_event, memory: cl_mem, sampler: cl_sampler) {
    let _ = CommandQueue::from_raw(queue, true); //~ E0133
    let _ = Event::from_raw(event, true); //~ E0133
    let _ = Buffer::from_raw(memory, true); //~ E0133
    let _ = Image::from_raw(memory, true); //~ E0133
    let _ = Sampler::from_raw(sampler, true); //~ E0133
}

fn what_the_driver_trusts(context: &Context, event: UserEvent) {
    let _ = event.set_failed(-1); //~ E0133
    let _ = Program::build_binary(context, &[]); //~ E0133
    let _ = Program::builder(context).build_il(&[]); //~ E0133
}

fn objects_of_opencl3(context: &clmatrix::opencl3::context::Context) {
    let _ = CommandQueue::new(context); //~ E0308
    let _ = Buffer::new(context, MemFlags::READ_WRITE, 4); //~ E0308
}

fn main() {}
