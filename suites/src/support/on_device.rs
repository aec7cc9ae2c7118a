//! The start of most tests: a context and a queue on the device under test, and kernels there.

use std::ops::Deref;
use std::thread;
use std::time::Duration;

use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
use clmatrix::memory::{Buffer, Order};
use clmatrix::{CommandQueue, Context, Device, Event, Kernel, Program, QueueProperties, Result};
use clmatrix_harness::{CtxFactory, Fixture, ctx_factory, skip};
use rstest::fixture;

use crate::support::logger;
use crate::support::unanswered;

/// A context and an in-order queue on it.
pub struct OnDevice {
    /// The context.
    pub context: Context,
    /// Its queue.
    pub queue: CommandQueue,
}

/// The fixture of that name.
#[fixture]
pub fn on_device(ctx_factory: CtxFactory) -> OnDevice {
    // Messages of destructors are part of a test's output.
    logger::init();
    let context = ctx_factory().expect("a context on the device under test");
    let queue = CommandQueue::new(&context).expect("a queue");
    OnDevice { context, queue }
}

impl Fixture for OnDevice {
    fn of_device_under_test() -> Self {
        on_device(Fixture::of_device_under_test())
    }
}

impl OnDevice {
    /// The device under test.
    pub fn device(&self) -> &Device {
        self.context.default_device()
    }

    /// Another in-order queue of the same context.
    pub fn another_queue(&self) -> CommandQueue {
        CommandQueue::new(&self.context).expect("a queue")
    }

    /// A queue of the same context that may reorder its commands; where there are none, the test is
    /// skipped.
    pub fn out_of_order_queue(&self, device: Device) -> Result<OutOfOrderQueue> {
        if device.opencl3().queue_on_host_properties().map_err(unanswered)?
            & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
            == 0
        {
            skip!("the device has no out-of-order queues");
        }
        let queue = CommandQueue::with_properties(&self.context, QueueProperties::OUT_OF_ORDER)?;
        Ok(OutOfOrderQueue(queue))
    }

    /// Builds `source` and runs its kernel `k` on `work_items` with these buffers as arguments.
    ///
    /// The tests' kernels stay within their buffers, which is what makes this right to call.
    pub fn run(&self, source: &str, buffers: &[&Buffer], work_items: usize) -> Result<Event> {
        let mut kernel = self.kernel(source, "")?;
        let mut launch = kernel.launch();
        launch.global(work_items);
        for buffer in buffers {
            launch.arg(*buffer);
        }
        // SAFETY: the kernels of these suites use of each buffer no more than `work_items` elements.
        unsafe { launch.enqueue(&self.queue) }
    }

    /// The kernel `k` of `source`, built with `options`.
    pub fn kernel(&self, source: &str, options: &str) -> Result<Kernel> {
        let program = Program::builder(&self.context).source(source).options(options).build()?;
        program.kernel("k")
    }

    /// The option for the features of OpenCL C 2.0, which a device with OpenCL 3.0 need not have as a version.
    pub fn opencl_c_2(&self) -> Result<&'static str> {
        let version =
            self.context.default_device().opencl3().opencl_c_version().map_err(unanswered)?;
        Ok(if version.starts_with("OpenCL C 1") { "-cl-std=CL3.0" } else { "-cl-std=CL2.0" })
    }

    /// Skips the test unless a work group of the kernel may have `items` work items: OpenCL requires one.
    pub fn needs_work_group(&self, kernel: &Kernel, items: usize) -> Result<()> {
        let most = kernel.work_group_info(self.context.default_device())?.max_size;
        if most < items {
            skip!("a work group has at most {most} work items");
        }
        Ok(())
    }
}

/// An out-of-order queue that is finished before it is released. Intel's CPU runtime 2026.22 hangs if
/// the last command of such a queue completes after the release.
// quirk: INTEL-4
pub struct OutOfOrderQueue(CommandQueue);

impl Deref for OutOfOrderQueue {
    type Target = CommandQueue;

    fn deref(&self) -> &CommandQueue {
        &self.0
    }
}

impl<'a> From<&'a OutOfOrderQueue> for Order<'a> {
    fn from(queue: &'a OutOfOrderQueue) -> Self {
        Self::from(&queue.0)
    }
}

impl Drop for OutOfOrderQueue {
    fn drop(&mut self) {
        // A test may have made its commands fail.
        _ = self.0.finish();
    }
}

/// Returns an offset at which sub-buffers may begin, a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN and at
/// least `least`, in bytes. OpenCL has no upper bound of the alignment.
pub fn region_offset(device: &Device, least: usize) -> Result<usize> {
    let alignment = device.opencl3().mem_base_addr_align().map_err(unanswered)? as usize / 8;
    Ok(least.next_multiple_of(alignment.max(1)))
}

/// Waits up to 5 s until `condition` holds, and returns whether it does. Reference counts may change
/// late: a driver's own thread keeps an object for a moment after its last command.
// quirk: NVIDIA-5
pub fn soon(mut condition: impl FnMut() -> Result<bool>) -> Result<bool> {
    for _ in 0..500 {
        if condition()? {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(false)
}
