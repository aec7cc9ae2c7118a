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

/// The function of a native kernel.
pub type Native = unsafe extern "C" fn(*mut c_void);

/// Returns whether the device has native kernels.
pub fn has_native_kernels(bench: &Bench) -> bool {
    bench.value::<u64>(named!(CL_DEVICE_EXECUTION_CAPABILITIES)) & CL_EXEC_NATIVE_KERNEL != 0
}

/// Enqueues a native kernel with this argument, and without an event.
pub fn enqueue_native(queue: *mut c_void, kernel: Native, argument: &mut u64, waits: &[cl_event]) {
    let (data, list, places) = (ptr::from_mut(argument).cast(), ptr::null(), ptr::null_mut());
    let ((n, waits), kernel, event) = (wait_list(waits), Some(kernel), ptr::null_mut());
    // SAFETY: queue and events are valid, and the argument has 8 bytes. A native kernel reads it while it lives, or not at
    // all.
    unsafe { ok!(clEnqueueNativeKernel(queue, kernel, data, 8, 0, list, places, n, waits, event)) };
}

/// Keeps the later commands of an in-order queue waiting for a native kernel until the guard is dropped: OpenCL
/// leaves undefined to release objects while commands wait for a user event (5.11). On devices without native
/// kernels, the commands wait only as long as the driver does not run what has not been flushed.
fn hold(bench: &Bench, queue: *mut c_void) -> MutexGuard<'static, ()> {
    let guard = HOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if has_native_kernels(bench) {
        enqueue_native(queue, wait_for_hold, &mut 0, &[]);
    }
    guard
}
