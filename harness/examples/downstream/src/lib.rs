//! Multiplies vectors on an OpenCL device.

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Context, Program, Result};

const SOURCE: &str = "
    kernel void scale(global float *values, float factor) {
        values[get_global_id(0)] *= factor;
    }";

/// Multiplies each of `values` by `factor` on the context's first device.
pub fn scale(context: &Context, values: &[f32], factor: f32) -> Result<Vec<f32>> {
    let queue = CommandQueue::new(context)?;
    let program = Program::build(context, SOURCE)?;
    let mut kernel = program.kernel("scale")?;
    let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, values)?;
    // SAFETY: the arguments are those that the kernel declares, and each work item has its own
    // element of the buffer.
    unsafe { kernel.launch().arg(&buffer).arg(factor).global(values.len()).enqueue(&queue)? };
    let mut scaled = vec![0.0; values.len()];
    buffer.read(&queue, &mut scaled)?;
    Ok(scaled)
}
