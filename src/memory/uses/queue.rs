//! Command queues, as far as the order of their commands goes.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use cl3::command_queue as cl;
use cl3::device::{CL_DEVICE_PLATFORM, get_device_info};
use cl3::error_codes::CL_INVALID_CONTEXT;
use cl3::platform::{CL_PLATFORM_NAME, get_platform_info};
use cl3::types::{cl_command_queue, cl_context, cl_device_id, cl_event, cl_platform_id};
use opencl3::command_queue::CommandQueue;

use super::failures::Failures;
use super::marks;
use super::table::Queue;
use crate::error::{Error, Result, in_call};
use crate::handle::{EventRef, QueueRef};
use crate::memory::registry::Registry;
use crate::memory::wait_list::WaitList;

/// In which order a queue's commands end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// In any.
    Loose,
    /// In that in which they were enqueued, even if one fails.
    Strict,
    /// In that in which they were enqueued, but what comes after a command that failed does not wait
    /// for what came before it. Only a command with a wait list can fail.
    Fragile,
}

impl Order {
    fn of(properties: u64, failures: Failures) -> Self {
        match properties & cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE {
            0 if failures.are_overtaken => Self::Fragile,
            0 => Self::Strict,
            _ => Self::Loose,
        }
    }
}

/// Empty where it is not known.
fn platform_name(device: cl_device_id) -> String {
    let platform = get_device_info(device, CL_DEVICE_PLATFORM).map(isize::from);
    let name = platform.and_then(|platform| {
        get_platform_info(platform as cl_platform_id, CL_PLATFORM_NAME).map(String::from)
    });
    name.unwrap_or_default()
}

/// A queue, with what was asked of it once.
#[derive(Debug)]
pub(crate) struct KnownQueue {
    queue: QueueRef,
    /// Only to be compared: the queue keeps it.
    context: usize,
    order: Order,
    failures: Failures,
}

static KNOWN: Registry<KnownQueue> = Registry::new();

impl KnownQueue {
    /// Returns the record of `queue`. Refuses a queue of another context than `context`, which not all
    /// drivers do.
    // quirk: OCLGRIND-9
    pub fn of(call: &'static str, queue: &CommandQueue, context: cl_context) -> Result<Arc<Self>> {
        let queue = queue.get();
        // SAFETY: the queue is alive while it is borrowed.
        let known = KNOWN.find_or_ask(queue.addr(), || unsafe { Self::ask(queue) })?;
        if known.context != context.addr() {
            let why = "the queue belongs to another context than the memory";
            return Err(Error::refused(call, CL_INVALID_CONTEXT, why));
        }
        Ok(known)
    }

    /// # Safety
    /// `queue` is a valid queue.
    unsafe fn ask(queue: cl_command_queue) -> Result<Self> {
        let info = |name| {
            cl::get_command_queue_info(queue, name).map_err(in_call("clGetCommandQueueInfo"))
        };
        let device = isize::from(info(cl::CL_QUEUE_DEVICE)?) as cl_device_id;
        let failures = Failures::of(&platform_name(device));
        Ok(Self {
            context: (isize::from(info(cl::CL_QUEUE_CONTEXT)?) as cl_context).addr(),
            order: Order::of(info(cl::CL_QUEUE_PROPERTIES)?.into(), failures),
            failures,
            // SAFETY: the caller vouches for the handle.
            queue: unsafe { QueueRef::retain(queue) }?,
        })
    }

    #[inline]
    pub fn get(&self) -> cl_command_queue {
        self.queue.get()
    }

    /// Returns whether it runs its commands one after the other.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.order != Order::Loose
    }

    /// Returns whether its commands end in order even if one fails.
    pub fn is_strict(&self) -> bool {
        self.order == Order::Strict
    }

    /// True if a failed map has to be unmapped: some drivers count it as a map.
    // quirk: DRIVER-8, NVIDIA-2
    pub fn unmaps_what_failed(&self) -> bool {
        !self.failures.are_unmapped_with_harm
    }

    /// Call before submitting a command with this wait list, which can fail.
    pub fn mark(&self, wait_for: &WaitList<'_>) -> Result<Marked> {
        if self.order != Order::Fragile {
            return Ok(Marked::default());
        }
        let waits = self.failures.race_with_idle_queues;
        Ok(Marked(NonNull::new(marks::begin(&self.queue, wait_for.retained()?, waits)?)))
    }

    /// Call after submitting a command without a wait list if a marker was being placed concurrently.
    pub fn mark_command(&self, command: &EventRef) {
        if self.order == Order::Fragile
            && let Err(error) = marks::add(&self.queue, command)
        {
            log::warn!("{error}; waiting instead");
            if let Err(error) = command.wait_until_ended() {
                log::error!("{error}");
            }
        }
    }

    /// What a command that the queue has been given may have overtaken.
    pub fn overtaken(&self) -> Result<Vec<EventRef>> {
        marks::of(self.get())
    }

    /// Events after which all has ended that the queue was given up to now.
    pub fn last_commands(&self) -> Result<Vec<EventRef>> {
        let last = self.queue.last_command()?;
        // Nobody else may ever flush it.
        self.queue.flush()?;
        // Asked for last: what is not marked by now comes after `last`.
        let mut events = self.overtaken()?;
        events.push(last);
        Ok(events)
    }

    /// What the queue is given from now on comes after these events, of its context. A barrier
    /// keeps them where it may reorder its commands.
    pub fn wait_for(&self, events: &WaitList<'_>) -> Result<()> {
        let call = match self.is_in_order() {
            true => "clEnqueueMarkerWithWaitList",
            false => "clEnqueueBarrierWithWaitList",
        };
        let (count, list) = events.arguments(call, self.context as cl_context)?;
        let mark = self.mark(events)?;
        // SAFETY: the handles are alive and of one context, and so is the list during the call.
        let event = match unsafe {
            if self.is_in_order() {
                cl::enqueue_marker_with_wait_list(self.get(), count, list)
            } else {
                cl::enqueue_barrier_with_wait_list(self.get(), count, list)
            }
        } {
            Ok(event) => event,
            Err(code) => {
                mark.was_refused();
                return Err(Error::from_call(call, code));
            }
        };
        // SAFETY: the driver has just made it.
        unsafe { mark.was_issued(event) };
        // SAFETY: the driver has just made it, with one reference.
        drop(unsafe { EventRef::from_driver(call, event) }?);
        Ok(())
    }

    pub fn flush(&self) -> Result<()> {
        self.queue.flush()
    }

    pub fn finish(&self) -> Result<()> {
        cl::finish(self.get()).map_err(in_call("clFinish"))
    }
}

/// That a queue is about to be given a command that can fail, or not if this is `default`. Whoever has
/// one says what came of it.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Marked(Option<NonNull<c_void>>);

impl Marked {
    /// The queue has been given the command.
    ///
    /// # Safety
    /// `event` is the command's, and valid or null.
    #[inline(always)]
    pub unsafe fn was_issued(self, event: cl_event) {
        if let Self(Some(mark)) = self {
            // SAFETY: the caller vouches for the handle.
            unsafe { keep(mark, event) };
        }
    }

    /// The queue has not been given the command.
    #[cold]
    pub fn was_refused(self) {
        if let Self(Some(mark)) = self {
            marks::end(mark.as_ptr(), None);
        }
    }
}

/// # Safety
/// `event` is valid or null.
#[cold]
unsafe fn keep(mark: NonNull<c_void>, event: cl_event) {
    // SAFETY: the caller vouches for the handle.
    let command = (!event.is_null()).then(|| unsafe { EventRef::retain(event) }.ok());
    marks::end(mark.as_ptr(), command.flatten());
}

impl Queue for Arc<KnownQueue> {
    #[inline]
    fn key(&self) -> usize {
        self.get().addr()
    }

    #[inline]
    fn is_in_order(&self) -> bool {
        KnownQueue::is_in_order(self)
    }

    #[inline]
    fn orders_what_follows(&self) -> bool {
        match self.order {
            Order::Loose => false,
            Order::Strict => true,
            Order::Fragile => !marks::are_there(),
        }
    }

    #[inline]
    fn fails_without_mark(&self) -> bool {
        self.order != Order::Fragile
    }
}
