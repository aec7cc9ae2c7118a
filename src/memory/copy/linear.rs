//! Bytes in one piece: between host memory and buffers, and between buffers (OpenCL 3.0, 5.2.2).

use std::ops::{Range, RangeFull};

use crate::event::Event;
use crate::queue::CommandQueue;
use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP};
use cl3::types::cl_event;

use super::command::{BufferCommand, Part, linear_call};
use super::rows::Rows;
use super::{CopyArgs, Everything};
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::memory::command::enqueue;
use crate::memory::host::{HostSource, HostTarget, Layout, Place};
use crate::memory::object::MemoryObject;
use crate::memory::range::overlap;
use crate::memory::range::{check_not_empty, checked_span};
use crate::memory::track::Access;
use crate::queue::Arguments;
use crate::wait_list::WaitList;

/// Bytes in one piece: the offset on either side, and the number of bytes.
///
/// Offsets are those of device memory: of host memory, give the part that is meant. A byte count
/// takes the beginning of host memory, which must have no gaps then.
///
/// [`default`](Self::default) is as many bytes as there are, at the start of either side.
///
/// ```
/// use clmatrix::memory::{Buffer, Linear, MemFlags, enqueue_copy};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, b"copy that")?;
/// enqueue_copy(&queue, &buffer, b"this", Linear::default().dst_offset(5), [])?;
/// let mut text = [0; 9];
/// enqueue_copy(&queue, &mut text, &buffer, .., [])?;
/// assert_eq!(&text, b"copy this");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Linear {
    pub(super) src_offset: usize,
    pub(super) dst_offset: usize,
    pub(super) byte_count: Option<usize>,
}

impl Linear {
    /// The first byte of the source.
    pub fn src_offset(mut self, bytes: usize) -> Self {
        self.src_offset = bytes;
        self
    }

    /// The first byte of the destination.
    pub fn dst_offset(mut self, bytes: usize) -> Self {
        self.dst_offset = bytes;
        self
    }

    /// The number of bytes. Without it, of a buffer, as many as the host memory has; of two buffers, or
    /// of shared virtual memory and anything, as many as both have from their offsets on.
    pub fn byte_count(mut self, bytes: usize) -> Self {
        self.byte_count = Some(bytes);
        self
    }
}

impl<D: HostTarget> CopyArgs<D, &Buffer> for Linear {
    type Output = D::Output;

    fn enqueue(
        self,
        queue: &CommandQueue,
        dst: D,
        src: &Buffer,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        dst.transfer(queue, wait_for, |place| {
            check_no_host_offset(linear_call(Access::Read), self.dst_offset)?;
            plan(src, Access::Read, self.src_offset, self.byte_count, place)
        })
    }
}

impl<S: HostSource> CopyArgs<&Buffer, S> for Linear {
    type Output = S::Output;

    fn enqueue(
        self,
        queue: &CommandQueue,
        dst: &Buffer,
        src: S,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        src.transfer(queue, wait_for, |place| {
            check_no_host_offset(linear_call(Access::Write), self.src_offset)?;
            plan(dst, Access::Write, self.dst_offset, self.byte_count, place)
        })
    }
}

impl CopyArgs<&Buffer, &Buffer> for Linear {
    type Output = Result<Event>;

    fn enqueue(
        self,
        queue: &CommandQueue,
        dst: &Buffer,
        src: &Buffer,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        let Self { src_offset, dst_offset, byte_count } = self;
        let left = |buffer: &Buffer, offset| buffer.size().saturating_sub(offset);
        let size = byte_count.unwrap_or_else(|| left(src, src_offset).min(left(dst, dst_offset)));
        copy_linear(queue, src, dst, (src_offset, dst_offset, size), wait_for)
    }
}

impl<D: HostTarget> Everything<D, &Buffer> for RangeFull {
    type Args = Linear;
}

impl<S: HostSource> Everything<&Buffer, S> for RangeFull {
    type Args = Linear;
}

impl Everything<&Buffer, &Buffer> for RangeFull {
    type Args = Linear;
}

/// Fills `data` from byte `offset` of `buffer` on, and returns when that is done
/// (`clEnqueueReadBuffer`; PyOpenCL's `enqueue_copy(queue, host, buffer)`).
///
/// The event is there for its profiling times.
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, CL_INVALID_OPERATION where
/// the flags or a map forbid it, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command that
/// it waited for failed, and the driver's errors.
pub fn enqueue_read_buffer<'a, T: Pod>(
    queue: &CommandQueue,
    buffer: &Buffer,
    offset: usize,
    data: &mut [T],
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    let bytes = Linear::default().src_offset(offset);
    bytes.enqueue(queue, data, buffer, &wait_for.into())
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
    let bytes = Linear::default().dst_offset(offset);
    bytes.enqueue(queue, buffer, data, &wait_for.into())
}

/// Copies `size` bytes of `src` from `src_offset` on to `dst_offset` of `dst`
/// (`clEnqueueCopyBuffer`; PyOpenCL's `enqueue_copy(queue, dst, src)`).
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, CL_MEM_COPY_OVERLAP where
/// both are the same bytes of one whole buffer, CL_INVALID_OPERATION where they are mapped, and
/// the driver's errors.
pub fn enqueue_copy_buffer<'a>(
    queue: &CommandQueue,
    src: &Buffer,
    src_offset: usize,
    dst: &Buffer,
    dst_offset: usize,
    size: usize,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    copy_linear(queue, src, dst, (src_offset, dst_offset, size), &wait_for.into())
}

/// The command between `offset` of `buffer` and the host memory at `place`.
fn plan(
    buffer: &Buffer,
    access: Access,
    offset: usize,
    byte_count: Option<usize>,
    place: Place,
) -> Result<BufferCommand<'_>> {
    let call = linear_call(access);
    let part = match (place.layout(call)?, byte_count) {
        (Layout::Rows(host), None) => {
            let [row, rows, _] = host.region;
            // Neither overflows: the array has more bytes.
            let buffer_rows = Rows {
                origin: [offset, 0, 0],
                region: host.region,
                row_pitch: row,
                slice_pitch: row * rows,
            };
            buffer.span(call, offset, host.region.iter().product())?;
            Part::Rect { buffer: buffer_rows, host }
        }
        (_, byte_count) => {
            let available = place.size(call)?;
            let host = match byte_count {
                Some(size) => checked_span(call, "host memory", available, 0, size)?,
                None => 0..available,
            };
            let range = buffer.span(call, offset, host.len())?;
            check_not_empty(call, &range)?;
            Part::Linear(range)
        }
    };
    BufferCommand::new(buffer, access, part, place.pointer)
}

pub(super) fn check_no_host_offset(call: &'static str, offset: usize) -> Result<()> {
    if offset == 0 {
        return Ok(());
    }
    let why = "an offset is one of device memory; of host memory, give the part that is meant";
    Err(Error::refused(call, CL_INVALID_VALUE, why))
}

/// `clEnqueueCopyBuffer`, which blocks nobody.
fn copy_linear(
    queue: &CommandQueue,
    src: &Buffer,
    dst: &Buffer,
    bytes: (usize, usize, usize),
    wait_for: &WaitList<'_>,
) -> Result<Event> {
    let (src_offset, dst_offset, size) = bytes;
    let sides = ((src, src_offset), (dst, dst_offset));
    copy("clEnqueueCopyBuffer", queue, sides, size, wait_for, |(queue, count, events)| {
        let (from, to) = (src.as_raw(), dst.as_raw());
        // SAFETY: the handles are alive and of one context, the bytes are within the buffers and
        // apart, and the driver keeps the buffers until the command has ended.
        unsafe {
            cl::enqueue_copy_buffer(queue, from, to, src_offset, dst_offset, size, count, events)
        }
    })
}

/// Copies `size` bytes between two buffers, each with the byte to begin at, as `issue` asks the
/// driver for it.
pub(super) fn copy(
    call: &'static str,
    queue: &CommandQueue,
    ((src, src_offset), (dst, dst_offset)): ((&Buffer, usize), (&Buffer, usize)),
    size: usize,
    wait_for: &WaitList<'_>,
    issue: impl FnOnce(Arguments) -> std::result::Result<cl_event, i32>,
) -> Result<Event> {
    let from = src.span(call, src_offset, size)?;
    let to = dst.span(call, dst_offset, size)?;
    check_not_empty(call, &from)?;
    check_no_overlap(call, (src, &from), (dst, &to))?;
    let operands = [src.operand(&from, Access::Read), dst.operand(&to, Access::Write)];
    Ok(enqueue(call, queue, &operands, wait_for, issue)?)
}

#[inline]
fn check_no_overlap(
    call: &'static str,
    src: (&Buffer, &Range<usize>),
    dst: (&Buffer, &Range<usize>),
) -> Result<()> {
    if src.0.shares_memory_with(dst.0) { check_apart(call, src, dst) } else { Ok(()) }
}

/// Refuses bytes of the same memory that overlap.
#[cold]
fn check_apart(
    call: &'static str,
    (src, from): (&Buffer, &Range<usize>),
    (dst, to): (&Buffer, &Range<usize>),
) -> Result<()> {
    let (from, to) = (src.in_tracker(from), dst.in_tracker(to));
    if !overlap(&from, &to) {
        return Ok(());
    }
    let why = format!("bytes {from:?} would be copied to bytes {to:?} of the same memory");
    Err(Error::refused(call, CL_MEM_COPY_OVERLAP, why))
}
