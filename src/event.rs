//! Events of commands, and user events (OpenCL 3.0, 5.11; `pyopencl.Event`, `pyopencl.UserEvent`).
//!
//! A command has failed if its status says so, or if `clWaitForEvents` does: Intel's runtime reports
//! the status of commands as complete that it has cancelled because an event of their wait list failed.
// quirk: INTEL-1

use std::ffi::c_void;
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::context::Context;
use crate::create::create;
use crate::driver::Driver;
use cl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_OPERATION, CL_INVALID_VALUE,
    CL_OUT_OF_RESOURCES,
};
use cl3::event as cl;
use cl3::types::{cl_command_queue, cl_context, cl_event, cl_int};
use parking_lot::Mutex;

use crate::error::{Error, Result, in_call};
use crate::handle::{EventRef, by_handle, retain_raw};
use crate::mem_context::MemContext;
use crate::queue_state::QueueState;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command ran to its end.
    Complete = 1,
    /// The command did not run to its end.
    Failed,
}

/// CL_EVENT_COMMAND_EXECUTION_STATUS (`pyopencl.command_execution_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The command has been enqueued.
    Queued,
    /// The command has been submitted to the device.
    Submitted,
    /// The device runs the command.
    Running,
    /// The command has completed.
    Complete,
    /// The command has failed with this code, or was cancelled.
    Failed(i32),
}

impl Status {
    /// Returns whether the command has completed or failed.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Complete | Self::Failed(_))
    }
}

/// Times of a command in nanoseconds of the device's clock (`pyopencl.Event.profile`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Profile {
    /// CL_PROFILING_COMMAND_QUEUED.
    pub queued: u64,
    /// CL_PROFILING_COMMAND_SUBMIT.
    pub submitted: u64,
    /// CL_PROFILING_COMMAND_START.
    pub started: u64,
    /// CL_PROFILING_COMMAND_END.
    pub ended: u64,
}

/// The event of a command (`pyopencl.Event`).
///
/// Clones are handles to the same event and cost no call of the driver.
#[derive(Clone)]
pub struct Event(Arc<Inner>);

struct Inner {
    /// The first field: the queue or the context must outlive the event.
    raw: EventRef,
    origin: Origin,
    /// `PENDING`, `COMPLETE` or `FAILED`.
    outcome: AtomicU8,
    /// True if CL_COMPLETE may be the status of a command that was cancelled.
    hides_cancellation: bool,
    /// The callbacks that were passed to the driver.
    callbacks: Mutex<Vec<Arc<Callback>>>,
}

/// The object that an event belongs to, which the events of some drivers do not keep.
// quirk: DRIVER-9
enum Origin {
    /// The queue of the command.
    Queue(Arc<QueueState>),
    /// The context of a user event, or of an event that other code created.
    Context(Arc<MemContext>),
}

/// True once a command of this process is known to have failed.
pub(crate) static HAVE_FAILED: AtomicBool = AtomicBool::new(false);

const PENDING: u8 = 0;
const COMPLETE: u8 = Outcome::Complete as u8;
const FAILED: u8 = Outcome::Failed as u8;

impl Event {
    /// Wraps the event of a command of `queue`, and takes over a reference. The command may have a wait
    /// list only if `has_wait_list`.
    ///
    /// # Errors
    /// CL_OUT_OF_RESOURCES for no event: the end of the command is unknown.
    ///
    /// # Safety
    /// `raw` is null, or a valid event of the queue of which the caller owns a reference.
    #[inline]
    pub(crate) unsafe fn of_command(
        call: &'static str,
        raw: cl_event,
        queue: &Arc<QueueState>,
        has_wait_list: bool,
    ) -> Result<Self> {
        let reason = "the driver returned no event";
        Error::refuse_if(raw.is_null(), call, CL_OUT_OF_RESOURCES, || reason)?;
        // SAFETY: the caller owns a reference to the event.
        let raw = unsafe { EventRef::owned(raw) };
        // Barriers order the commands of an out-of-order queue.
        let hides = queue.driver.contains(Driver::HIDES_CANCELLATIONS)
            && (has_wait_list || !queue.is_in_order());
        Ok(Self::with(raw, Origin::Queue(Arc::clone(queue)), hides))
    }

    #[inline]
    fn with(raw: EventRef, origin: Origin, hides_cancellation: bool) -> Self {
        let (outcome, callbacks) = (AtomicU8::new(PENDING), Mutex::default());
        Self(Arc::new(Inner { raw, origin, outcome, hides_cancellation, callbacks }))
    }

    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails. The event of a command of a
    /// queue is better wrapped by
    /// [`CommandQueue::event_from_raw`](crate::CommandQueue::event_from_raw).
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid event, and the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_event) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        let context = unsafe { MemContext::retain_answer(info(raw, cl::CL_EVENT_CONTEXT)?) }?;
        // SAFETY: the caller vouches for the handle and its reference.
        let raw = unsafe { EventRef::owned(raw) };
        Ok(Self::with(raw, Origin::Context(context), true))
    }

    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    #[inline]
    pub fn as_raw(&self) -> cl_event {
        self.0.raw.get()
    }

    /// Returns CL_EVENT_CONTEXT.
    pub fn context(&self) -> Context {
        match &self.0.origin {
            Origin::Queue(queue) => queue.context(),
            Origin::Context(context) => Context(Arc::clone(context)),
        }
    }

    #[inline]
    pub(crate) fn context_raw(&self) -> cl_context {
        match &self.0.origin {
            Origin::Queue(queue) => queue.context_raw(),
            Origin::Context(context) => context.raw(),
        }
    }

    #[inline]
    pub(crate) fn queue_state(&self) -> Option<&Arc<QueueState>> {
        match &self.0.origin {
            Origin::Queue(queue) => Some(queue),
            Origin::Context(_) => None,
        }
    }

    /// Returns whether this is an event of the queue `queue`.
    #[inline]
    pub(crate) fn is_of(&self, queue: cl_command_queue) -> bool {
        self.queue_state().is_some_and(|of| of.raw() == queue)
    }

    /// Returns CL_EVENT_COMMAND_EXECUTION_STATUS.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn status(&self) -> Result<Status> {
        Ok(match self.raw_status()? {
            code @ ..=cl::CL_COMPLETE => match self.outcome() {
                Some(Outcome::Failed) if code == cl::CL_COMPLETE => {
                    Status::Failed(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
                }
                Some(Outcome::Failed) => Status::Failed(code),
                _ => Status::Complete,
            },
            cl::CL_RUNNING => Status::Running,
            cl::CL_SUBMITTED => Status::Submitted,
            _ => Status::Queued,
        })
    }

    /// Returns CL_EVENT_REFERENCE_COUNT, for debugging: the handles of this crate share one
    /// reference.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn reference_count(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_EVENT_REFERENCE_COUNT)?.into())
    }

    /// Returns the times of a command that has completed (`clGetEventProfilingInfo`).
    ///
    /// # Errors
    /// CL_PROFILING_INFO_NOT_AVAILABLE where the queue was created without
    /// [`PROFILING`](crate::QueueProperties::PROFILING), where the command has not completed, and
    /// for user events; the driver's other errors.
    pub fn profile(&self) -> Result<Profile> {
        let time = |name| {
            cl::get_event_profiling_info(self.as_raw(), name)
                .map(u64::from)
                .map_err(in_call("clGetEventProfilingInfo"))
        };
        Ok(Profile {
            queued: time(cl::CL_PROFILING_COMMAND_QUEUED)?,
            submitted: time(cl::CL_PROFILING_COMMAND_SUBMIT)?,
            started: time(cl::CL_PROFILING_COMMAND_START)?,
            ended: time(cl::CL_PROFILING_COMMAND_END)?,
        })
    }

    /// Waits until the command has ended (`clWaitForEvents`). Flushes the queue of the command.
    ///
    /// # Errors
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where the command failed, or an event that it
    /// waited for; and the driver's errors.
    pub fn wait(&self) -> Result<()> {
        self.wait_in("clWaitForEvents")
    }

    /// Waits as [`wait`](Self::wait) does; an error names `call`.
    pub(crate) fn wait_in(&self, call: &'static str) -> Result<()> {
        match self.wait_until_ended()? {
            Outcome::Complete => Ok(()),
            Outcome::Failed => Err(self.failure(call)),
        }
    }

    /// Returns the error of a `call` whose command has failed.
    #[cold]
    fn failure(&self, call: &'static str) -> Error {
        let reason = match self.raw_status() {
            Ok(code) if code < 0 && code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => {
                format!("the command failed with {} ({code})", cl3::error_codes::error_text(code))
            }
            _ => "an event that the command waited for, or an earlier command of the queue, failed"
                .to_owned(),
        };
        Error::refused(call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, reason)
    }

    /// Calls `callback` once when the command has ended, with the driver's final status
    /// (`clSetEventCallback`; `pyopencl.Event.set_callback`), which on Intel's driver may be
    /// [`Complete`](Status::Complete) for a command that is cancelled later. If the failure of the command is known, it
    /// is [`Failed`](Status::Failed) on all drivers.
    ///
    /// The callback runs on a thread of the driver, on the thread that sets a user event, or on the calling thread if
    /// the command has ended: on Intel's runtime, callbacks that set others recurse. PoCL and rusticl call no
    /// callbacks of commands that fail later. The callback then runs on a thread of the program or of the library, as soon
    /// as a function of the library, such as [`wait`](Self::wait) or [`status`](Self::status), finds the failure, or
    /// when the last handle to the event is dropped. It never runs if a command fails after that drop.
    ///
    /// The callback must not call functions that block or ask about this event, and must not drop a map, or the last
    /// handle to a queue, context or memory object. A panic of the callback is logged.
    ///
    /// # Errors
    /// The driver's errors; the callback is not called then.
    pub fn on_complete(&self, callback: impl FnOnce(Status) + Send + 'static) -> Result<()> {
        // PoCL passes CL_COMPLETE where the command has failed before.
        // quirk: POCL-23
        if self.outcome() == Some(Outcome::Failed) {
            self.0.callbacks.lock().push(Callback::new(callback));
            self.0.call_back();
            return Ok(());
        }
        self.when_ended(callback)
    }

    /// Calls `callback` as [`on_complete`](Self::on_complete) does; its status may be that of PoCL.
    pub(crate) fn when_ended(&self, callback: impl FnOnce(Status) + Send + 'static) -> Result<()> {
        let callback = Callback::new(callback);
        // Before the driver is called: it may fail meanwhile.
        self.0.callbacks.lock().push(Arc::clone(&callback));
        let raw = Arc::into_raw(Arc::clone(&callback));
        cl::set_event_callback(self.as_raw(), cl::CL_COMPLETE, call_back, raw.cast_mut().cast())
            .map_err(|code| {
                // SAFETY: the pointer comes from above, and the driver has not taken it.
                drop(unsafe { Arc::from_raw(raw) });
                self.0.callbacks.lock().retain(|kept| !Arc::ptr_eq(kept, &callback));
                Error::from_call("clSetEventCallback", code)
            })?;
        // Oclgrind calls no callback of a command that has ended.
        // quirk: OCLGRIND-13
        match self.outcome() {
            Some(Outcome::Complete) => callback.call(Status::Complete),
            Some(Outcome::Failed) => self.0.call_back(),
            None => {}
        }
        Ok(())
    }

    /// Keeps objects until the command has ended, or forever where the driver never calls back.
    pub(crate) fn keep<R: Send + 'static>(&self, objects: R) {
        let objects = ManuallyDrop::new(objects);
        let release = move |_| drop(ManuallyDrop::into_inner(objects));
        if let Err(error) = self.when_ended(release) {
            log::warn!("{error}: objects of a command are not released");
        }
    }

    pub(crate) fn raw_status(&self) -> Result<i32> {
        Ok(info(self.as_raw(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS)?.into())
    }

    /// Returns the outcome of the command, if it is known without a call of the driver.
    #[inline]
    pub(crate) fn known_outcome(&self) -> Option<Outcome> {
        match self.0.outcome.load(Ordering::Acquire) {
            COMPLETE => Some(Outcome::Complete),
            FAILED => Some(Outcome::Failed),
            _ => None,
        }
    }

    /// Returns the end of the command; `None` where it has not ended, or where the driver does not report it.
    #[inline]
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.known_outcome().or_else(|| self.ask().inspect(|outcome| self.has_ended(*outcome)))
    }

    /// Returns whether the command is known to have ended, without running a callback, which may take a lock that the
    /// caller holds. Does not query the driver while a callback is left or runs.
    // quirk: RUSTICL-10
    pub(crate) fn has_ended_quietly(&self) -> bool {
        // Locked, so that no callback begins meanwhile. The driver drops its reference to one after the call.
        let callbacks = self.0.callbacks.lock();
        let have_run = callbacks.iter().all(|callback| Arc::strong_count(callback) == 1);
        let outcome = self.known_outcome().or_else(|| have_run.then(|| self.ask())?);
        outcome.inspect(|outcome| self.is_known(*outcome)).is_some()
    }

    /// Queries the driver for the end of the command.
    #[cold]
    fn ask(&self) -> Option<Outcome> {
        match self.raw_status() {
            // The command has ended: the call does not block.
            Ok(cl::CL_COMPLETE)
                if self.0.hides_cancellation && cl::wait_for_events(&[self.as_raw()]).is_err() =>
            {
                Some(Outcome::Failed)
            }
            Ok(cl::CL_COMPLETE) => Some(Outcome::Complete),
            Ok(..0) => Some(Outcome::Failed),
            Ok(_) | Err(_) => None,
        }
    }

    fn is_known(&self, outcome: Outcome) {
        // First: a thread that sees the outcome sees this, too.
        if outcome == Outcome::Failed {
            HAVE_FAILED.store(true, Ordering::Release);
        }
        self.0.outcome.store(outcome as u8, Ordering::Release);
    }

    fn has_ended(&self, outcome: Outcome) {
        self.is_known(outcome);
        if outcome == Outcome::Failed {
            self.0.call_back();
        }
    }

    /// Waits until the command has completed or failed. Flushes its queue (OpenCL 3.0, 5.15).
    pub(crate) fn wait_until_ended(&self) -> Result<Outcome> {
        if let Some(outcome) = self.known_outcome() {
            return Ok(outcome);
        }
        let outcome = match (cl::wait_for_events(&[self.as_raw()]), self.raw_status()?) {
            (Ok(()), cl::CL_COMPLETE) => Outcome::Complete,
            (_, ..=cl::CL_COMPLETE) => Outcome::Failed,
            (waited, _) => {
                let code = waited.err().unwrap_or(CL_OUT_OF_RESOURCES);
                return Err(Error::from_call("clWaitForEvents", code));
            }
        };
        self.has_ended(outcome);
        Ok(outcome)
    }

    /// Flushes the queue of the command if it has commands to flush, unless it is `queue` or a flush
    /// blocks; does nothing for other events.
    // quirk: OCLGRIND-2
    #[inline]
    pub(crate) fn flush_queue(&self, queue: cl_command_queue) -> Result<()> {
        match self.queue_state() {
            Some(of) if of.raw() != queue => of.flush_unflushed(),
            _ => Ok(()),
        }
    }
}

impl Inner {
    /// Calls the callbacks of a command that has failed, unless the driver has.
    fn call_back(&self) {
        let callbacks = mem::take(&mut *self.callbacks.lock());
        if callbacks.is_empty() {
            return;
        }
        let code = info(self.raw.get(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS).map(i32::from);
        let code = code.ok().filter(|code| *code < 0);
        let code = code.unwrap_or(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        for callback in callbacks {
            callback.call(Status::Failed(code));
        }
    }
}

fn info(event: cl_event, name: u32) -> Result<cl3::info_type::InfoType> {
    cl::get_event_info(event, name).map_err(in_call("clGetEventInfo"))
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A callback may drop the last handle: rusticl locks the event meanwhile.
        // quirk: RUSTICL-10
        if self.callbacks.get_mut().iter().any(|callback| callback.0.lock().is_some())
            && info(self.raw.get(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS)
                .is_ok_and(|status| i32::from(status) < 0)
        {
            self.call_back();
        }
    }
}

by_handle!(Event, status);
retain_raw!(Event, cl_event, EventRef, "clRetainEvent");

type OnComplete = dyn FnOnce(Status) + Send;

/// A callback that the driver and the event share. The first to call takes it.
struct Callback(Mutex<Option<Box<OnComplete>>>);

impl Callback {
    fn new(callback: impl FnOnce(Status) + Send + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Box::new(callback)))))
    }

    fn call(&self, status: Status) {
        let Some(callback) = self.0.lock().take() else { return };
        let called = std::panic::AssertUnwindSafe(move || callback(status));
        if std::panic::catch_unwind(called).is_err() {
            log::error!("a callback of an event has panicked");
        }
    }
}

extern "C" fn call_back(_: cl_event, status: cl_int, callback: *mut c_void) {
    // SAFETY: the pointer comes from `on_complete`, and the driver calls once.
    let callback = unsafe { Arc::from_raw(callback.cast_const().cast::<Callback>()) };
    callback.call(if status < 0 { Status::Failed(status) } else { Status::Complete });
}

/// An event that the program sets (`clCreateUserEvent`; `pyopencl.UserEvent`).
///
/// A drop sets it to CL_COMPLETE if it has not been set, and logs a warning: otherwise commands would wait
/// for it forever.
///
/// OpenCL leaves it undefined to release a memory object, or another object except an event, while commands wait for
/// a user event that is not set (`clCreateUserEvent`, OpenCL 3.0, 5.11). The suites try it on each driver
/// (`docs/guide/soundness.md`).
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
/// use clmatrix::{CommandQueue, UserEvent};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = CommandQueue::new(&context)?;
/// let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 16)?;
/// let go = UserEvent::new(&context)?;
/// let filled = enqueue_fill(queue.after(&go), &buffer, &1_u32, ..)?;
/// go.set_complete()?;
/// filled.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UserEvent {
    event: Event,
    is_set: AtomicBool,
}

impl UserEvent {
    /// Creates a user event that has not been set.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn new(context: &Context) -> Result<Self> {
        // SAFETY: the context is alive.
        let raw = unsafe { create!(EventRef, clCreateUserEvent(context.as_raw())) }?;
        let event = Event::with(raw, Origin::Context(context.retained()?), false);
        Ok(Self { event, is_set: AtomicBool::new(false) })
    }

    /// Sets the event to CL_COMPLETE (`clSetUserEventStatus`; `pyopencl.UserEvent.set_status`).
    ///
    /// # Errors
    /// CL_INVALID_OPERATION for an event that has been set, and the driver's errors.
    pub fn set_complete(&self) -> Result<()> {
        self.set(cl::CL_COMPLETE)
    }

    /// Makes the event and all commands that wait for it fail with `code`, which is negative.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for a code that is not negative, CL_INVALID_OPERATION for an event that has
    /// been set, and the driver's errors.
    ///
    /// # Safety
    /// The caller answers for all commands that wait for the event, directly or through other commands.
    /// Drivers do not survive their failure: PoCL uses freed events, hangs and aborts, Intel's runtime
    /// crashes if two events of one wait list fail, and commands that are enqueued later on the same
    /// queues may overtake earlier ones. `docs/quirks.md` has the evidence (POCL-2, POCL-3, POCL-10,
    /// POCL-14, NVIDIA-1). The call is sound if the driver is known to survive it, or if no command
    /// waits for the event.
    // quirk: POCL-2, POCL-3, POCL-10, POCL-14, NVIDIA-1
    pub unsafe fn set_failed(&self, code: i32) -> Result<()> {
        let reason = "the code of a failure is negative";
        Error::refuse_if(code >= 0, SET_STATUS, CL_INVALID_VALUE, || reason)?;
        self.set(code)
    }

    fn set(&self, status: i32) -> Result<()> {
        let was_set = self.is_set.swap(true, Ordering::AcqRel);
        let reason = "the event has been set before";
        Error::refuse_if(was_set, SET_STATUS, CL_INVALID_OPERATION, || reason)?;
        cl::set_user_event_status(self.event.as_raw(), status).map_err(|code| {
            self.is_set.store(false, Ordering::Release);
            Error::from_call(SET_STATUS, code)
        })
    }
}

const SET_STATUS: &str = "clSetUserEventStatus";

impl Deref for UserEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

impl Drop for UserEvent {
    fn drop(&mut self) {
        if *self.is_set.get_mut() {
            return;
        }
        log::warn!("a user event was dropped before it was set; it completes");
        if let Err(error) = self.set_complete() {
            log::error!("{error}");
        }
    }
}

/// Waits until the commands of all `events` have ended (`clWaitForEvents`;
/// `pyopencl.wait_for_events`).
///
/// # Errors
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command failed, after all have ended; and the
/// driver's errors.
pub fn wait_for_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<()> {
    let mut result = Ok(());
    for event in events {
        result = result.and(event.wait());
    }
    result
}
