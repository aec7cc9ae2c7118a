//! Handles of the driver.

use clmatrix::cl3::types::{
    cl_command_queue, cl_context, cl_device_id, cl_event, cl_kernel, cl_mem, cl_platform_id,
    cl_program, cl_sampler,
};
use clmatrix::memory::{Buffer, Image, MemFlags, Pipe, Sampler};
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
    let _ = Device::retain_raw(device); //~ E0133
    let _ = Context::from_raw(context); //~ E0133
    let _ = Context::retain_raw(context); //~ E0133
    let _ = Program::from_raw(program); //~ E0133
    let _ = Program::retain_raw(program); //~ E0133
    let _ = Kernel::from_raw(kernel); //~ E0133
    let _ = Kernel::retain_raw(kernel); //~ E0133
}

fn other_handles(queue: cl_command_queue, event: cl_event, memory: cl_mem, sampler: cl_sampler) {
    let _ = CommandQueue::from_raw(queue); //~ E0133
    let _ = CommandQueue::retain_raw(queue); //~ E0133
    let _ = Event::from_raw(event); //~ E0133
    let _ = Event::retain_raw(event); //~ E0133
    let _ = Buffer::from_raw(memory); //~ E0133
    let _ = Buffer::retain_raw(memory); //~ E0133
    let _ = Image::from_raw(memory); //~ E0133
    let _ = Image::retain_raw(memory); //~ E0133
    let _ = Pipe::from_raw(memory); //~ E0133
    let _ = Pipe::retain_raw(memory); //~ E0133
    let _ = Sampler::from_raw(sampler); //~ E0133
    let _ = Sampler::retain_raw(sampler); //~ E0133
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
