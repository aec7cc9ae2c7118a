//! Launches of kernels.

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Context, Kernel, Launch, Result};

fn is_send<T: Send>() {}

fn arguments_in_another_thread() {
    is_send::<Launch<'_, '_>>(); //~ E0277
}

fn an_argument_that_is_gone(
    kernel: &mut Kernel,
    context: &Context,
    queue: &CommandQueue,
) -> Result<()> {
    let mut launch = kernel.launch();
    {
        let buffer = Buffer::new(context, MemFlags::READ_WRITE, 4)?;
        launch.arg(&buffer); //~ E0597
    }
    // SAFETY: it does not compile.
    unsafe { launch.enqueue(queue)? };
    Ok(())
}

fn two_launches_at_once(kernel: &mut Kernel, queue: &CommandQueue) -> Result<()> {
    let mut first = kernel.launch();
    let mut second = kernel.launch(); //~ E0499
    // SAFETY: it does not compile.
    unsafe {
        first.enqueue(queue)?;
        second.enqueue(queue)?;
    }
    Ok(())
}

fn a_launch_that_nobody_vouches_for(kernel: &mut Kernel, queue: &CommandQueue) -> Result<()> {
    kernel.launch().global(1).enqueue(queue)?; //~ E0133
    Ok(())
}

fn an_argument_that_is_no_plain_value(kernel: &mut Kernel) {
    let _ = kernel.launch().arg("text"); //~ E0277
}

fn host_memory(kernel: &mut Kernel) {
    kernel.launch().arg_read(&[0_u8; 4]); //~ E0277
}

fn main() {}
