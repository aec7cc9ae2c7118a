//! The lives of objects, which end after the last reference and the last use (4.4, 5.1, 5.5.1, 5.7 to 5.11).

mod ends;
mod held;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::prelude::*;

/// Keeps the later commands of an in-order queue waiting for a native kernel until it is dropped: OpenCL
/// leaves undefined to release objects while commands wait for a user event (5.11). On devices without native
/// kernels, the commands wait only as long as the driver does not run what has not been flushed.
struct Hold;

/// The native kernel may end.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// The native kernel. It gives up after 2 s, so that a driver that runs it within a call does not hang.
unsafe extern "C" fn wait_for_hold(_: *mut c_void) {
    for _ in (0..2000).take_while(|_| !IS_OVER.load(SeqCst)) {
        thread::sleep(Duration::from_millis(1));
    }
}

impl Hold {
    /// Holds the later commands of an in-order queue.
    fn on(bench: &Bench, queue: *mut c_void) -> Self {
        IS_OVER.store(false, SeqCst);
        let capabilities: u64 = bench.value(named!(CL_DEVICE_EXECUTION_CAPABILITIES));
        if capabilities & CL_EXEC_NATIVE_KERNEL != 0 {
            let (function, list, null) = (Some(wait_for_hold as _), ptr::null(), ptr::null_mut());
            let mut argument = 0_u64;
            let data = (&raw mut argument).cast();
            // SAFETY: the queue is valid, and the driver copies the argument.
            unsafe { enqueued!(clEnqueueNativeKernel(queue, function, data, 8, 0, list, null)) };
        }
        Self
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        IS_OVER.store(true, SeqCst);
    }
}
