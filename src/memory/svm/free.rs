//! Frees of shared virtual memory on a queue (`clEnqueueSVMFree`).

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::event::Event;
use crate::queue::{CommandQueue, Submitted};
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_COMMAND_QUEUE;
use cl3::types::{cl_command_queue, cl_uint};

use super::calls;
use super::memory::SvmMemory;
use crate::error::{Error, Result};
use crate::mem_context::MemContext;
use crate::queue::{Arguments, NotSubmitted};
use crate::wait_list::WaitList;

/// The name of the call.
pub(super) const CALL: &str = "clEnqueueSVMFree";

/// Enqueues the free of `memory`, which has no other handle, after the commands on it. If the driver
/// was called, the memory is given up, even if there is an error.
pub(super) fn enqueue_after_uses(
    queue: &CommandQueue,
    memory: &mut SvmMemory,
    wait_for: &WaitList<'_>,
) -> Result<Event> {
    let context = Arc::clone(memory.context());
    let pending = memory.tracker().events_before_free(CALL)?;
    let mut wait_list = wait_for.prepare(CALL, context.raw())?;
    pending.iter().for_each(|event| wait_list.push(event));
    let pointer = NonNull::new(memory.pointer());
    let submitted = queue.state().submit(CALL, &wait_list, |arguments| match pointer {
        // SAFETY: the handles are alive and of one context; the memory is of that context, too,
        // nothing can reach it any more, and the commands on it are in the wait list.
        Some(pointer) => unsafe { submit(arguments, pointer, context) },
        // SAFETY: the handles are alive and of one context.
        None => unsafe {
            let (queue, count, events) = arguments;
            cl::enqueue_marker_with_wait_list(queue, count, events)
        },
    });
    let event = match submitted {
        Ok(event) => Ok(event),
        Err(NotSubmitted::Rejected(error)) => return Err(error),
        Err(NotSubmitted::NoEvent(error)) => Err(error),
    };
    // At once: nothing else may free it after this.
    memory.end();
    // Nothing else may ever flush it.
    queue.flush()?;
    event
}

/// Memory whose free is enqueued. The context must outlive it.
struct FreedMemory {
    pointer: NonNull<c_void>,
    context: Arc<MemContext>,
}

/// Calls the driver to free the memory at `pointer`.
///
/// # Safety
/// It was allocated in `context`, the context of all handles, and is no longer used when the command runs.
unsafe fn submit(
    (queue, count, events): Arguments,
    pointer: NonNull<c_void>,
    context: Arc<MemContext>,
) -> Submitted {
    let freed = Box::into_raw(Box::new(FreedMemory { pointer, context }));
    let pointers = [pointer.as_ptr().cast_const()];
    // SAFETY: as the caller promises; the function takes over its argument.
    let asked = unsafe {
        cl::enqueue_svm_free(queue, 1, pointers.as_ptr(), Some(free), freed.cast(), count, events)
    };
    if asked.is_err() {
        // SAFETY: it comes from above, and the driver has not taken it.
        drop(unsafe { Box::from_raw(freed) });
    }
    asked
}

/// Called by the driver when it is the command's turn.
unsafe extern "C" fn free(
    _: cl_command_queue,
    _: cl_uint,
    _: *mut *mut c_void,
    freed: *mut c_void,
) {
    // SAFETY: it comes from `submit`, and the driver calls once.
    let freed = unsafe { Box::from_raw(freed.cast::<FreedMemory>()) };
    // SAFETY: the memory is of this context, and its commands have ended.
    if let Err(code) = unsafe { calls::free(freed.context.raw(), freed.pointer.as_ptr()) } {
        log::error!("{}", Error::from_call("clSVMFree", code));
    }
}

/// Returns `queue` if it is in-order and of `context`.
pub(super) fn in_order<'a>(
    call: &'static str,
    queue: &'a CommandQueue,
    context: &MemContext,
) -> Result<&'a CommandQueue> {
    queue.check_context(call, "memory", context.raw())?;
    let reason = "the queue is out-of-order; memory can be freed on in-order queues only";
    Error::refuse_if(!queue.is_in_order(), call, CL_INVALID_COMMAND_QUEUE, || reason)?;
    Ok(queue)
}
