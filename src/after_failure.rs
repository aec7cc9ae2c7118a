//! The state of a queue after one of its commands has failed, for drivers that need more than OpenCL
//! asks for.
//!
//! - NVIDIA 580 fails later commands of an in-order queue, or lets them overtake earlier ones. The
//!   queue is poisoned: later commands are refused, as CUDA refuses calls after a sticky error.
//! - PoCL 3.1 uses the event of a failed command after the failure is visible, until all commands
//!   before it have ended, and no function tells when that is. The queue keeps the last reference to
//!   the event of a command that has not completed and may fail; the process keeps it when the queue
//!   is released.
//! - On PoCL 3.1 a command hangs if a command that it depends on fails while it is enqueued. A lock
//!   excludes that, as long as there are user events that have not been set: a failure begins with
//!   one of them, and PoCL hands it on before `clSetUserEventStatus` returns.
// quirk: POCL-3, POCL-14, NVIDIA-1

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cl3::event::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_EVENT_CONTEXT, get_event_info, release_event,
};
use cl3::types::{cl_context, cl_event};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use crate::driver::Driver;
use crate::error::Error;

/// The state of one queue after a failure. Does nothing until a command fails.
#[derive(Debug)]
pub(crate) struct AfterFailure {
    driver: Driver,
    has_failed: AtomicBool,
    kept: Mutex<Vec<KeptEvent>>,
}

/// The last reference to the event of a command that had not completed when it was dropped.
#[derive(Debug)]
struct KeptEvent(cl_event);

// SAFETY: events may be used from any thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for KeptEvent {}

impl KeptEvent {
    fn status(&self) -> i32 {
        let status = get_event_info(self.0, CL_EVENT_COMMAND_EXECUTION_STATUS).map(i32::from);
        // The driver does not use an event that it does not know.
        status.unwrap_or(CL_COMPLETE)
    }

    fn context(&self) -> Option<cl_context> {
        let context = get_event_info(self.0, CL_EVENT_CONTEXT).map(isize::from);
        context.ok().map(|context| context as cl_context)
    }
}

impl Drop for KeptEvent {
    fn drop(&mut self) {
        // SAFETY: the reference is this struct's, and released once.
        if let Err(code) = unsafe { release_event(self.0) } {
            log::error!("{}", Error::from_call("clReleaseEvent", code));
        }
    }
}

/// The events of released queues: commands that had not completed by then.
static KEPT: Mutex<Vec<KeptEvent>> = Mutex::new(Vec::new());

/// The events of commands that have failed, which stay for good.
static FAILED: Mutex<Vec<KeptEvent>> = Mutex::new(Vec::new());

impl AfterFailure {
    pub fn new(driver: Driver) -> Self {
        Self { driver, has_failed: AtomicBool::new(false), kept: Mutex::default() }
    }

    /// Records that a command of the queue has failed.
    #[cold]
    pub fn record(&self) {
        self.has_failed.store(true, Ordering::Release);
    }

    /// Returns whether the queue must not be used any more because one of its commands has failed.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.driver.poisons_queues && self.has_failed.load(Ordering::Acquire)
    }

    /// Returns whether [`keep`](Self::keep) has to take the last reference to an event whose command
    /// is not known to have completed.
    #[inline]
    pub fn keeps_events(&self) -> bool {
        self.driver.uses_failed_events
    }

    /// Takes the last reference to an event.
    ///
    /// # Safety
    /// `raw` is a valid event, and the caller owns a reference to it.
    #[cold]
    pub unsafe fn keep(&self, raw: cl_event) {
        self.kept.lock().push(KeptEvent(raw));
        self.release_unused();
    }

    /// Releases the events of commands that have completed or cannot fail any more.
    #[inline]
    pub fn release_unused(&self) {
        if self.driver.uses_failed_events {
            release_unused(&self.kept);
        }
    }

    /// Gives the events to the process, before the queue is released.
    pub fn hand_over(&mut self) {
        if self.driver.uses_failed_events {
            KEPT.lock().append(self.kept.get_mut());
            release_unused(&KEPT);
        }
    }
}

/// Releases the events of commands that have completed or cannot fail any more.
fn release_unused(kept: &Mutex<Vec<KeptEvent>>) {
    // Before the statuses: a command that exists depends on no later user event.
    let can_fail = UNSET.load(Ordering::SeqCst) > 0;
    let has_failed = |event: &mut KeptEvent| event.status() < 0;
    let is_unused = |event: &mut KeptEvent| match event.status() {
        CL_COMPLETE => true,
        status => status > 0 && !can_fail,
    };
    let mut kept = kept.lock();
    FAILED.lock().extend(kept.extract_if(.., has_failed));
    let unused: Vec<_> = kept.extract_if(.., is_unused).collect();
    // Released without the lock.
    drop(kept);
    drop(unused);
}

/// Returns whether the process keeps events of this context after the release of their queues. They have
/// references to the context.
pub fn keeps_events_of(context: cl_context) -> bool {
    release_unused(&KEPT);
    let is_of = |event: &KeptEvent| event.context() == Some(context);
    KEPT.lock().iter().any(is_of) || FAILED.lock().iter().any(is_of)
}

/// Held for reading while a command is enqueued, and for writing while a user event fails.
static FAILURES: RwLock<()> = RwLock::new(());

/// The number of user events that have not been set, on drivers that miss failures.
static UNSET: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True while this thread makes a user event fail: callbacks of events run on it.
    static IS_FAILING: Cell<bool> = const { Cell::new(false) };
}

/// Excludes failures until the guard is dropped, where the driver misses them and there can be one. Does
/// not exclude those of user events that other threads create and fail during the call.
#[inline]
pub(crate) fn exclude_failures(driver: Driver) -> Option<RwLockReadGuard<'static, ()>> {
    let is_needed = driver.misses_failures && UNSET.load(Ordering::SeqCst) > 0;
    if is_needed && !IS_FAILING.get() { Some(FAILURES.read()) } else { None }
}

/// A user event that has not been set. Counts from before the event exists.
#[derive(Debug)]
pub(crate) struct Unset(Driver);

impl Unset {
    pub fn new(driver: Driver) -> Self {
        if driver.misses_failures {
            UNSET.fetch_add(1, Ordering::SeqCst);
        }
        Self(driver)
    }

    /// Calls `fail`, which makes the user event fail, while no command is being enqueued.
    pub fn fail<T>(&self, fail: impl FnOnce() -> T) -> T {
        struct Leave(bool);
        impl Drop for Leave {
            fn drop(&mut self) {
                IS_FAILING.set(self.0);
            }
        }
        let is_nested = IS_FAILING.get();
        let _guard = (self.0.misses_failures && !is_nested).then(|| FAILURES.write());
        let _leave = Leave(IS_FAILING.replace(true));
        fail()
    }
}

impl Drop for Unset {
    fn drop(&mut self) {
        if self.0.misses_failures {
            UNSET.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
