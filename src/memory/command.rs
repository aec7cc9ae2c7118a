//! The path of every command to the driver: its accesses begin, the driver is called, and the result
//! is recorded.
//!
//! Commands that OpenCL forbids are refused before the driver sees them: a queue or event of another
//! context, memory of two contexts, and bytes that are mapped.

use std::ops::Range;
use std::time::Duration;
use std::{mem, process, thread};

use cl3::error_codes::{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT};
use cl3::types::{cl_command_queue, cl_context};
use smallvec::SmallVec;

use super::track::{Access, AccessTracker};
use crate::error::{Error, Result, in_call};
use crate::event::{Event, Outcome};
use crate::order::Order;
use crate::queue::{Arguments, CommandQueue, NotSubmitted, Submitted};

/// The number of accesses of a command that need no memory from the heap.
const ROOM: usize = 8;

/// Bytes that one command reads or writes.
#[derive(Clone, Debug)]
pub struct AccessedRange<'a> {
    pub tracker: &'a AccessTracker,
    pub context: cl_context,
    /// The bytes as `tracker` counts them.
    pub range: Range<usize>,
    pub access: Access,
}

impl AccessedRange<'_> {
    /// Records the event of a command that uses these bytes and was enqueued elsewhere.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event of another context, CL_INVALID_OPERATION where the bytes are mapped, and the
    /// driver's errors.
    pub(crate) fn record(&self, event: &Event) -> Result<()> {
        const CALL: &str = "record_use";
        let is_foreign = event.context_raw() != self.context;
        let reason = "the event belongs to another context than the memory";
        Error::refuse_if(is_foreign, CALL, CL_INVALID_CONTEXT, || reason)?;
        let id = self.tracker.begin_command(CALL, &self.range, self.access)?;
        self.tracker.submitted(id, event);
        if let Some(queue) = event.queue_state() {
            queue.end_without_handles();
        }
        Ok(())
    }
}

/// The accesses of one command, from before the driver is called until the command has an event. A
/// command that is enqueued again has new ones.
#[must_use]
struct Accesses<'a> {
    accesses: &'a [AccessedRange<'a>],
    /// The ids of the accesses that have begun.
    begun: SmallVec<[u64; ROOM]>,
}

impl<'a> Accesses<'a> {
    #[inline(always)]
    fn begin(call: &'static str, accesses: &'a [AccessedRange<'a>]) -> Result<Self> {
        let mut this = Self { accesses, begun: SmallVec::new() };
        for AccessedRange { tracker, range, access, .. } in accesses {
            match tracker.begin_command(call, range, *access) {
                Ok(id) => this.begun.push(id),
                Err(error) => {
                    this.end(AccessTracker::rejected);
                    return Err(error);
                }
            }
        }
        Ok(this)
    }

    #[inline(always)]
    fn end(&mut self, end: impl Fn(&AccessTracker, u64)) {
        for (access, id) in self.accesses.iter().zip(self.begun.drain(..)) {
            end(access.tracker, id);
        }
    }
}

/// Without an event, or after a panic during the call of the driver, the end of the command is unknown.
impl Drop for Accesses<'_> {
    #[inline]
    fn drop(&mut self) {
        self.end(AccessTracker::untracked);
    }
}

/// Enqueues a command that does not block: `submit` calls the driver.
///
/// `submit` is called with the queue and the wait list, which are alive and of the context of the
/// accesses. The bytes of the accesses are not mapped then.
#[inline(always)]
pub(crate) fn enqueue(
    call: &'static str,
    order: &Order<'_>,
    accesses: &[AccessedRange<'_>],
    submit: impl FnOnce(Arguments) -> Submitted,
) -> Result<Event> {
    let Order { queue, wait_for } = order;
    let context = queue.context_raw();
    for access in accesses {
        queue.check_context(call, "memory", access.context)?;
    }
    let wait_list = wait_for.prepare(call, context)?;
    let mut accesses = Accesses::begin(call, accesses)?;
    let submitted = queue.state().submit(call, &wait_list, submit);
    match &submitted {
        Ok(event) => accesses.end(|tracker, id| tracker.submitted(id, event)),
        Err(NotSubmitted::Rejected(_)) => accesses.end(AccessTracker::rejected),
        Err(NotSubmitted::NoEvent(_)) => {}
    }
    Ok(submitted?)
}

/// Enqueues a command and returns its event when the command has ended, if it succeeded.
///
/// Waits for the wait list before it calls the driver. `submit` calls the driver with the queue, without blocking:
/// other threads can map the bytes behind the command meanwhile, and set the events that it waits for. A panic
/// meanwhile, such as one of the program's logger, aborts the process, and so does a device on which all waits fail
/// for a minute.
pub(crate) fn enqueue_blocking(
    call: &'static str,
    order: &Order<'_>,
    accesses: &[AccessedRange<'_>],
    submit: impl FnOnce(cl_command_queue) -> Submitted,
) -> Result<Event> {
    let queue = order.queue;
    order.wait_for.wait(call, queue.context_raw())?;
    let mut lent = None;
    let submit = |(raw, _, _): Arguments| {
        lent = Some(Lent);
        let event = submit(raw)?;
        if event.is_null() {
            // Nothing else reports the end of the command.
            let finish = || cl3::command_queue::finish(raw).map_err(in_call("clFinish"));
            wait_while_lent(queue, finish);
        }
        Ok(event)
    };
    let enqueued = enqueue(call, &queue.into(), accesses, submit);
    if let Ok(event) = &enqueued {
        wait_while_lent(queue, || event.wait_until_ended().map(drop));
    }
    mem::forget(lent);
    let event = enqueued?;
    // Events of some drivers keep the memory.
    accesses.iter().for_each(|access| access.tracker.reap());
    check_not_failed(call, &event)?;
    Ok(event)
}

/// Waits for a command that uses borrowed host memory. A wait that fails is repeated after pauses of 1 ms to 1 s.
/// After a minute of pauses, the device counts as lost, and the process is aborted.
fn wait_while_lent(queue: &CommandQueue, mut wait: impl FnMut() -> Result<()>) {
    let Err(mut error) = wait() else { return };
    log::error!("{error}; the wait is repeated for a minute");
    for doublings in 0..69 {
        thread::sleep(Duration::from_millis((1 << doublings.min(10)).min(1000)));
        let Err(next) = wait() else { return };
        error = next;
    }
    let _aborts = Lent;
    panic!("{error}; all waits on {} have failed for a minute", queue.device().name());
}

/// Host memory that the driver may use. Unwinding would end the borrow of it.
struct Lent;

impl Drop for Lent {
    fn drop(&mut self) {
        process::abort();
    }
}

/// Returns an error if the command of `event` has failed. Drivers report a blocking command that did not complete
/// through its event only: the call itself succeeds.
// quirk: DRIVER-1
pub(crate) fn check_not_failed(call: &'static str, event: &Event) -> Result<()> {
    match event.outcome() {
        Some(Outcome::Failed) => {
            let reason = "the command failed, or an earlier command of the queue";
            Err(Error::refused(call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, reason))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::Command;

    use super::*;
    use crate::memory::{Buffer, MemFlags};

    const IS_CHILD: &str = "CLMATRIX_TEST_PANICS_WHILE_MEMORY_IS_LENT";
    const NAME: &str = "memory::command::tests::a_panic_while_memory_is_lent_aborts";

    #[test]
    fn a_panic_while_memory_is_lent_aborts() -> Result<()> {
        if env::var_os(IS_CHILD).is_none() {
            let mut child = Command::new(env::current_exe().expect("the path of the tests"));
            let child = child.args(["--exact", NAME, "--nocapture"]).env(IS_CHILD, "1");
            let output = child.output().expect("the tests start");
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(stdout.contains("enqueuing") && !stdout.contains("unwound"), "{stdout}");
            assert!(!output.status.success());
            return Ok(());
        }
        let context = crate::create_some_context()?;
        let queue = CommandQueue::new(&context)?;
        let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 16)?;
        println!("enqueuing");
        let enqueue = || {
            enqueue_blocking(
                "call",
                &Order::from(&queue),
                &[buffer.accessed(&(0..16), Access::Read)],
                |_| panic!("as a logger may"),
            )
        };
        let _ = catch_unwind(AssertUnwindSafe(enqueue));
        println!("unwound");
        Ok(())
    }
}
