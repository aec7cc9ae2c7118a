//! How every command goes to the driver: what it uses is entered, the driver is asked, and what came
//! of it is noted.
//!
//! What OpenCL forbids is refused before the driver sees it: a queue or event of another context,
//! memory of two contexts, and bytes that are mapped.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;

use cl3::error_codes::{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT};
use cl3::types::{cl_command_queue, cl_event, cl_uint};
use opencl3::command_queue::CommandQueue;

use super::context::MemContext;
use super::uses::{Access, Entered, KnownQueue, Marked, Moment, Uses};
use super::wait_list::WaitList;
use crate::error::{Error, Result};
use crate::handle::{EventRef, Outcome};

/// Bytes that one command reads or writes.
#[derive(Clone, Debug)]
pub(crate) struct Operand<'a> {
    pub uses: &'a Uses,
    pub context: &'a MemContext,
    /// As `uses` counts them.
    pub range: Range<usize>,
    pub access: Access,
    /// While the driver is being asked for the command.
    entered: Cell<Entered>,
}

impl<'a> Operand<'a> {
    /// `range` is as `uses` counts the bytes.
    #[inline]
    pub fn new(
        uses: &'a Uses,
        context: &'a MemContext,
        range: Range<usize>,
        access: Access,
    ) -> Self {
        Self { uses, context, range, access, entered: Cell::new(Entered::Not) }
    }
}

/// The queue, number of events and events that a driver's function takes.
pub(crate) type Arguments = (cl_command_queue, cl_uint, *const cl_event);

/// Enqueues a command that does not block: `issue` asks the driver for it.
///
/// `issue` is given the queue and the wait list, which are alive and of the operands' context. The
/// operands' bytes are not mapped then.
#[inline(always)]
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
#[inline(always)]
pub(crate) fn enqueue_in(
    call: &'static str,
    queue: &CommandQueue,
    context: &MemContext,
    operands: &[Operand<'_>],
    wait_for: &WaitList<'_>,
    issue: impl FnOnce(Arguments) -> std::result::Result<cl_event, i32>,
) -> Result<EventRef> {
    let (mark, arguments) = match prepare(call, queue, context, operands, wait_for) {
        Ok(prepared) => prepared,
        Err(error) => return Err(was_refused(operands, error)),
    };
    let asked = Moment::now();
    let event = match issue(arguments) {
        Ok(event) => event,
        Err(code) => {
            mark.was_refused();
            return Err(was_refused(operands, Error::from_call(call, code)));
        }
    };
    // SAFETY: the driver has just made it.
    unsafe { mark.was_issued(event) };
    // SAFETY: as above, with one reference.
    match unsafe { EventRef::from_driver(call, event) } {
        Ok(event) => {
            if asked.was_disturbed() && wait_for.is_empty() {
                mark_command(call, queue, context, &event);
            }
            was_issued(operands, &event);
            Ok(event)
        }
        Err(error) => Err(was_lost(operands, error)),
    }
}

/// Enqueues a blocking command and returns its event if the command succeeded.
///
/// Waits for the wait list before it calls the driver.
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

/// Returns an error if the command of `event` has failed. Drivers report a blocking command that did not
/// run through its event only: the call itself succeeds.
// quirk: DRIVER-1
pub(crate) fn check_not_failed(call: &'static str, event: &EventRef) -> Result<()> {
    match event.outcome() {
        Some(Outcome::Failed) => {
            let why = "the command failed, or an earlier command of the queue";
            Err(Error::refused(call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, why))
        }
        _ => Ok(()),
    }
}

/// Enters the command's uses, perhaps not all where it fails, and gives what the driver is asked with.
#[inline(always)]
fn prepare(
    call: &'static str,
    queue: &CommandQueue,
    context: &MemContext,
    operands: &[Operand<'_>],
    wait_for: &WaitList<'_>,
) -> Result<(Marked, Arguments)> {
    enter(call, queue, context, operands)?;
    let (count, events) = wait_for.arguments(call, context.raw())?;
    let mark = if count == 0 { Marked::default() } else { mark(call, queue, context, wait_for)? };
    Ok((mark, (queue.get(), count, events)))
}

#[cold]
fn mark(
    call: &'static str,
    queue: &CommandQueue,
    context: &MemContext,
    wait_for: &WaitList<'_>,
) -> Result<Marked> {
    KnownQueue::of(call, queue, context.raw())?.mark(wait_for)
}

#[cold]
fn mark_command(
    call: &'static str,
    queue: &CommandQueue,
    context: &MemContext,
    command: &EventRef,
) {
    match KnownQueue::of(call, queue, context.raw()) {
        Ok(queue) => queue.mark_command(command),
        Err(error) => log::error!("{error}"),
    }
}

/// Enters the command's uses, perhaps not all where it fails.
#[inline(always)]
fn enter(
    call: &'static str,
    queue: &CommandQueue,
    context: &MemContext,
    operands: &[Operand<'_>],
) -> Result<()> {
    for Operand { uses, context: of, range, access, entered } in operands {
        if !ptr::eq(*of, context) {
            return Err(two_contexts(call));
        }
        match uses.enter_usual(queue, range, *access) {
            Some(slot) => entered.set(Entered::OnQueue(slot)),
            None => entered.set(uses.enter_unusual(call, queue, context.raw(), range, *access)?),
        }
    }
    Ok(())
}

/// The driver took the command.
#[inline(always)]
fn was_issued(operands: &[Operand<'_>], event: &EventRef) {
    for Operand { uses, entered, .. } in operands {
        uses.was_issued(entered.get(), event);
    }
}

/// The driver did not take the command because of `error`.
#[cold]
fn was_refused(operands: &[Operand<'_>], error: Error) -> Error {
    for Operand { uses, entered, .. } in operands {
        uses.was_refused(entered.get());
    }
    error
}

/// The driver may have taken the command, and nobody can tell when it ends because of `error`.
#[cold]
fn was_lost(operands: &[Operand<'_>], error: Error) -> Error {
    for Operand { uses, range, access, entered, .. } in operands {
        uses.was_lost(entered.get(), range, *access);
    }
    error
}

#[cold]
fn two_contexts(call: &'static str) -> Error {
    Error::refused(call, CL_INVALID_CONTEXT, "the memory objects belong to two contexts")
}
