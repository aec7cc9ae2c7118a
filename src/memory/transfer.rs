//! Commands that move bytes between host and buffers, between buffers, and into them from nowhere
//! (OpenCL 3.0, 5.2.2 to 5.2.4; `pyopencl.enqueue_copy`, `enqueue_fill_buffer`).
//!
//! What OpenCL forbids is refused before the driver sees it: a queue or event of another context,
//! bytes that are not in the buffer or are mapped, a host access that the flags rule out, and a
//! command on 0 bytes, on which drivers do not agree.

use std::ops::{Range, RangeBounds};

use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP};
use cl3::types::CL_BLOCKING;
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use super::buffer::Buffer;
use super::command::{NO_EVENTS, enqueue, enqueue_blocking};
use super::object::{MemoryObject, check_host_access};
use super::range::check_not_empty;
use super::uses::{Access, overlap};
use super::wait_list::WaitList;
use crate::error::{Error, Result};

/// The longest pattern of `clEnqueueFillBuffer`, in bytes.
const LONGEST_PATTERN: usize = 128;

/// Fills `data` from byte `offset` of `buffer` on, and returns when that is done
/// (`clEnqueueReadBuffer`; PyOpenCL's `enqueue_copy(queue, host, buffer)`).
///
/// The event is there for its profiling times.
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, CL_INVALID_OPERATION where
/// the flags or a map forbid it, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command that
/// it waited for failed, and what the driver answers.
pub fn enqueue_read_buffer<'a, T: Pod>(
    queue: &CommandQueue,
    buffer: &Buffer,
    offset: usize,
    data: &mut [T],
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    const CALL: &str = "clEnqueueReadBuffer";
    let data: &mut [u8] = bytemuck::cast_slice_mut(data);
    let range = buffer.span(CALL, offset, data.len())?;
    check_not_empty(CALL, &range)?;
    check_host_access(CALL, buffer.flags(), Access::Read)?;
    let operand = buffer.operand(&range, Access::Read);
    let event = enqueue_blocking(CALL, queue, &[operand], &wait_for.into(), |queue| {
        let (count, events) = NO_EVENTS;
        // SAFETY: the handles are alive and of one context; `data` has the size that is read, and
        // the call returns after the last byte was written.
        unsafe {
            cl::enqueue_read_buffer(
                queue,
                buffer.as_raw(),
                CL_BLOCKING,
                offset,
                data.len(),
                data.as_mut_ptr().cast(),
                count,
                events,
            )
        }
    })?;
    Ok(event.into_event())
}

/// Writes `data` from byte `offset` of `buffer` on, and returns when `data` has been read
/// (`clEnqueueWriteBuffer`; PyOpenCL's `enqueue_copy(queue, buffer, host)`).
///
/// # Errors
/// As for [`enqueue_read_buffer`].
pub fn enqueue_write_buffer<'a, T: Pod>(
    queue: &CommandQueue,
    buffer: &Buffer,
    offset: usize,
    data: &[T],
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    const CALL: &str = "clEnqueueWriteBuffer";
    let data: &[u8] = bytemuck::cast_slice(data);
    let range = buffer.span(CALL, offset, data.len())?;
    check_not_empty(CALL, &range)?;
    check_host_access(CALL, buffer.flags(), Access::Write)?;
    let operand = buffer.operand(&range, Access::Write);
    let event = enqueue_blocking(CALL, queue, &[operand], &wait_for.into(), |queue| {
        let (count, events) = NO_EVENTS;
        // SAFETY: the handles are alive and of one context; `data` has the size that is written,
        // and the call returns after the last byte was read.
        unsafe {
            cl::enqueue_write_buffer(
                queue,
                buffer.as_raw(),
                CL_BLOCKING,
                offset,
                data.len(),
                data.as_ptr().cast(),
                count,
                events,
            )
        }
    })?;
    Ok(event.into_event())
}

/// Copies `size` bytes of `src` from `src_offset` on to `dst_offset` of `dst`
/// (`clEnqueueCopyBuffer`; PyOpenCL's `enqueue_copy(queue, dst, src)`).
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, CL_MEM_COPY_OVERLAP where
/// both are the same bytes of one whole buffer, CL_INVALID_OPERATION where they are mapped, and
/// what the driver answers.
pub fn enqueue_copy_buffer<'a>(
    queue: &CommandQueue,
    src: &Buffer,
    src_offset: usize,
    dst: &Buffer,
    dst_offset: usize,
    size: usize,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    const CALL: &str = "clEnqueueCopyBuffer";
    let from = src.span(CALL, src_offset, size)?;
    let to = dst.span(CALL, dst_offset, size)?;
    check_not_empty(CALL, &from)?;
    check_no_overlap(CALL, (src, &from), (dst, &to))?;
    let operands = [src.operand(&from, Access::Read), dst.operand(&to, Access::Write)];
    let event = enqueue(CALL, queue, &operands, &wait_for.into(), |(queue, count, events)| {
        // SAFETY: the handles are alive and of one context, the ranges are within the buffers and
        // apart, and the driver keeps the buffers until the command has ended.
        unsafe {
            cl::enqueue_copy_buffer(
                queue,
                src.as_raw(),
                dst.as_raw(),
                src_offset,
                dst_offset,
                size,
                count,
                events,
            )
        }
    })?;
    Ok(event.into_event())
}

/// Repeats `pattern` over the bytes `range` of `buffer` (`clEnqueueFillBuffer`, OpenCL 1.2;
/// `pyopencl.enqueue_fill`).
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, for a pattern whose size is
/// no power of two up to 128 bytes, and for a range that does not begin and end at multiples of
/// that; CL_INVALID_OPERATION where the bytes are mapped, and what the driver answers.
pub fn enqueue_fill_buffer<'a, T: Pod>(
    queue: &CommandQueue,
    buffer: &Buffer,
    pattern: &T,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    const CALL: &str = "clEnqueueFillBuffer";
    let pattern = bytemuck::bytes_of(pattern);
    let range = buffer.bytes(CALL, range)?;
    check_not_empty(CALL, &range)?;
    check_pattern(CALL, pattern.len(), &range)?;
    let operand = buffer.operand(&range, Access::Write);
    let event = enqueue(CALL, queue, &[operand], &wait_for.into(), |(queue, count, events)| {
        // SAFETY: the handles are alive and of one context, the range is within the buffer, and the
        // driver has copied the pattern when the call returns.
        unsafe {
            cl::enqueue_fill_buffer(
                queue,
                buffer.as_raw(),
                pattern.as_ptr().cast(),
                pattern.len(),
                range.start,
                range.len(),
                count,
                events,
            )
        }
    })?;
    Ok(event.into_event())
}

fn check_no_overlap(
    call: &'static str,
    (src, from): (&Buffer, &Range<usize>),
    (dst, to): (&Buffer, &Range<usize>),
) -> Result<()> {
    let (from, to) = (src.in_whole(from), dst.in_whole(to));
    if src.whole_raw() != dst.whole_raw() || !overlap(&from, &to) {
        return Ok(());
    }
    let why = format!("bytes {from:?} would be copied to bytes {to:?} of the same buffer");
    Err(Error::refused(call, CL_MEM_COPY_OVERLAP, why))
}

fn check_pattern(call: &'static str, size: usize, range: &Range<usize>) -> Result<()> {
    let refused = |why: String| Err(Error::refused(call, CL_INVALID_VALUE, why));
    if !size.is_power_of_two() || size > LONGEST_PATTERN {
        return refused(format!(
            "the pattern has {size} bytes; it must have 1, 2, 4, ... or {LONGEST_PATTERN}"
        ));
    }
    if !range.start.is_multiple_of(size) || !range.len().is_multiple_of(size) {
        return refused(format!(
            "{} bytes from byte {} on are no whole multiples of the pattern's {size} bytes",
            range.len(),
            range.start
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_checked() {
        for (size, range, allowed) in [
            (1, 3..4, true),
            (4, 4..12, true),
            (128, 0..256, true),
            (4, 2..6, false),
            (4, 4..10, false),
            (3, 0..3, false),
            (0, 0..4, false),
            (256, 0..256, false),
        ] {
            let result = check_pattern("clEnqueueFillBuffer", size, &range);
            assert_eq!(result.is_ok(), allowed, "{size} bytes over {range:?}");
        }
    }
}
