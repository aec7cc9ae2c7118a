//! What most tests begin with: a context and a queue on the device under test, and kernels there.

use std::thread;
use std::time::Duration;

use clmatrix::memory::{Buffer, MemoryObject};
use clmatrix::{CommandQueue, Context, Event, ExecuteKernel, Kernel, Program, Result};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::fixture;

/// A fresh context and an in-order queue on it.
pub struct OnDevice {
    /// The context.
    pub context: Context,
    /// Its queue.
    pub queue: CommandQueue,
}

/// The fixture of that name.
#[fixture]
pub fn on_device(ctx_factory: CtxFactory) -> OnDevice {
    // What destructors have to say is part of a test's output.
    let _ = env_logger::Builder::new().filter_level(log::LevelFilter::Warn).try_init();
    let context = ctx_factory().expect("a context on the device under test");
    let queue = CommandQueue::create_default(&context, 0).expect("a queue");
    OnDevice { context, queue }
}

impl OnDevice {
    /// Another in-order queue of the same context.
    pub fn another_queue(&self) -> CommandQueue {
        CommandQueue::create_default(&self.context, 0).expect("a queue")
    }

    /// Builds `source` and runs its kernel `k` on `work_items` with these buffers as arguments.
    ///
    /// The tests' kernels stay within their buffers, which is what makes this right to call.
    pub fn run(&self, source: &str, buffers: &[&Buffer], work_items: usize) -> Result<Event> {
        let program = Program::create_and_build_from_source(&self.context, source, "")
            .unwrap_or_else(|log| panic!("the kernel does not compile:\n{log}"));
        let kernel = Kernel::create(&program, "k")?;
        let mut launch = ExecuteKernel::new(&kernel);
        // SAFETY: the kernels of these suites take buffers only, and use of each no more than
        // `work_items` elements.
        unsafe {
            for buffer in buffers {
                launch.set_arg(&buffer.as_raw());
            }
            launch.set_global_work_size(work_items);
            Ok(launch.enqueue_nd_range(&self.queue)?)
        }
    }
}

/// Waits until `condition` holds, and says whether it ever did. What drivers count may lag behind
/// for a moment: their own threads hold on to what they have just worked on.
pub fn soon(mut condition: impl FnMut() -> Result<bool>) -> Result<bool> {
    for _ in 0..1000 {
        if condition()? {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(false)
}
