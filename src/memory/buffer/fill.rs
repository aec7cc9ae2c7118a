//! Buffers that are filled with a pattern (`clEnqueueFillBuffer`; OpenCL 3.0, 5.2.2).

use std::ops::RangeBounds;

use cl3::command_queue as cl;

use super::Buffer;
use crate::driver::Driver;
use crate::error::Result;
use crate::event::Event;
use crate::memory::command::enqueue;
use crate::memory::fill::check_pattern;
use crate::memory::range::check_not_empty;
use crate::memory::track::Access;
use crate::memory::{FillTarget, Order, Pattern};

impl Buffer {
    /// Repeats `pattern` over the whole buffer (`clEnqueueFillBuffer`, OpenCL 1.2). Does not block.
    ///
    /// # Errors
    /// The errors of [`enqueue_fill`](crate::memory::enqueue_fill#errors).
    #[doc(alias = "enqueue_fill_buffer")]
    pub fn fill<'q, P: Pattern + ?Sized>(
        &self,
        order: impl Into<Order<'q>>,
        pattern: &P,
    ) -> Result<Event> {
        self.enqueue_fill(&order.into(), pattern, ..)
    }
}

impl<P: Pattern + ?Sized, R: RangeBounds<usize>> FillTarget<&P, R> for &Buffer {
    fn enqueue_fill(self, order: &Order<'_>, pattern: &P, range: R) -> Result<Event> {
        const CALL: &str = "clEnqueueFillBuffer";
        let pattern = pattern.bytes();
        let range = self.bytes(CALL, range)?;
        check_not_empty(CALL, &range)?;
        check_pattern(CALL, pattern.len(), &range)?;
        let accessed = self.accessed(&range, Access::Write);
        // quirk: INTEL-8
        let is_whole = !self.reference().is_sub_buffer()
            || !order.queue.state().driver.contains(Driver::REFUSES_FILLS_OF_REGIONS);
        let (raw, range) = if is_whole {
            (self.as_raw(), range)
        } else {
            (self.whole_raw(), self.in_whole(&range))
        };
        enqueue(CALL, order, &[accessed], |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the range is within the buffer, and
            // the driver has copied the pattern when the call returns.
            unsafe {
                cl::enqueue_fill_buffer(
                    queue,
                    raw,
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
