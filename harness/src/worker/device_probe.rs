//! The probe: a check that a device still works.

use clmatrix::memory::{Buffer, MemFlags, enqueue_read_buffer, enqueue_write_buffer};
use clmatrix::{CommandQueue, Context, Device, Error, Launcher, Program};

/// The number of values that are written, changed by a kernel and read back.
const VALUES: u32 = 1024;

const SOURCE: &str = "kernel void probe(global uint *values) { values[get_global_id(0)] += 1; }";

fn first_line(log: &str) -> &str {
    log.lines().find(|line| !line.trim().is_empty()).unwrap_or("no build log")
}

/// Writes a buffer and reads it back. With `with_kernel`, a kernel changes the buffer first, if the device
/// has a compiler.
///
/// # Errors
///
/// The first call that fails, or wrong values.
pub(super) fn probe(device: &Device, with_kernel: bool) -> Result<(), String> {
    let text = |error: Error| error.to_string();
    let context = Context::from_device(device).map_err(|error| text(error.into()))?;
    let queue = CommandQueue::new(&context).map_err(text)?;
    let mut values: Vec<u32> = (0..VALUES).collect();
    let size = size_of_val(&values[..]);
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, size).map_err(text)?;
    enqueue_write_buffer(&queue, &buffer, 0, &values, []).map_err(text)?;
    let runs_kernels =
        with_kernel && device.compiler_available().map_err(|error| text(error.into()))?;
    if runs_kernels {
        let program = Program::create_and_build_from_source(&context, SOURCE, "")
            .map_err(|log| format!("a kernel does not build: {}", first_line(&log)))?;
        let mut kernel = Launcher::create(&program, "probe").map_err(text)?;
        // SAFETY: the kernel has one argument, and each work item has an element.
        unsafe { kernel.launch().arg(&buffer).global(VALUES as usize).enqueue(&queue) }
            .map_err(text)?;
    }
    values.fill(0);
    enqueue_read_buffer(&queue, &buffer, 0, &mut values, []).map_err(text)?;
    let first = u32::from(runs_kernels);
    match values.iter().zip(first..).position(|(value, expected)| *value != expected) {
        None => Ok(()),
        Some(position) => Err(format!("wrong values are read back, from element {position} on")),
    }
}
