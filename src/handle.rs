//! References to a driver's contexts, queues and events that release themselves and never panic.

use cl3::types::{cl_command_queue, cl_context, cl_event};
use cl3::{command_queue, context, event};
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use crate::error::{Error, Result, in_call};

macro_rules! reference {
    ($(#[$doc:meta])* $name:ident($raw:ty), $release:path, $call:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name($raw);

        // SAFETY: OpenCL's objects other than kernels may be used from any thread at once
        // (OpenCL 3.0, appendix A.2).
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            pub(crate) fn get(&self) -> $raw {
                self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the reference is ours, and given up once.
                if let Err(code) = unsafe { $release(self.0) } {
                    log::error!("{}", Error::from_call($call, code));
                }
            }
        }
    };
}

reference! {
    /// A reference of our own to a context. Intel's runtime forgets a context whose own references
    /// are gone, although memory objects still need it.
    ContextRef(cl_context), context::release_context, "clReleaseContext"
}

reference! {
    /// A reference of our own to a command queue.
    QueueRef(cl_command_queue), command_queue::release_command_queue, "clReleaseCommandQueue"
}

reference! {
    /// A reference of our own to an event.
    EventRef(cl_event), event::release_event, "clReleaseEvent"
}

impl ContextRef {
    /// # Safety
    /// `context` is a valid context.
    pub(crate) unsafe fn retain(context: cl_context) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        unsafe { context::retain_context(context) }.map_err(in_call("clRetainContext"))?;
        Ok(Self(context))
    }
}

impl QueueRef {
    pub(crate) fn retain(queue: &CommandQueue) -> Result<Self> {
        // SAFETY: the queue is alive while it is borrowed.
        unsafe { command_queue::retain_command_queue(queue.get()) }
            .map_err(in_call("clRetainCommandQueue"))?;
        Ok(Self(queue.get()))
    }
}

impl EventRef {
    pub(crate) fn retain(event: &Event) -> Result<Self> {
        // SAFETY: the event is alive while it is borrowed.
        unsafe { event::retain_event(event.get()) }.map_err(in_call("clRetainEvent"))?;
        Ok(Self(event.get()))
    }

    /// Whether its command has ended, well or not. One that cannot tell has not.
    pub(crate) fn has_ended(&self) -> bool {
        event::get_event_info(self.get(), event::CL_EVENT_COMMAND_EXECUTION_STATUS)
            .is_ok_and(|status| i32::from(status) <= event::CL_COMPLETE)
    }

    /// Waits until its command has ended, well or not. Flushes its queue (OpenCL 3.0, 5.15).
    pub(crate) fn wait_until_ended(&self) -> Result<()> {
        match event::wait_for_events(&[self.get()]) {
            Err(code) if !self.has_ended() => Err(Error::from_call("clWaitForEvents", code)),
            _ => Ok(()),
        }
    }
}
