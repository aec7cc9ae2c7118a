//! Shared virtual memory that is filled with a pattern (`clEnqueueSVMMemFill`).

use std::ops::RangeBounds;

use crate::event::Event;
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_VALUE;

use super::memory::bytes;
use super::pointer::SvmPointer;
use crate::error::{Error, Result};
use crate::memory::command::enqueue;
use crate::memory::fill::check_pattern;
use crate::memory::range::check_not_empty;
use crate::memory::track::Access;
use crate::memory::{FillTarget, Order, Pattern};

impl<P: Pattern + ?Sized, R: RangeBounds<usize>> FillTarget<&P, R> for &dyn SvmPointer {
    fn enqueue_fill(self, order: &Order<'_>, pattern: &P, range: R) -> Result<Event> {
        const CALL: &str = "clEnqueueSVMMemFill";
        let pattern = pattern.bytes();
        let range = bytes(CALL, self, range)?;
        check_not_empty(CALL, &range)?;
        check_pattern(CALL, pattern.len(), &range)?;
        let memory = self.memory();
        let (at, size) = (memory.at(range.start), range.len());
        let is_aligned = at.addr().is_multiple_of(pattern.len());
        Error::refuse_if(!is_aligned, CALL, CL_INVALID_VALUE, || {
            format!(
                "the bytes are at {at:?}, which is not a multiple of the pattern's {} bytes: allocate \
                 with that alignment",
                pattern.len()
            )
        })?;
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
