//! Bytes in one piece: between host memory and buffers, and between buffers (OpenCL 3.0, 5.2.2).

use std::ops::{Range, RangeFull};

use crate::event::Event;
use crate::queue::CommandQueue;
use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP};
use cl3::types::cl_event;

use super::command::{BufferCommand, Part, linear_call};
use super::enqueue_copy;
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::memory::command::enqueue;
use crate::memory::host::{Layout, Place};
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

    /// Returns the offset in device memory of a command that does `access` to it. The other side is host
    /// memory, for which an offset is refused.
    pub(super) fn device_offset(self, call: &'static str, access: Access) -> Result<usize> {
        let (device, host) = match access {
            Access::Read => (self.src_offset, self.dst_offset),
            Access::Write => (self.dst_offset, self.src_offset),
        };
        if host == 0 {
            return Ok(device);
        }
        let why = "an offset is one of device memory; of host memory, give the part that is meant";
        Err(Error::refused(call, CL_INVALID_VALUE, why))
    }

    /// Returns the command that does `access` to `buffer`; the other side is at `place`.
    pub(super) fn plan(
        self,
        buffer: &Buffer,
        access: Access,
        place: Place,
    ) -> Result<BufferCommand<'_>> {
        let call = linear_call(access);
        let offset = self.device_offset(call, access)?;
        let part = match (place.layout(call)?, self.byte_count) {
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

    /// Copies between two buffers.
    pub(super) fn copy(
        self,
        queue: &CommandQueue,
        dst: &Buffer,
        src: &Buffer,
        wait_for: &WaitList<'_>,
    ) -> Result<Event> {
        let Self { src_offset, dst_offset, .. } = self;
        let size = self.size_between(src.size(), dst.size());
        let sides = ((src, src_offset), (dst, dst_offset));
        copy("clEnqueueCopyBuffer", queue, sides, size, wait_for, |(queue, count, events)| {
            let (from, to) = (src.as_raw(), dst.as_raw());
            // SAFETY: the handles are alive and of one context, the bytes are within the buffers and
            // apart, and the driver keeps the buffers until the command has ended.
            unsafe {
                cl::enqueue_copy_buffer(
                    queue, from, to, src_offset, dst_offset, size, count, events,
                )
            }
        })
    }

    /// Returns the number of bytes to copy between device memories of these sizes.
    pub(super) fn size_between(self, src: usize, dst: usize) -> usize {
        let left = |size: usize, offset| size.saturating_sub(offset);
        self.byte_count
            .unwrap_or_else(|| left(src, self.src_offset).min(left(dst, self.dst_offset)))
    }
}

/// As many bytes as there are.
impl From<RangeFull> for Linear {
    fn from(_: RangeFull) -> Self {
        Self::default()
    }
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
    enqueue_copy(queue, data, buffer, Linear::default().src_offset(offset), wait_for)
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
    enqueue_copy(queue, buffer, data, Linear::default().dst_offset(offset), wait_for)
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
    let linear = Linear { src_offset, dst_offset, byte_count: Some(size) };
    linear.copy(queue, dst, src, &wait_for.into())
}

/// Copies `size` bytes between two buffers, each with the byte to begin at; `issue` calls the driver.
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
    enqueue(call, queue, &operands, wait_for, issue)
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
