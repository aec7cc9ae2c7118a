//! The lives of objects, which end after the last reference and the last use (4.4, 5.1, 5.5.1, 5.7 to 5.11).

mod ends;
mod held;

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::prelude::*;

/// Locked while native kernels wait.
static HOLD: Mutex<()> = Mutex::new(());

/// The native kernel. It gives up after 2 s, so that a driver that runs it within a call does not hang.
unsafe extern "C" fn wait_for_hold(_: *mut c_void) {
    let is_held = || matches!(HOLD.try_lock(), Err(TryLockError::WouldBlock));
    (0..2000).take_while(|_| is_held()).for_each(|_| thread::sleep(Duration::from_millis(1)));
}

/// Keeps the later commands of an in-order queue waiting for a native kernel until the guard is dropped: OpenCL
/// leaves undefined to release objects while commands wait for a user event (5.11). On devices without native
/// kernels, the commands wait only as long as the driver does not run what has not been flushed.
fn hold(bench: &Bench, queue: *mut c_void) -> MutexGuard<'static, ()> {
    let guard = HOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let capabilities: u64 = bench.value(named!(CL_DEVICE_EXECUTION_CAPABILITIES));
    if capabilities & CL_EXEC_NATIVE_KERNEL != 0 {
        let (function, list, null) = (Some(wait_for_hold as _), ptr::null(), ptr::null_mut());
        let mut argument = 0_u64;
        let data = (&raw mut argument).cast();
        // SAFETY: the queue is valid, and the driver copies the argument.
        unsafe { enqueued!(clEnqueueNativeKernel(queue, function, data, 8, 0, list, null)) };
    }
    guard
}
