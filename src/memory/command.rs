//! How every command goes to the driver: what it uses is entered, the driver is asked, and what came
//! of it is noted.
//!
//! What OpenCL forbids is refused before the driver sees it: a queue or event of another context,
//! memory of two contexts, and bytes that are mapped.

use std::mem;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use cl3::error_codes::{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT};
use cl3::types::{cl_command_queue, cl_event, cl_uint};
use opencl3::command_queue::CommandQueue;

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
#[inline]
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
#[inline]
pub(crate) fn enqueue_in(
    call: &'static str,
    queue: &CommandQueue,
    context: &Arc<MemContext>,
    operands: &[Operand<'_>],
    wait_for: &WaitList<'_>,
    issue: impl FnOnce(Arguments) -> std::result::Result<cl_event, i32>,
) -> Result<EventRef> {
    let uses = InUse::enter(call, queue, context, operands)?;
    let (count, events) = wait_for.arguments(call, context.raw())?;
    let event = issue((queue.get(), count, events)).map_err(in_call(call))?;
    // SAFETY: the driver has just made it, with one reference.
    match unsafe { EventRef::from_driver(call, event) } {
        Ok(event) => {
            uses.end_with(&event);
            Ok(event)
        }
        Err(error) => {
            uses.lose();
            Err(error)
        }
    }
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
    /// How many of the operands have been entered.
    entered: usize,
    /// Their ids, if the queue may reorder its commands.
    alone: Vec<u64>,
}

impl<'a> InUse<'a> {
    #[inline]
    fn enter(
        call: &'static str,
        queue: &'a CommandQueue,
        context: &Arc<MemContext>,
        operands: &'a [Operand<'a>],
    ) -> Result<Self> {
        let mut entered = Self { queue, operands, entered: 0, alone: Vec::new() };
        for operand in operands {
            if !Arc::ptr_eq(operand.context, context) {
                return Err(of_two_contexts(call));
            }
            let Operand { uses, range, access, .. } = operand;
            if !uses.enter_in_order(queue, range, *access) {
                entered.enter_otherwise(call, operand)?;
            }
            entered.entered += 1;
        }
        Ok(entered)
    }

    #[cold]
    fn enter_otherwise(&mut self, call: &'static str, operand: &Operand<'_>) -> Result<()> {
        let Operand { uses, context, range, access } = operand;
        match uses.enter_command(call, self.queue, context.raw(), range, *access)? {
            Entered::OnQueue => {}
            Entered::Alone(id) => self.alone.push(id),
        }
        Ok(())
    }

    /// The driver took the command, which ends with `event`.
    #[inline]
    fn end_with(mut self, event: &EventRef) {
        if self.alone.is_empty() {
            self.leave();
        } else {
            for (operand, id) in self.operands.iter().zip(mem::take(&mut self.alone)) {
                operand.uses.remember(id, event);
            }
        }
        self.entered = 0;
    }

    /// The driver may have taken the command, and nobody can tell when it ends.
    #[cold]
    fn lose(&self) {
        for Operand { uses, range, access, .. } in self.operands {
            uses.lose(range, *access);
        }
    }

    #[inline]
    fn leave(&mut self) {
        for operand in &self.operands[..self.entered] {
            operand.uses.leave(self.queue);
        }
        self.entered = 0;
    }
}

impl Drop for InUse<'_> {
    /// The driver did not take the command, where it had not before.
    #[inline]
    fn drop(&mut self) {
        if self.entered == 0 {
            return;
        }
        if self.alone.is_empty() {
            return self.leave();
        }
        for (operand, id) in self.operands.iter().zip(&self.alone) {
            operand.uses.forget(*id);
        }
    }
}

#[cold]
fn of_two_contexts(call: &'static str) -> Error {
    Error::refused(call, CL_INVALID_CONTEXT, "the memory is of two contexts")
}
