//! Shared virtual memory that is filled with a pattern (`clEnqueueSVMMemFill`).

use std::ops::RangeBounds;

use crate::event::Event;
use crate::queue::CommandQueue;
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_VALUE;

use super::memory::bytes;
use super::pointer::SvmPointer;
use crate::error::{Error, Result};
use crate::memory::command::enqueue;
use crate::memory::fill::{FillTarget, Pattern, check_pattern};
use crate::memory::order::Order;
use crate::memory::range::check_not_empty;
use crate::memory::track::Access;
use crate::wait_list::WaitList;

/// Repeats `pattern` over the bytes `range` of `svm` (`clEnqueueSVMMemFill`;
/// `pyopencl.enqueue_svm_memfill`). Does not block.
///
/// ```no_run
/// # use clmatrix::memory::*;
/// # fn f(queue: &clmatrix::CommandQueue, svm: &SvmAllocation) -> clmatrix::Result<()> {
/// enqueue_svm_memfill(queue, svm, &1.5_f32, ..64, [])?.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there and for none, for a pattern
/// whose size is no power of two up to 128 bytes, and for bytes that do not begin and end at
/// multiples of that, in `svm` or in the address space; CL_INVALID_OPERATION where the bytes are
/// mapped, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed, and the
/// driver's errors.
pub fn enqueue_svm_memfill<'a, P: Pattern + ?Sized>(
    queue: &CommandQueue,
    svm: &impl SvmPointer,
    pattern: &P,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    let svm: &dyn SvmPointer = svm;
    svm.enqueue_fill(Order::new(queue, &wait_for.into()), pattern, range)
}

impl<P: Pattern + ?Sized, R: RangeBounds<usize>> FillTarget<&P, R> for &dyn SvmPointer {
    fn enqueue_fill(self, order: Order<'_>, pattern: &P, range: R) -> Result<Event> {
        const CALL: &str = "clEnqueueSVMMemFill";
        let pattern = pattern.bytes();
        let range = bytes(CALL, self, range)?;
        check_not_empty(CALL, &range)?;
        check_pattern(CALL, pattern.len(), &range)?;
        let memory = self.memory();
        let (at, size) = (memory.at(range.start), range.len());
        if !at.addr().is_multiple_of(pattern.len()) {
            let reason = format!(
                "the bytes are at {at:?}, which is no multiple of the pattern's {} bytes: allocate \
                 with that alignment",
                pattern.len()
            );
            return Err(Error::refused(CALL, CL_INVALID_VALUE, reason));
        }
        let accessed = memory.accessed(range, Access::Write);
        enqueue(CALL, order, &[accessed], |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, as is the memory, which has `size`
            // bytes there and is not freed before the command has ended; the driver has copied the
            // pattern when the call returns.
            unsafe {
                let (bytes, len) = (pattern.as_ptr().cast(), pattern.len());
                cl::enqueue_svm_mem_fill(queue, at, bytes, len, size, count, events)
            }
        })
    }
}
