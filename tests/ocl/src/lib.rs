//! A crate on ocl.

/// Doubles values on ocl's default device.
pub fn doubled(values: &[f32]) -> ocl::Result<Vec<f32>> {
    let device = ocl::Device::first(ocl::Platform::default())?;
    let context = ocl::Context::builder().devices(device).build()?;
    doubled_in(&ocl::Queue::new(&context, device, None)?, values)
}

/// Doubles values on the device of a queue.
pub fn doubled_in(queue: &ocl::Queue, values: &[f32]) -> ocl::Result<Vec<f32>> {
    let source = "kernel void twice(global float *values) { values[get_global_id(0)] *= 2; }";
    let program =
        ocl::Program::builder().src(source).devices(queue.device()).build(&queue.context())?;
    let buffer = ocl::Buffer::builder()
        .queue(queue.clone())
        .len(values.len())
        .copy_host_slice(values)
        .build()?;
    let kernel = ocl::Kernel::builder()
        .program(&program)
        .name("twice")
        .queue(queue.clone())
        .global_work_size(values.len())
        .arg(&buffer)
        .build()?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { kernel.enq()? };
    let mut doubled = vec![0.0; values.len()];
    buffer.read(&mut doubled).enq()?;
    Ok(doubled)
}
