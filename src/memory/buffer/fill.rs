//! Buffers that are filled with a pattern (`clEnqueueFillBuffer`; OpenCL 3.0, 5.2.2).

use std::ops::RangeBounds;

use cl3::command_queue as cl;

use super::Buffer;
use crate::error::Result;
use crate::event::Event;
use crate::memory::command::enqueue;
use crate::memory::fill::{FillTarget, Pattern, check_pattern};
use crate::memory::object::MemoryObject;
use crate::memory::order::Order;
use crate::memory::range::check_not_empty;
use crate::memory::track::Access;
use crate::queue::CommandQueue;
use crate::wait_list::WaitList;

/// Repeats `pattern` over the bytes `range` of `buffer` (`clEnqueueFillBuffer`, OpenCL 1.2;
/// `pyopencl.enqueue_fill_buffer`). Does not block.
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, for a pattern whose size is
/// no power of two up to 128 bytes, and for a range that does not begin and end at multiples of
/// that; CL_INVALID_OPERATION where the bytes are mapped,
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed, and the driver's
/// errors.
pub fn enqueue_fill_buffer<'a, P: Pattern + ?Sized>(
    queue: &CommandQueue,
    buffer: &Buffer,
    pattern: &P,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    buffer.enqueue_fill(Order::new(queue, &wait_for.into()), pattern, range)
}

impl<P: Pattern + ?Sized, R: RangeBounds<usize>> FillTarget<&P, R> for &Buffer {
    fn enqueue_fill(self, order: Order<'_>, pattern: &P, range: R) -> Result<Event> {
        const CALL: &str = "clEnqueueFillBuffer";
        let pattern = pattern.bytes();
        let range = self.bytes(CALL, range)?;
        check_not_empty(CALL, &range)?;
        check_pattern(CALL, pattern.len(), &range)?;
        let accessed = self.accessed(&range, Access::Write);
        enqueue(CALL, order, &[accessed], |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the range is within the buffer, and
            // the driver has copied the pattern when the call returns.
            unsafe {
                cl::enqueue_fill_buffer(
                    queue,
                    self.as_raw(),
                    pattern.as_ptr().cast(),
                    pattern.len(),
                    range.start,
                    range.len(),
                    count,
                    events,
                )
            }
        })
    }
}
