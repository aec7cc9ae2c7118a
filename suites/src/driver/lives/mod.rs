//! The lives of objects, which end after the last reference and the last use (4.4, 5.1, 5.5.1, 5.7 to 5.11).

mod ends;
mod held;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clmatrix::cl3::device::*;
use clmatrix::cl3::types::cl_mem;

use super::prelude::*;

/// Keeps the later commands of an in-order queue waiting for a native kernel until it is dropped: OpenCL
/// leaves undefined to release objects while commands wait for a user event (5.11). On devices without native
/// kernels, the commands wait only as long as the driver does not run what has not been flushed.
struct Hold(Arc<AtomicBool>);

/// The native kernel. It gives up after 2 s, so that a driver that runs it within a call does not hang.
extern "C" fn wait_for_hold(arguments: *mut c_void) {
    // SAFETY: the argument is the pointer that `Hold::on` has given away, and a command runs once.
    let is_over = unsafe { Arc::from_raw(*arguments.cast::<*const AtomicBool>()) };
    for _ in 0..2000 {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

impl Hold {
    /// Holds the later commands of an in-order queue.
    fn on(bench: &Bench, queue: cl_command_queue) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let query = named!(CL_DEVICE_EXECUTION_CAPABILITIES);
        if Subject::Device(bench.device).value::<u64>(query) & CL_EXEC_NATIVE_KERNEL != 0 {
            let mut argument = Arc::into_raw(Arc::clone(&is_over));
            let (pointer, size) = ((&raw mut argument).cast(), size_of::<usize>());
            let (none, function) = (ptr::null(), Some(wait_for_hold as extern "C" fn(_)));
            let function = function.map(|function| function as unsafe extern "C" fn(_));
            // SAFETY: the queue is valid, and the driver copies the argument.
            unsafe {
                let (no_places, no_event) = (ptr::null_mut(), ptr::null_mut());
                ok!(clEnqueueNativeKernel(
                    queue, function, pointer, size, 0, none, no_places, 0, none, no_event
                ));
            }
        }
        Self(is_over)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Adds a reference to a memory object.
fn retained(memory: cl_mem) -> Object {
    // SAFETY: the object is valid, and the new reference is given away.
    unsafe {
        ok!(clRetainMemObject(memory));
        Object::new(Class::Memory, memory)
    }
}
