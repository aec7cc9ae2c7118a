//! Multiplies vectors on an OpenCL device.

use clmatrix::memory::{Buffer, MemFlags, enqueue_read_buffer};
use clmatrix::{CommandQueue, Context, ExecuteKernel, Kernel, Program, Result};

const SOURCE: &str = "
    kernel void scale(global float *values, float factor) {
        values[get_global_id(0)] *= factor;
    }";

/// Multiplies each of `values` by `factor` on the context's first device.
pub fn scale(context: &Context, values: &[f32], factor: f32) -> Result<Vec<f32>> {
    let queue = CommandQueue::create_default(context, 0)?;
    let program = Program::create_and_build_from_source(context, SOURCE, "")
        .unwrap_or_else(|log| panic!("the kernel does not compile:\n{log}"));
    let kernel = Kernel::create(&program, "scale")?;
    let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, values)?;
    // SAFETY: the arguments are those that the kernel declares, and each work item has its own
    // element of the buffer.
    unsafe {
        ExecuteKernel::new(&kernel)
            .set_arg(&buffer.as_raw())
            .set_arg(&factor)
            .set_global_work_size(values.len())
            .enqueue_nd_range(&queue)?;
    }
    let mut scaled = vec![0.0; values.len()];
    enqueue_read_buffer(&queue, &buffer, 0, &mut scaled, [])?;
    Ok(scaled)
}
