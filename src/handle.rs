//! References to a driver's contexts, queues and events that release themselves and never panic.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use cl3::error_codes::CL_OUT_OF_RESOURCES;
use cl3::types::{cl_command_queue, cl_context, cl_device_id, cl_event, cl_program};
use cl3::{command_queue, context, device, event, program};
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
            #[allow(dead_code, reason = "some are only kept")]
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
    /// A reference to a context. Every memory object holds one, because Intel's runtime destroys a
    /// context that only its objects still need.
    // quirk: INTEL-2
    ContextRef(cl_context), context::release_context, "clReleaseContext"
}

reference! {
    /// A reference of our own to a command queue.
    QueueRef(cl_command_queue), command_queue::release_command_queue, "clReleaseCommandQueue"
}

reference! {
    /// A reference to a program. Every launcher holds one, because Intel's runtime destroys a program
    /// that only its kernels still need.
    // quirk: INTEL-2
    ProgramRef(cl_program), program::release_program, "clReleaseProgram"
}

reference! {
    /// A reference of our own to a device. Only sub-devices are counted.
    DeviceRef(cl_device_id), device::release_device, "clReleaseDevice"
}

impl DeviceRef {
    /// # Safety
    /// `device` is a valid device.
    pub(crate) unsafe fn retain(device: cl_device_id) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        unsafe { device::retain_device(device) }.map_err(in_call("clRetainDevice"))?;
        Ok(Self(device))
    }
}

impl ProgramRef {
    /// # Safety
    /// `program` is a valid program.
    pub(crate) unsafe fn retain(program: cl_program) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        unsafe { program::retain_program(program) }.map_err(in_call("clRetainProgram"))?;
        Ok(Self(program))
    }
}

/// opencl3's queue with a reference of our own. Unlike opencl3's, it does not panic when it is dropped.
#[derive(Debug)]
pub(crate) struct OwnedQueue(ManuallyDrop<CommandQueue>);

impl OwnedQueue {
    pub(crate) fn retain(queue: &CommandQueue) -> Result<Self> {
        // SAFETY: the queue is alive while it is borrowed.
        unsafe { command_queue::retain_command_queue(queue.get()) }
            .map_err(in_call("clRetainCommandQueue"))?;
        let dimensions = queue.max_work_item_dimensions();
        Ok(Self(ManuallyDrop::new(CommandQueue::new(queue.get(), dimensions))))
    }

    /// A new in-order queue of the context and device of `queue`.
    pub(crate) fn beside(queue: &CommandQueue) -> Result<Self> {
        let (context, device) = (context_of(queue)?, device_of(queue)?);
        // SAFETY: they are alive, since the queue is while it is borrowed.
        let new = unsafe { command_queue::create_command_queue(context, device, 0) }
            .map_err(in_call("clCreateCommandQueue"))?;
        let dimensions = queue.max_work_item_dimensions();
        Ok(Self(ManuallyDrop::new(CommandQueue::new(new, dimensions))))
    }
}

impl Deref for OwnedQueue {
    type Target = CommandQueue;

    fn deref(&self) -> &CommandQueue {
        &self.0
    }
}

impl Drop for OwnedQueue {
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and given up once.
        if let Err(code) = unsafe { command_queue::release_command_queue(self.get()) } {
            log::error!("{}", Error::from_call("clReleaseCommandQueue", code));
        }
    }
}

/// CL_QUEUE_CONTEXT.
pub(crate) fn context_of(queue: &CommandQueue) -> Result<cl_context> {
    Ok(queue_info(queue, command_queue::CL_QUEUE_CONTEXT)? as cl_context)
}

/// CL_QUEUE_DEVICE.
pub(crate) fn device_of(queue: &CommandQueue) -> Result<cl_device_id> {
    Ok(queue_info(queue, command_queue::CL_QUEUE_DEVICE)? as cl_device_id)
}

fn queue_info(queue: &CommandQueue, name: u32) -> Result<isize> {
    command_queue::get_command_queue_info(queue.get(), name)
        .map(isize::from)
        .map_err(in_call("clGetCommandQueueInfo"))
}

/// A reference of our own to an event. Unlike opencl3's, it does not panic when it is dropped.
#[derive(Debug)]
pub struct EventRef(ManuallyDrop<Event>);

impl Drop for EventRef {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and given up once.
        if let Err(code) = unsafe { event::release_event(self.get()) } {
            log::error!("{}", Error::from_call("clReleaseEvent", code));
        }
    }
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
    /// # Safety
    /// `queue` is a valid queue.
    pub(crate) unsafe fn retain(queue: cl_command_queue) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        unsafe { command_queue::retain_command_queue(queue) }
            .map_err(in_call("clRetainCommandQueue"))?;
        Ok(Self(queue))
    }

    pub(crate) fn flush(&self) -> Result<()> {
        command_queue::flush(self.get()).map_err(in_call("clFlush"))
    }

    /// An event that ends when all has that the queue was given up to now.
    pub(crate) fn last_command(&self) -> Result<EventRef> {
        const CALL: &str = "clEnqueueMarkerWithWaitList";
        // SAFETY: the queue is alive, and there is no wait list.
        let event = unsafe {
            command_queue::enqueue_marker_with_wait_list(self.get(), 0, std::ptr::null())
        }
        .map_err(in_call(CALL))?;
        // SAFETY: the driver has just made it, with one reference.
        unsafe { EventRef::from_driver(CALL, event) }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It ran to its end.
    Complete,
    /// It did not.
    Failed,
}

/// How the command of a valid event ended; `None` where it has not, or cannot tell.
pub(crate) fn outcome(event: cl_event) -> Option<Outcome> {
    let status = event::get_event_info(event, event::CL_EVENT_COMMAND_EXECUTION_STATUS).ok()?;
    match i32::from(status) {
        event::CL_COMPLETE => Some(Outcome::Complete),
        ..0 => Some(Outcome::Failed),
        _ => None,
    }
}

impl EventRef {
    /// Takes over the reference to the event that the driver gave for a command.
    ///
    /// # Errors
    /// CL_OUT_OF_RESOURCES for no event: nobody can tell when the command ends.
    ///
    /// # Safety
    /// `event` is null, or a valid event of which the caller owns a reference.
    #[inline]
    pub(crate) unsafe fn from_driver(call: &'static str, event: cl_event) -> Result<Self> {
        if event.is_null() {
            return Err(Error::refused(call, CL_OUT_OF_RESOURCES, "the driver returned no event"));
        }
        Ok(Self(ManuallyDrop::new(Event::new(event))))
    }

    pub(crate) fn get(&self) -> cl_event {
        self.0.get()
    }

    pub(crate) fn as_event(&self) -> &Event {
        &self.0
    }

    /// # Safety
    /// `event` is a valid event.
    pub(crate) unsafe fn retain(event: cl_event) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        unsafe { event::retain_event(event) }.map_err(in_call("clRetainEvent"))?;
        Ok(Self(ManuallyDrop::new(Event::new(event))))
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        // SAFETY: the event is alive while it is borrowed.
        unsafe { Self::retain(self.get()) }
    }

    /// Hands its reference on.
    pub(crate) fn into_event(self) -> Event {
        Event::new(ManuallyDrop::new(self).get())
    }

    /// CL_EVENT_COMMAND_EXECUTION_STATUS: the code with which its command failed, if it is negative.
    pub(crate) fn status(&self) -> Result<i32> {
        event::get_event_info(self.get(), event::CL_EVENT_COMMAND_EXECUTION_STATUS)
            .map(i32::from)
            .map_err(in_call("clGetEventInfo"))
    }

    /// How its command ended; `None` where it has not, or cannot tell.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        outcome(self.get())
    }

    /// Flushes the queue of this event's command; does nothing for user events.
    pub(crate) fn flush_queue(&self) -> Result<()> {
        let queue = event::get_event_info(self.get(), event::CL_EVENT_COMMAND_QUEUE)
            .map_err(in_call("clGetEventInfo"))?;
        let queue = isize::from(queue) as cl_command_queue;
        // A user event has none.
        if queue.is_null() {
            return Ok(());
        }
        command_queue::flush(queue).map_err(in_call("clFlush"))
    }

    /// Whether somebody else has a reference, too: the driver gives up its own when it has told all who
    /// wait of the command's end.
    pub(crate) fn is_shared(&self) -> bool {
        let count = event::get_event_info(self.get(), event::CL_EVENT_REFERENCE_COUNT);
        count.is_ok_and(|count| u32::from(count) > 1)
    }

    /// Waits until its command has ended, well or not. Flushes its queue (OpenCL 3.0, 5.15).
    pub(crate) fn wait_until_ended(&self) -> Result<Outcome> {
        let waited = event::wait_for_events(&[self.get()]);
        match (self.outcome(), waited) {
            (Some(outcome), _) => Ok(outcome),
            (None, Err(code)) => Err(Error::from_call("clWaitForEvents", code)),
            (None, Ok(())) => Ok(Outcome::Complete),
        }
    }
}
