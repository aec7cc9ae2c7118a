//! Command queues (OpenCL 3.0, 5.1; `pyopencl.CommandQueue`).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::{mem, ptr};

use crate::context::Context;
use crate::create::create;
use crate::device::Device;
use crate::driver::Driver;
use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_CONTEXT, CL_INVALID_DEVICE};
use cl3::event::retain_event;
use cl3::types::{cl_command_queue, cl_context, cl_event};

use crate::error::{Error, Result, in_call};
use crate::event::Event;
use crate::handle::{by_handle, retain_raw};
use crate::order::Order;
use crate::queue_state::QueueState;
use crate::wait_list::RawWaitList;

pub use crate::queue_state::QueueProperties;

/// A command queue (`pyopencl.CommandQueue`).
///
/// Clones are handles to the same queue. Dropping the last handle flushes the queue; the driver's
/// queue is released when the last event of its commands is dropped, too.
///
/// ```
/// use clmatrix::{CommandQueue, QueueProperties, enqueue_barrier, enqueue_marker};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let queue = CommandQueue::new(&context)?;
/// let profiled = CommandQueue::with_properties(&context, QueueProperties::PROFILING)?;
/// let written = enqueue_marker(&profiled)?;
/// let barrier = enqueue_barrier(queue.after(&written))?;
/// profiled.flush()?;
/// barrier.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CommandQueue(Arc<Handle>);

/// The part that clones share. Each handle that comes from an event or a block has its own.
struct Handle(Arc<QueueState>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.handles.fetch_sub(1, Ordering::AcqRel);
        self.0.end_without_handles();
    }
}

/// The reason why a command has no event.
pub(crate) enum NotSubmitted {
    /// The driver did not take the command.
    Rejected(Error),
    /// The driver took the command and returned no event, so its end is unknown.
    NoEvent(Error),
}

impl From<NotSubmitted> for Error {
    fn from(error: NotSubmitted) -> Self {
        match error {
            NotSubmitted::Rejected(error) | NotSubmitted::NoEvent(error) => error,
        }
    }
}

impl QueueState {
    /// Ends the commands of a queue without handles, and with them the queue. Called when a handle is dropped and
    /// after commands that may come later. Runs no callback.
    pub fn end_without_handles(&self) {
        if self.handles.load(Ordering::Acquire) > 0 {
            return;
        }
        if !self.driver.contains(Driver::FLUSH_BLOCKS)
            && let Err(error) = self.flush()
        {
            log::error!("{error}");
        }
        self.context.dropped_queues.look();
        let used = mem::take(&mut *self.used.lock());
        for tracker in used.values().filter_map(Weak::upgrade) {
            // The queue may have handles again, and none at the next check.
            if tracker.let_queues_go() {
                self.add_used(Arc::downgrade(&tracker));
            }
        }
    }

    /// Calls the driver for a command with this wait list, and returns the command's event. Flushes the
    /// other queues of the wait list (OpenCL 3.0, 5.15).
    // quirk: RUSTICL-7
    #[inline(always)]
    pub fn submit(
        self: &Arc<Self>,
        call: &'static str,
        wait_list: &RawWaitList<'_>,
        submit: impl FnOnce(Arguments) -> Submitted,
    ) -> std::result::Result<Event, NotSubmitted> {
        let (count, events) = wait_list.arguments();
        for event in wait_list.events() {
            event.flush_queue(self.raw()).map_err(NotSubmitted::Rejected)?;
        }
        let submitted = submit((self.raw(), count, events));
        self.add_command();
        match submitted {
            // SAFETY: the driver has just created the event for a command of this queue.
            Ok(event) => unsafe { Event::of_command(call, event, self, count > 0) }
                .map_err(NotSubmitted::NoEvent),
            Err(code) => Err(NotSubmitted::Rejected(Error::from_call(call, code))),
        }
    }
}

/// The queue, number of events and events that a function of the driver takes.
pub(crate) type Arguments = (cl_command_queue, u32, *const cl_event);

/// The event of a command that the driver took, or the driver's error.
pub(crate) type Submitted = std::result::Result<cl_event, i32>;

impl CommandQueue {
    /// Creates an in-order queue on the first device of `context` (`clCreateCommandQueue`).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn new(context: &Context) -> Result<Self> {
        Self::with_properties(context, QueueProperties::empty())
    }

    /// Creates a queue with `properties` on the first device of `context`.
    ///
    /// # Errors
    /// CL_INVALID_QUEUE_PROPERTIES where the device lacks a property, and the driver's other errors.
    pub fn with_properties(context: &Context, properties: QueueProperties) -> Result<Self> {
        Self::on_device(context, context.default_device(), properties)
    }

    /// Creates a queue with `properties` on `device`.
    ///
    /// # Errors
    /// CL_INVALID_DEVICE for a device that is not in `context`, and those of
    /// [`with_properties`](Self::with_properties).
    // quirk: POCL-20
    pub fn on_device(
        context: &Context,
        device: &Device,
        properties: QueueProperties,
    ) -> Result<Self> {
        let is_foreign = !context.devices().contains(device);
        let reason = "the device is not in the context";
        Error::refuse_if(is_foreign, "clCreateCommandQueue", CL_INVALID_DEVICE, || reason)?;
        let (context, device, bits) = (context.retained()?, device.as_raw(), properties.bits());
        // SAFETY: the context and the device are alive while they are borrowed.
        let raw = unsafe { create!(QueueRef, clCreateCommandQueue(context.raw(), device, bits)) }?;
        // SAFETY: the queue is valid, and its reference is taken over.
        let mut state = unsafe { QueueState::from_raw(raw.get()) }?;
        mem::forget(raw);
        state.context = context;
        Ok(Self::of(Arc::new(state)))
    }

    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid queue, and the caller owns a reference to it. Commands that other code enqueues on it are
    /// subject to the rules of [`as_raw`](Self::as_raw).
    pub unsafe fn from_raw(raw: cl_command_queue) -> Result<Self> {
        // SAFETY: as the caller promises.
        let state = unsafe { QueueState::from_raw(raw) }?;
        Ok(Self::of(Arc::new(state)))
    }

    #[inline]
    pub(crate) fn state(&self) -> &Arc<QueueState> {
        &self.0.0
    }

    /// Returns a reference that does not keep the queue.
    pub(crate) fn downgrade(&self) -> Weak<QueueState> {
        Arc::downgrade(self.state())
    }

    /// Returns a handle to a queue that has other handles, or events.
    pub(crate) fn upgrade(state: &Weak<QueueState>) -> Option<Self> {
        state.upgrade().map(Self::of)
    }

    pub(crate) fn of(state: Arc<QueueState>) -> Self {
        state.handles.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(Handle(state)))
    }

    /// Returns whether `state` is of this queue.
    #[inline]
    pub(crate) fn is(&self, state: &Weak<QueueState>) -> bool {
        ptr::eq(Arc::as_ptr(self.state()), state.as_ptr())
    }

    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    ///
    /// Commands that other code enqueues through this handle are unknown to the library: maps, frees
    /// and memory pools do not wait for them. A call of `record_use` on each memory object that such a
    /// command uses makes the command known: see `docs/guide/soundness.md`.
    #[inline]
    pub fn as_raw(&self) -> cl_command_queue {
        self.state().raw()
    }

    /// Returns CL_QUEUE_CONTEXT.
    pub fn context(&self) -> Context {
        self.state().context()
    }

    #[inline]
    pub(crate) fn context_raw(&self) -> cl_context {
        self.state().context_raw()
    }

    /// Refuses a `call` with `what` of another context.
    #[inline]
    pub(crate) fn check_context(
        &self,
        call: &'static str,
        what: &str,
        context: cl_context,
    ) -> Result<()> {
        Error::refuse_if(self.context_raw() != context, call, CL_INVALID_CONTEXT, || {
            format!("the queue belongs to another context than the {what}")
        })
    }

    /// Returns CL_QUEUE_DEVICE.
    pub fn device(&self) -> &Device {
        &self.state().device
    }

    /// Returns CL_QUEUE_PROPERTIES.
    #[inline]
    pub fn properties(&self) -> QueueProperties {
        self.state().properties
    }

    /// Returns whether the queue runs its commands one after the other.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.state().is_in_order()
    }

    /// Returns CL_QUEUE_REFERENCE_COUNT, for debugging: the handles of this crate share one
    /// reference.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn reference_count(&self) -> Result<u32> {
        cl::get_command_queue_info(self.as_raw(), cl::CL_QUEUE_REFERENCE_COUNT)
            .map(u32::from)
            .map_err(in_call("clGetCommandQueueInfo"))
    }

    /// Submits all enqueued commands to the device (`clFlush`).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn flush(&self) -> Result<()> {
        self.state().flush()
    }

    /// Waits until all enqueued commands have ended (`clFinish`).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn finish(&self) -> Result<()> {
        self.state().is_about_to_be_flushed();
        cl::finish(self.as_raw()).map_err(in_call("clFinish"))
    }

    /// Wraps the event of a command that other code enqueued on this queue. The caller's reference is taken over.
    ///
    /// # Errors
    /// CL_OUT_OF_RESOURCES for null.
    ///
    /// # Safety
    /// `raw` is null, or a valid event of a command of this queue, and the caller owns a reference to it.
    pub unsafe fn event_from_raw(&self, raw: cl_event) -> Result<Event> {
        self.state().add_command();
        // SAFETY: as the caller promises.
        unsafe { Event::of_command("clRetainEvent", raw, self.state(), true) }
    }

    /// Wraps the event of a command that other code enqueued on this queue, and adds a reference for the result
    /// (`clRetainEvent`).
    ///
    /// # Errors
    /// CL_OUT_OF_RESOURCES for null, and the driver's errors.
    ///
    /// # Safety
    /// `raw` is null, or a valid event of a command of this queue.
    pub unsafe fn event_retain_raw(&self, raw: cl_event) -> Result<Event> {
        if !raw.is_null() {
            // SAFETY: the caller vouches for the handle.
            unsafe { retain_event(raw) }.map_err(in_call("clRetainEvent"))?;
        }
        // SAFETY: the reference has been added.
        unsafe { self.event_from_raw(raw) }
    }

    /// Orders the queue's later commands after `events`, which are of its context.
    pub(crate) fn order_after(&self, events: &[Event]) -> Result<()> {
        let pending: Vec<_> = events.iter().filter(|event| event.outcome().is_none()).collect();
        if pending.is_empty() {
            return Ok(());
        }
        // A barrier also orders out-of-order queues.
        enqueue_barrier(self.after(pending)).map(drop)
    }
}

impl Event {
    /// Returns the queue of the command; `None` for user events and for events of [`from_raw`](Self::from_raw).
    pub fn queue(&self) -> Option<CommandQueue> {
        self.queue_state().cloned().map(CommandQueue::of)
    }
}

/// Enqueues a marker, which completes after the events of the wait list, or after all commands enqueued before it if
/// there are none (`clEnqueueMarkerWithWaitList`; `pyopencl.enqueue_marker`).
///
/// # Errors
/// CL_INVALID_CONTEXT for an event of another context, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that
/// has failed, and the driver's errors.
pub fn enqueue_marker<'q>(order: impl Into<Order<'q>>) -> Result<Event> {
    const CALL: &str = "clEnqueueMarkerWithWaitList";
    synchronize(CALL, cl::enqueue_marker_with_wait_list, &order.into())
}

/// Enqueues a barrier: later commands run after it, and it completes as a marker does
/// (`clEnqueueBarrierWithWaitList`; `pyopencl.enqueue_barrier`).
///
/// # Errors
/// The errors of [`enqueue_marker`].
pub fn enqueue_barrier<'q>(order: impl Into<Order<'q>>) -> Result<Event> {
    const CALL: &str = "clEnqueueBarrierWithWaitList";
    synchronize(CALL, cl::enqueue_barrier_with_wait_list, &order.into())
}

/// Enqueues a marker or a barrier.
fn synchronize(
    call: &'static str,
    submit: unsafe fn(cl_command_queue, u32, *const cl_event) -> Submitted,
    Order { queue, wait_for }: &Order<'_>,
) -> Result<Event> {
    // An empty list means all earlier commands, so completed events stay in the list.
    let wait_list = wait_for.prepare_all(call, queue.context_raw())?;
    let submitted = queue.state().submit(call, &wait_list, |(queue, count, events)| {
        // SAFETY: the handles are alive and of one context.
        unsafe { submit(queue, count, events) }
    });
    Ok(submitted?)
}

by_handle!(CommandQueue, properties);
retain_raw!(CommandQueue, cl_command_queue, QueueRef, "clRetainCommandQueue");
