//! How shared virtual memory is freed on a queue (`clEnqueueSVMFree`).

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION};
use cl3::memory::svm_free;
use cl3::types::{cl_command_queue, cl_event, cl_uint};
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use super::allocation::SvmAllocation;
use super::memory::SvmMemory;
use crate::error::{Error, Result, in_call};
use crate::handle::EventRef;
use crate::memory::command::Arguments;
use crate::memory::context::MemContext;
use crate::memory::host::TransferError;
use crate::memory::uses::{KnownQueue, Marked};
use crate::memory::wait_list::WaitList;

const CALL: &str = "clEnqueueSVMFree";

impl SvmAllocation {
    /// Has the memory freed on `queue`, or on the queue that it is bound to, after `wait_for` and
    /// after what this crate has enqueued on it (`clEnqueueSVMFree`; PyOpenCL's `enqueue_release`).
    /// The event says when it is gone.
    ///
    /// Where a command that it comes after fails, the memory may never be freed.
    ///
    /// # Errors
    /// With the memory: CL_INVALID_OPERATION where it has other handles, maps or buffers, where an
    /// unmap of it failed, and where there is no queue; those of [`bind_to_queue`](Self::bind_to_queue) for the queue,
    /// CL_INVALID_CONTEXT for an event of another context, and the driver's errors. Without it:
    /// the driver's errors when the memory is already on its way.
    pub fn enqueue_release<'a>(
        self,
        queue: Option<&CommandQueue>,
        wait_for: impl Into<WaitList<'a>>,
    ) -> std::result::Result<Event, TransferError<Option<Self>>> {
        let mut memory = Arc::try_unwrap(self.memory).map_err(|memory| {
            let why = "the memory has other handles, maps or buffers; drop them first";
            let error = Error::refused(CALL, CL_INVALID_OPERATION, why);
            TransferError::new(error, Some(Self::of(memory)))
        })?;
        match enqueue_free(&mut memory, queue, &wait_for.into()) {
            Ok(event) => Ok(event.into_event()),
            Err(error) => {
                let left = memory.is_there().then(|| Self::of(Arc::new(memory)));
                Err(TransferError::new(error, left))
            }
        }
    }
}

fn enqueue_free(
    memory: &mut SvmMemory,
    queue: Option<&CommandQueue>,
    wait_for: &WaitList<'_>,
) -> Result<EventRef> {
    let queue = match queue {
        Some(queue) => in_order(CALL, queue, memory.context())?,
        None => memory.queue().clone().ok_or_else(|| {
            let why = "the memory is bound to no queue; pass one";
            Error::refused(CALL, CL_INVALID_OPERATION, why)
        })?,
    };
    when_unused(&queue, memory, wait_for)
}

/// Enqueues the end of `memory`, which nobody can reach any more, after its uses. If the driver was
/// asked, `memory` is over, even where this fails.
pub(super) fn when_unused(
    queue: &KnownQueue,
    memory: &mut SvmMemory,
    wait_for: &WaitList<'_>,
) -> Result<EventRef> {
    let context = Arc::clone(memory.context());
    wait_for.arguments(CALL, context.raw())?;
    let mut after = memory.uses().events_before_end(CALL, queue)?;
    after.extend(wait_for.retained()?);
    let after: WaitList<'_> = after.iter().map(EventRef::as_event).collect();
    let (count, events) = after.arguments(CALL, context.raw())?;
    let arguments = (queue.get(), count, events);
    let pointer = NonNull::new(memory.pointer());
    let mark = if count == 0 { Marked::default() } else { queue.mark(&after)? };
    let event = match pointer {
        // SAFETY: the handles are alive and of one context; the memory is of that, too, nobody can
        // reach it, and what uses it is on this in-order queue or in the wait list.
        Some(pointer) => unsafe { ask(arguments, pointer, context) },
        // SAFETY: the handles are alive and of one context.
        None => unsafe { cl::enqueue_marker_with_wait_list(queue.get(), count, events) },
    }
    .map_err(in_call(CALL));
    let event = match event {
        Ok(event) => event,
        Err(error) => {
            mark.was_refused();
            return Err(error);
        }
    };
    // At once: nobody else may free it, whatever comes.
    memory.end();
    // SAFETY: the driver has just made it.
    unsafe { mark.was_issued(event) };
    // SAFETY: the driver has just made it, with one reference.
    let event = unsafe { EventRef::from_driver(CALL, event) };
    // Nobody else may ever flush it.
    queue.flush()?;
    event
}

/// Memory on its way. The context must not go before it.
struct Freed {
    pointer: NonNull<c_void>,
    context: Arc<MemContext>,
}

/// Asks the driver to free what is at `pointer`.
///
/// # Safety
/// It was allocated in `context`, which all handles are of, and is not used any more by then.
unsafe fn ask(
    (queue, count, events): Arguments,
    pointer: NonNull<c_void>,
    context: Arc<MemContext>,
) -> std::result::Result<cl_event, i32> {
    let freed = Box::into_raw(Box::new(Freed { pointer, context }));
    let pointers = [pointer.as_ptr().cast_const()];
    // SAFETY: as the caller promises; the function takes what it is given.
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
    // SAFETY: it comes from `ask`, and the driver calls once.
    let freed = unsafe { Box::from_raw(freed.cast::<Freed>()) };
    // SAFETY: the memory is of this context, and what used it has ended.
    if let Err(code) = unsafe { svm_free(freed.context.raw(), freed.pointer.as_ptr()) } {
        log::error!("{}", Error::from_call("clSVMFree", code));
    }
}

/// `queue`, which runs its commands in order and is of `context`.
pub(super) fn in_order(
    call: &'static str,
    queue: &CommandQueue,
    context: &MemContext,
) -> Result<Arc<KnownQueue>> {
    let queue = KnownQueue::of(call, queue, context.raw())?;
    if !queue.is_in_order() {
        let why = "the queue is out-of-order; memory can be freed on in-order queues only";
        return Err(Error::refused(call, CL_INVALID_COMMAND_QUEUE, why));
    }
    Ok(queue)
}

/// Has `memory` freed on `queue` from now on.
pub(super) fn bind(memory: &SvmMemory, queue: &CommandQueue) -> Result<()> {
    let new = in_order(CALL, queue, memory.context())?;
    let mut bound = memory.queue();
    if let Some(old) = bound.as_ref().filter(|old| old.get() != new.get()) {
        let mut before = old.last_commands()?;
        before.retain(|event| event.outcome().is_none());
        new.wait_for(&before.iter().map(EventRef::as_event).collect())?;
    }
    *bound = Some(new);
    Ok(())
}

/// Has `memory` freed at once from now on.
pub(super) fn unbind(memory: &SvmMemory) -> Result<()> {
    let bound = memory.queue().take();
    bound.map_or(Ok(()), |queue| queue.finish())
}
