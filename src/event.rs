//! Events of commands, and user events (OpenCL 3.0, 5.11; `pyopencl.Event`, `pyopencl.UserEvent`).
//!
//! An event knows the wait list of its command until the command has ended. A command has failed if
//! the driver says so, or if an event of its wait list has failed, however long the chain is: Intel's
//! runtime reports commands as complete that it has cancelled. The wait list of a command that other
//! code enqueued is unknown; `clWaitForEvents` reports such a command as failed.
// quirk: INTEL-1

use std::ffi::c_void;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use cl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_OPERATION, CL_INVALID_VALUE,
    CL_OUT_OF_RESOURCES,
};
use cl3::event as cl;
use cl3::types::{cl_command_queue, cl_context, cl_event, cl_int};
use opencl3::context::Context;
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};

use crate::after_failure::Unset;
use crate::driver::Driver;
use crate::error::{Error, Result, in_call};
use crate::handle::ContextRef;
use crate::queue::QueueState;
use crate::wait_list::RawWaitList;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command ran to its end.
    Complete,
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
    raw: cl_event,
    origin: Origin,
    /// `PENDING`, `COMPLETE` or `FAILED`.
    outcome: AtomicU8,
    /// The wait list of the command, until the command has ended.
    wait_list: Mutex<SmallVec<[Event; 2]>>,
    /// False where other code enqueued the command.
    is_wait_list_known: bool,
}

/// The object that an event belongs to, which the events of some drivers do not keep.
// quirk: DRIVER-9
enum Origin {
    /// The queue of the command.
    Queue(Arc<QueueState>),
    /// The context of an event that other code created.
    Context(ContextRef),
    /// The context of a [`UserEvent`], which has not ended before it is set here.
    User(ContextRef),
}

const PENDING: u8 = 0;
const COMPLETE: u8 = 1;
const FAILED: u8 = 2;

// SAFETY: OpenCL's objects other than kernels may be used from any thread at once (OpenCL 3.0,
// appendix A.2).
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Event {
    /// Wraps the event of a command of `queue` with this wait list, if it is known, and takes over a
    /// reference.
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
        wait_list: Option<&RawWaitList<'_>>,
    ) -> Result<Self> {
        if raw.is_null() {
            return Err(Error::refused(call, CL_OUT_OF_RESOURCES, "the driver returned no event"));
        }
        let wait_list = wait_list.map(|list| list.events().cloned().collect());
        Ok(Self::with(raw, Origin::Queue(Arc::clone(queue)), wait_list))
    }

    #[inline]
    fn with(raw: cl_event, origin: Origin, wait_list: Option<SmallVec<[Self; 2]>>) -> Self {
        let (outcome, is_wait_list_known) = (AtomicU8::new(PENDING), wait_list.is_some());
        let wait_list = Mutex::new(wait_list.unwrap_or_default());
        Self(Arc::new(Inner { raw, origin, outcome, wait_list, is_wait_list_known }))
    }

    /// Wraps a driver's handle. With `retain`, a reference is added; without, the caller's reference
    /// is taken over, unless this fails. The event of a command of a
    /// [`CommandQueue`](crate::CommandQueue) is better wrapped by
    /// [`event_from_raw`](crate::CommandQueue::event_from_raw).
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid event, and without `retain` the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_event, retain: bool) -> Result<Self> {
        // SAFETY: as the caller promises.
        let context = unsafe { context_of(raw) }?;
        if retain {
            // SAFETY: the caller vouches for the handle.
            unsafe { cl::retain_event(raw) }.map_err(in_call("clRetainEvent"))?;
        }
        Ok(Self::with(raw, Origin::Context(context), None))
    }

    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    #[inline]
    pub fn as_raw(&self) -> cl_event {
        self.0.raw
    }

    /// Returns the driver's handle of the context, valid as long as `self` lives.
    #[inline]
    pub fn context_raw(&self) -> cl_context {
        match &self.0.origin {
            Origin::Queue(queue) => queue.context_raw(),
            Origin::Context(context) | Origin::User(context) => context.get(),
        }
    }

    /// Returns the queue of the command, if it is one of this crate's.
    #[inline]
    pub(crate) fn queue(&self) -> Option<&Arc<QueueState>> {
        match &self.0.origin {
            Origin::Queue(queue) => Some(queue),
            Origin::Context(_) | Origin::User(_) => None,
        }
    }

    /// Returns whether this is an event of the queue `queue`.
    #[inline]
    pub(crate) fn is_of(&self, queue: cl_command_queue) -> bool {
        self.queue().is_some_and(|of| of.raw() == queue)
    }

    /// Returns CL_EVENT_COMMAND_EXECUTION_STATUS.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn status(&self) -> Result<Status> {
        Ok(match self.raw_status()? {
            cl::CL_COMPLETE if self.outcome() == Some(Outcome::Failed) => {
                Status::Failed(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
            }
            cl::CL_COMPLETE => Status::Complete,
            cl::CL_RUNNING => Status::Running,
            cl::CL_SUBMITTED => Status::Submitted,
            failed if failed < 0 => Status::Failed(failed),
            _ => Status::Queued,
        })
    }

    /// Returns CL_EVENT_COMMAND_TYPE, such as CL_COMMAND_NDRANGE_KERNEL.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn command_type(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_EVENT_COMMAND_TYPE)?.into())
    }

    /// Returns CL_EVENT_COMMAND_QUEUE: the driver's handle of the queue, null for user events.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn queue_raw(&self) -> Result<cl_command_queue> {
        Ok(isize::from(info(self.as_raw(), cl::CL_EVENT_COMMAND_QUEUE)?) as cl_command_queue)
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
        const CALL: &str = "clWaitForEvents";
        match self.wait_until_ended()? {
            Outcome::Complete => Ok(()),
            Outcome::Failed => Err(self.failure(CALL)),
        }
    }

    /// Returns the error of a `call` whose command has failed.
    #[cold]
    pub(crate) fn failure(&self, call: &'static str) -> Error {
        let reason = match self.raw_status() {
            Ok(code) if code < 0 && code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => {
                format!("the command failed with {} ({code})", cl3::error_codes::error_text(code))
            }
            _ => "an event that the command waited for, or an earlier command of the queue, failed"
                .to_owned(),
        };
        Error::refused(call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, reason)
    }

    /// Calls `callback` when the command has ended, with the driver's final status
    /// (`clSetEventCallback`; `pyopencl.Event.set_callback`). `Ok(())` stands for CL_COMPLETE.
    ///
    /// The callback runs on a thread of the driver, or on the thread that sets a user event. It must
    /// not call functions that block, and must not drop a map, or the last handle to a queue, context
    /// or memory object. A panic of the callback is logged.
    ///
    /// # Errors
    /// The driver's errors; the callback is not called then.
    pub fn on_complete(
        &self,
        callback: impl FnOnce(std::result::Result<(), i32>) + Send + 'static,
    ) -> Result<()> {
        let callback = Box::into_raw(Box::new(Callback(Box::new(callback))));
        cl::set_event_callback(self.as_raw(), cl::CL_COMPLETE, call_back, callback.cast()).map_err(
            |code| {
                // SAFETY: the pointer comes from above, and the driver has not taken it.
                drop(unsafe { Box::from_raw(callback) });
                Error::from_call("clSetEventCallback", code)
            },
        )
    }

    pub(crate) fn raw_status(&self) -> Result<i32> {
        Ok(info(self.as_raw(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS)?.into())
    }

    /// Returns the end of the command as far as it is known without a call of the driver.
    #[inline]
    pub(crate) fn known_outcome(&self) -> Option<Outcome> {
        match self.0.outcome.load(Ordering::Acquire) {
            COMPLETE => Some(Outcome::Complete),
            FAILED => Some(Outcome::Failed),
            _ => None,
        }
    }

    /// Returns the end of the command; `None` where it has not ended, or where the driver cannot
    /// tell.
    #[inline]
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.known_outcome().or_else(|| self.ask().ok())
    }

    /// Returns the end of the command, or an event that has not ended: this one, or one that its end
    /// depends on.
    #[cold]
    fn ask(&self) -> std::result::Result<Outcome, Self> {
        let depends_on = match self.ask_once() {
            Ok(outcome) => return Ok(outcome),
            Err(Unknown::Pending) => return Err(self.clone()),
            Err(Unknown::DependsOn(other)) => other,
        };
        // Chains of wait lists can be long: no recursion.
        let mut path: SmallVec<[Self; 8]> = smallvec![self.clone(), depends_on];
        while let Some(event) = path.last() {
            match event.ask_once() {
                Ok(_) => drop(path.pop()),
                Err(Unknown::Pending) => return Err(event.clone()),
                Err(Unknown::DependsOn(other)) => path.push(other),
            }
        }
        self.known_outcome().ok_or_else(|| self.clone())
    }

    /// Asks the driver about this event, and looks at the known ends of its wait list.
    fn ask_once(&self) -> std::result::Result<Outcome, Unknown> {
        if let Some(outcome) = self.known_outcome() {
            return Ok(outcome);
        }
        if let Origin::User(_) = self.0.origin {
            return Err(Unknown::Pending);
        }
        self.ask_driver()
    }

    fn ask_driver(&self) -> std::result::Result<Outcome, Unknown> {
        let outcome = match self.raw_status() {
            Ok(cl::CL_COMPLETE) if !self.0.is_wait_list_known => {
                // The command has ended: the call does not block.
                let waited = cl::wait_for_events(&[self.as_raw()]);
                if waited.is_ok() { Outcome::Complete } else { Outcome::Failed }
            }
            Ok(cl::CL_COMPLETE) => {
                let mut outcome = Outcome::Complete;
                let wait_list = self.0.wait_list.lock();
                // Another thread may have taken the list with the end of the command.
                if let Some(known) = self.known_outcome() {
                    return Ok(known);
                }
                for event in &*wait_list {
                    match event.known_outcome() {
                        Some(Outcome::Complete) => {}
                        Some(Outcome::Failed) => outcome = Outcome::Failed,
                        None => return Err(Unknown::DependsOn(event.clone())),
                    }
                }
                drop(wait_list);
                outcome
            }
            Ok(..0) => Outcome::Failed,
            Ok(_) | Err(_) => return Err(Unknown::Pending),
        };
        self.has_ended(outcome);
        Ok(outcome)
    }

    fn has_ended(&self, outcome: Outcome) {
        let (value, queue) = match outcome {
            Outcome::Complete => (COMPLETE, None),
            Outcome::Failed => (FAILED, self.queue()),
        };
        if let Some(queue) = queue {
            queue.after_failure().record();
        }
        self.0.outcome.store(value, Ordering::Release);
        let wait_list = mem::take(&mut *self.0.wait_list.lock());
        drop_chain(wait_list);
    }

    /// Waits until the command has ended, well or not. Flushes its queue (OpenCL 3.0, 5.15).
    pub(crate) fn wait_until_ended(&self) -> Result<Outcome> {
        loop {
            if let Some(outcome) = self.known_outcome() {
                return Ok(outcome);
            }
            let pending = match self.ask() {
                Ok(outcome) => return Ok(outcome),
                Err(pending) => pending,
            };
            let waited = cl::wait_for_events(&[pending.as_raw()]);
            // Other code may have set a user event.
            if let (Err(code), Err(_)) = (waited, pending.ask_driver())
                && !pending.raw_status().is_ok_and(|status| status <= 0)
            {
                return Err(Error::from_call("clWaitForEvents", code));
            }
        }
    }

    /// Flushes the queue of the command, unless it is `queue` or a flush blocks; does nothing for
    /// other events.
    // quirk: OCLGRIND-2
    pub(crate) fn flush_queue(&self, queue: cl_command_queue) -> Result<()> {
        match self.queue() {
            Some(of) if of.raw() != queue && !of.driver().flush_blocks => of.flush(),
            _ => Ok(()),
        }
    }
}

/// The reason why the end of a command is unknown.
enum Unknown {
    /// The command has not ended.
    Pending,
    /// The driver says that the command has completed; the end of this event of its wait list is
    /// unknown.
    DependsOn(Event),
}

/// # Safety
/// `event` is valid.
unsafe fn context_of(event: cl_event) -> Result<ContextRef> {
    let context = isize::from(info(event, cl::CL_EVENT_CONTEXT)?) as cl_context;
    // SAFETY: the driver says that it is the context of a valid event.
    unsafe { ContextRef::retain(context) }
}

fn info(event: cl_event, name: u32) -> Result<cl3::info_type::InfoType> {
    cl::get_event_info(event, name).map_err(in_call("clGetEventInfo"))
}

/// Drops events without recursion into their wait lists.
fn drop_chain(mut events: SmallVec<[Event; 2]>) {
    while let Some(event) = events.pop() {
        if let Some(mut inner) = Arc::into_inner(event.0) {
            events.append(inner.wait_list.get_mut());
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let wait_list = mem::take(self.wait_list.get_mut());
        if !wait_list.is_empty() {
            drop_chain(wait_list);
        }
        if let Origin::Queue(queue) = &self.origin
            && queue.after_failure().keeps_events()
            && *self.outcome.get_mut() != COMPLETE
            && has_not_completed(self.raw)
        {
            // SAFETY: the reference is this struct's, and given up here.
            return unsafe { queue.after_failure().keep(self.raw) };
        }
        // SAFETY: the reference is this struct's, and released once.
        if let Err(code) = unsafe { cl::release_event(self.raw) } {
            log::error!("{}", Error::from_call("clReleaseEvent", code));
        }
    }
}

fn has_not_completed(event: cl_event) -> bool {
    info(event, cl::CL_EVENT_COMMAND_EXECUTION_STATUS)
        .is_ok_and(|status| i32::from(status) != cl::CL_COMPLETE)
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.as_raw() == other.as_raw()
    }
}

impl Eq for Event {}

impl Hash for Event {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_raw().hash(state);
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("raw", &self.as_raw())
            .field("status", &self.status())
            .finish()
    }
}

struct Callback(Box<dyn FnOnce(std::result::Result<(), i32>) + Send>);

extern "C" fn call_back(_: cl_event, status: cl_int, callback: *mut c_void) {
    // SAFETY: the pointer comes from `on_complete`, and the driver calls once.
    let callback = unsafe { Box::from_raw(callback.cast::<Callback>()) };
    let result = if status < 0 { Err(status) } else { Ok(()) };
    let called = std::panic::AssertUnwindSafe(move || (callback.0)(result));
    if std::panic::catch_unwind(called).is_err() {
        log::error!("a callback of an event has panicked");
    }
}

/// An event that the program sets (`clCreateUserEvent`; `pyopencl.UserEvent`).
///
/// Dropped before it is set, it fails, so that no command waits for it forever.
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
/// let filled = enqueue_fill(&queue, &buffer, &1_u32, .., &go)?;
/// go.set_complete()?;
/// filled.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UserEvent {
    event: Event,
    /// `None` once the event has been set.
    unset: Mutex<Option<Unset>>,
}

impl UserEvent {
    /// The status of a user event that is dropped before it is set.
    const ABANDONED: i32 = -1;

    /// Creates a user event that has not been set.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn new(context: &Context) -> Result<Self> {
        let driver =
            context.devices().first().map_or(Driver::UNKNOWN, |device| Driver::for_device(*device));
        let unset = Mutex::new(Some(Unset::new(driver)));
        let raw = cl::create_user_event(context.get()).map_err(in_call("clCreateUserEvent"))?;
        // SAFETY: the driver has just created the event, with one reference.
        let context = unsafe { context_of(raw) }?;
        let event = Event::with(raw, Origin::User(context), Some(SmallVec::new()));
        Ok(Self { event, unset })
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
    pub fn set_failed(&self, code: i32) -> Result<()> {
        if code >= 0 {
            let reason = "the code of a failure is negative";
            return Err(Error::refused(SET_STATUS, CL_INVALID_VALUE, reason));
        }
        self.set(code)
    }

    fn set(&self, status: i32) -> Result<()> {
        let Some(unset) = self.unset.lock().take() else {
            let reason = "the event has been set before";
            return Err(Error::refused(SET_STATUS, CL_INVALID_OPERATION, reason));
        };
        let set = |outcome| {
            // Before the driver knows: callbacks run within the call.
            self.event.0.outcome.store(outcome, Ordering::Release);
            cl::set_user_event_status(self.event.as_raw(), status).map_err(|code| {
                self.event.0.outcome.store(PENDING, Ordering::Release);
                Error::from_call(SET_STATUS, code)
            })
        };
        let result = if status < 0 { unset.fail(|| set(FAILED)) } else { set(COMPLETE) };
        if result.is_err() {
            *self.unset.lock() = Some(unset);
        }
        result
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
        if self.unset.get_mut().is_some()
            && let Err(error) = self.set(Self::ABANDONED)
        {
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
