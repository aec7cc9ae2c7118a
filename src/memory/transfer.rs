//! Commands that move bytes between host and buffers, between buffers, and into them from nowhere
//! (OpenCL 3.0, 5.2.2 to 5.2.4; `pyopencl.enqueue_copy`, `enqueue_fill_buffer`).
//!
//! What OpenCL forbids is refused before the driver sees it: a queue or event of another context,
//! bytes that are not in the buffer or are mapped, a host access that the flags rule out, and a
//! command on 0 bytes, on which drivers do not agree.

use std::ops::{Range, RangeBounds};

use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::{
    CL_INVALID_CONTEXT, CL_INVALID_OPERATION, CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP,
    CL_OUT_OF_RESOURCES,
};
use cl3::types::{CL_BLOCKING, cl_context, cl_event};
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use super::buffer::Buffer;
use super::uses::{Access, overlap};
use super::wait_list::WaitList;
use crate::error::{Error, Result, in_call};

/// The longest pattern of `clEnqueueFillBuffer`, in bytes.
const LONGEST_PATTERN: usize = 128;

/// Fills `data` from byte `offset` of `buffer` on, and returns when that is done
/// (`clEnqueueReadBuffer`; PyOpenCL's `enqueue_copy(queue, host, buffer)`).
///
/// The event is there for its profiling times.
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, CL_INVALID_OPERATION where
/// the flags or a map forbid it, and what the driver answers.
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
    check_host_access(CALL, buffer, Access::Read)?;
    let wait_for = wait_for.into();
    let (count, events) = check_context(CALL, queue, buffer, &wait_for)?;
    let _claim = buffer.claim(CALL, &range, Access::Read)?;
    // SAFETY: all handles are alive and of one context; `data` has the size that is read, and the
    // call returns after the last byte was written.
    let event = unsafe {
        cl::enqueue_read_buffer(
            queue.get(),
            buffer.as_raw(),
            CL_BLOCKING,
            offset,
            data.len(),
            data.as_mut_ptr().cast(),
            count,
            events,
        )
    };
    issued(CALL, event)
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
    check_host_access(CALL, buffer, Access::Write)?;
    let wait_for = wait_for.into();
    let (count, events) = check_context(CALL, queue, buffer, &wait_for)?;
    let claim = buffer.claim(CALL, &range, Access::Write)?;
    // SAFETY: all handles are alive and of one context; `data` has the size that is written, and
    // the call returns after the last byte was read.
    let event = unsafe {
        cl::enqueue_write_buffer(
            queue.get(),
            buffer.as_raw(),
            CL_BLOCKING,
            offset,
            data.len(),
            data.as_ptr().cast(),
            count,
            events,
        )
    };
    let event = issued(CALL, event)?;
    // The driver may be done with `data` before it is done with the buffer.
    claim.until(&event);
    Ok(event)
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
    let wait_for = wait_for.into();
    check_context(CALL, queue, src, &wait_for)?;
    let (count, events) = check_context(CALL, queue, dst, &wait_for)?;
    let reading = src.claim(CALL, &from, Access::Read)?;
    let writing = dst.claim(CALL, &to, Access::Write)?;
    // SAFETY: all handles are alive and of one context, the ranges are within the buffers and
    // apart, and the driver keeps the buffers until the command has ended.
    let event = unsafe {
        cl::enqueue_copy_buffer(
            queue.get(),
            src.as_raw(),
            dst.as_raw(),
            src_offset,
            dst_offset,
            size,
            count,
            events,
        )
    };
    let event = issued(CALL, event)?;
    reading.until(&event);
    writing.until(&event);
    Ok(event)
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
    let wait_for = wait_for.into();
    let (count, events) = check_context(CALL, queue, buffer, &wait_for)?;
    let claim = buffer.claim(CALL, &range, Access::Write)?;
    // SAFETY: all handles are alive and of one context, the range is within the buffer, and the
    // driver has copied the pattern when the call returns.
    let event = unsafe {
        cl::enqueue_fill_buffer(
            queue.get(),
            buffer.as_raw(),
            pattern.as_ptr().cast(),
            pattern.len(),
            range.start,
            range.len(),
            count,
            events,
        )
    };
    let event = issued(CALL, event)?;
    claim.until(&event);
    Ok(event)
}

/// The event of a command that the driver has taken.
pub(super) fn issued(
    call: &'static str,
    event: std::result::Result<cl_event, i32>,
) -> Result<Event> {
    match event {
        Ok(event) if event.is_null() => {
            Err(Error::refused(call, CL_OUT_OF_RESOURCES, "the driver gave no event"))
        }
        Ok(event) => Ok(Event::new(event)),
        Err(code) => Err(Error::from_call(call, code)),
    }
}

/// Queue, buffer and events must be of one context: some drivers crash otherwise. Gives the wait
/// list's arguments.
pub(super) fn check_context(
    call: &'static str,
    queue: &CommandQueue,
    buffer: &Buffer,
    wait_for: &WaitList<'_>,
) -> Result<(u32, *const cl_event)> {
    let of: isize = cl::get_command_queue_info(queue.get(), cl::CL_QUEUE_CONTEXT)
        .map_err(in_call("clGetCommandQueueInfo"))?
        .into();
    if of as cl_context != buffer.context_raw() {
        let why = "the queue is of another context than the buffer";
        return Err(Error::refused(call, CL_INVALID_CONTEXT, why));
    }
    wait_for.arguments(call, buffer.context_raw())
}

pub(super) fn check_host_access(call: &'static str, buffer: &Buffer, access: Access) -> Result<()> {
    let (allowed, what) = match access {
        Access::Read => (buffer.flags().host_reads(), "read"),
        Access::Write => (buffer.flags().host_writes(), "write"),
    };
    if allowed {
        return Ok(());
    }
    let why = format!("the host must not {what} a buffer that is {:?}", buffer.flags());
    Err(Error::refused(call, CL_INVALID_OPERATION, why))
}

pub(super) fn check_not_empty(call: &'static str, range: &Range<usize>) -> Result<()> {
    if range.is_empty() {
        return Err(Error::refused(call, CL_INVALID_VALUE, "a command on 0 bytes"));
    }
    Ok(())
}

fn check_no_overlap(
    call: &'static str,
    (src, from): (&Buffer, &Range<usize>),
    (dst, to): (&Buffer, &Range<usize>),
) -> Result<()> {
    let (from, to) = (src.in_root(from), dst.in_root(to));
    if !src.shares_root_with(dst) || !overlap(&from, &to) {
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
