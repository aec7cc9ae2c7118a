//! How every command goes to the driver: what it uses is entered, the driver is asked, and what came
//! of it is noted.
//!
//! What OpenCL forbids is refused before the driver sees it: a queue or event of another context,
//! memory of two contexts, and bytes that are mapped.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use cl3::error_codes::{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT};
use cl3::types::{cl_command_queue, cl_event, cl_uint};
use opencl3::command_queue::CommandQueue;
use smallvec::SmallVec;

use super::context::MemContext;
use super::uses::{Access, Entered, Uses};
use super::wait_list::WaitList;
use crate::error::{Error, Result, in_call};
use crate::handle::{EventRef, Outcome};

/// Bytes that a command reads or writes.
#[derive(Clone, Debug)]
pub(crate) struct Operand<'a> {
    pub uses: &'a Arc<Uses>,
    pub context: &'a Arc<MemContext>,
    /// As `uses` counts them.
    pub range: Range<usize>,
    pub access: Access,
}

/// The queue, number of events and events that a driver's function takes.
pub(crate) type Arguments = (cl_command_queue, cl_uint, *const cl_event);

/// Enqueues a command that does not block: `issue` asks the driver for it.
///
/// `issue` is given the queue and the wait list, which are alive and of the operands' context. The
/// operands' bytes are not mapped then.
pub(crate) fn enqueue(
    call: &'static str,
    queue: &CommandQueue,
    operands: &[Operand<'_>],
    wait_for: &WaitList<'_>,
    issue: impl FnOnce(Arguments) -> std::result::Result<cl_event, i32>,
) -> Result<EventRef> {
    enqueue_in(call, queue, operands[0].context, operands, wait_for, issue)
}

/// Enqueues a command as [`enqueue`] does, which is of `context` even if it has no operands. The
/// caller then checks the queue.
pub(crate) fn enqueue_in(
    call: &'static str,
    queue: &CommandQueue,
    context: &Arc<MemContext>,
    operands: &[Operand<'_>],
    wait_for: &WaitList<'_>,
    issue: impl FnOnce(Arguments) -> std::result::Result<cl_event, i32>,
) -> Result<EventRef> {
    let mut uses = InUse { queue, operands, entered: SmallVec::new() };
    uses.enter(call, context)?;
    let (count, events) = wait_for.arguments(call, context.raw())?;
    let event = issue((queue.get(), count, events)).map_err(in_call(call))?;
    // SAFETY: the driver has just made it, with one reference.
    let event = unsafe { EventRef::from_driver(call, event) };
    uses.end_with(event.as_ref().ok());
    event
}

/// Enqueues a command that blocks, and gives its event if it did not fail.
///
/// Waits for the wait list before the driver is asked: some drivers report success where an event
/// of it fails, or never return.
pub(crate) fn enqueue_blocking(
    call: &'static str,
    queue: &CommandQueue,
    operands: &[Operand<'_>],
    wait_for: &WaitList<'_>,
    issue: impl FnOnce(cl_command_queue) -> std::result::Result<cl_event, i32>,
) -> Result<EventRef> {
    wait_for.wait(call, operands[0].context.raw())?;
    let event = enqueue(call, queue, operands, &WaitList::default(), |(queue, _, _)| issue(queue))?;
    check_not_failed(call, &event)?;
    Ok(event)
}

/// What is left of the wait list of a command that blocks.
pub(crate) const NO_EVENTS: (cl_uint, *const cl_event) = (0, ptr::null());

/// Some drivers report a blocking command that did not run by its event alone.
pub(crate) fn check_not_failed(call: &'static str, event: &EventRef) -> Result<()> {
    match event.outcome() {
        Some(Outcome::Failed) => {
            let why = "the command failed, or one before it in the queue";
            Err(Error::refused(call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, why))
        }
        _ => Ok(()),
    }
}

/// What a command uses while the driver is being asked for it.
struct InUse<'a> {
    queue: &'a CommandQueue,
    operands: &'a [Operand<'a>],
    /// Of the first operands; all the same for a queue in order.
    entered: SmallVec<[Entered; 8]>,
}

impl InUse<'_> {
    #[inline]
    fn enter(&mut self, call: &'static str, context: &Arc<MemContext>) -> Result<()> {
        for operand in self.operands {
            if !Arc::ptr_eq(operand.context, context) {
                let why = "the memory is of two contexts";
                return Err(Error::refused(call, CL_INVALID_CONTEXT, why));
            }
            let Operand { uses, range, access, .. } = operand;
            let raw = context.raw();
            self.entered.push(uses.enter_command(call, self.queue, raw, range, *access)?);
        }
        Ok(())
    }

    /// The driver took the command. Without an event, nobody can tell when it ends.
    #[inline]
    fn end_with(mut self, event: Option<&EventRef>) {
        while let Some(entered) = self.entered.pop() {
            let Operand { uses, range, access, .. } = &self.operands[self.entered.len()];
            match event {
                Some(event) => uses.was_issued(self.queue, entered, event),
                None => uses.was_lost(self.queue, entered, range, *access),
            }
        }
    }
}

impl Drop for InUse<'_> {
    /// The driver did not take the command, where it had not before.
    #[inline]
    fn drop(&mut self) {
        for (operand, entered) in self.operands.iter().zip(&self.entered) {
            operand.uses.was_refused(self.queue, *entered);
        }
    }
}
