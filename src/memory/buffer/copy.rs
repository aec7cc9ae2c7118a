//! Copies of buffers: with host memory, and from one buffer to another (OpenCL 3.0, 5.2.2 and 5.2.3).

use std::ops::Range;

use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::CL_MEM_COPY_OVERLAP;

use super::Buffer;
use super::copy_host::BufferCommand;
use super::copy_rect::{HostRect, Rect};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::command::enqueue;
use crate::memory::object::MemoryObject;
use crate::memory::order::Order;
use crate::memory::range::{check_not_empty, overlap};
use crate::memory::track::Access;
use crate::memory::transfer::copy_to::CopyTo;
use crate::memory::transfer::enqueue_copy;
use crate::memory::transfer::host::{HostCommand, HostCopy};
use crate::memory::transfer::host_ptr::HostPtr;
use crate::memory::transfer::linear::Linear;
use crate::queue::{Arguments, CommandQueue, Submitted};
use crate::wait_list::WaitList;

/// The bytes that a copy of a buffer moves: `..`, a [`Linear`], or a rectangle `R`, which is a
/// [`HostRect`] where the other side is host memory and a [`Rect`] where it is a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferPart<R> {
    /// Bytes in one piece.
    Linear(Linear),
    /// Rows of bytes.
    Rect(R),
}

impl<R, L: Into<Linear>> From<L> for BufferPart<R> {
    fn from(linear: L) -> Self {
        Self::Linear(linear.into())
    }
}

impl From<HostRect> for BufferPart<HostRect> {
    fn from(rect: HostRect) -> Self {
        Self::Rect(rect)
    }
}

impl From<Rect> for BufferPart<Rect> {
    fn from(rect: Rect) -> Self {
        Self::Rect(rect)
    }
}

impl HostCopy for &Buffer {
    type Part = BufferPart<HostRect>;

    fn plan(self, access: Access, part: Self::Part, host_ptr: HostPtr) -> Result<impl HostCommand> {
        match part {
            BufferPart::Linear(linear) => BufferCommand::linear(self, access, linear, host_ptr),
            BufferPart::Rect(rect) => rect.plan(self, access, host_ptr),
        }
    }
}

impl CopyTo<&Buffer> for &Buffer {
    type Part = BufferPart<Rect>;
    type Output = Result<Event>;

    fn copy(order: Order<'_>, dst: &Buffer, src: Self, part: Self::Part) -> Self::Output {
        match part {
            BufferPart::Linear(linear) => copy_linear(order, dst, src, linear),
            BufferPart::Rect(rect) => rect.copy(order, dst, src),
        }
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
    copy_linear(Order::new(queue, &wait_for.into()), dst, src, linear)
}

/// Copies bytes in one piece between two buffers.
fn copy_linear(order: Order<'_>, dst: &Buffer, src: &Buffer, linear: Linear) -> Result<Event> {
    let Linear { src_offset, dst_offset, .. } = linear;
    let size = linear.size_between(src.size(), dst.size());
    let sides = ((src, src_offset), (dst, dst_offset));
    copy("clEnqueueCopyBuffer", order, sides, size, |(queue, count, events)| {
        let (from, to) = (src.as_raw(), dst.as_raw());
        // SAFETY: the handles are alive and of one context, the bytes are within the buffers and
        // apart, and the driver keeps the buffers until the command has ended.
        unsafe {
            cl::enqueue_copy_buffer(queue, from, to, src_offset, dst_offset, size, count, events)
        }
    })
}

/// Copies `size` bytes between two buffers, each with the byte to begin at; `submit` calls the driver.
pub(super) fn copy(
    call: &'static str,
    order: Order<'_>,
    ((src, src_offset), (dst, dst_offset)): ((&Buffer, usize), (&Buffer, usize)),
    size: usize,
    submit: impl FnOnce(Arguments) -> Submitted,
) -> Result<Event> {
    let from = src.span(call, src_offset, size)?;
    let to = dst.span(call, dst_offset, size)?;
    check_not_empty(call, &from)?;
    check_no_overlap(call, (src, &from), (dst, &to))?;
    let accesses = [src.accessed(&from, Access::Read), dst.accessed(&to, Access::Write)];
    enqueue(call, order, &accesses, submit)
}

/// Refuses bytes of the same memory that overlap.
fn check_no_overlap(
    call: &'static str,
    (src, from): (&Buffer, &Range<usize>),
    (dst, to): (&Buffer, &Range<usize>),
) -> Result<()> {
    if !src.shares_memory_with(dst) {
        return Ok(());
    }
    let (from, to) = (src.in_tracker(from), dst.in_tracker(to));
    if !overlap(&from, &to) {
        return Ok(());
    }
    let reason = format!("bytes {from:?} would be copied to bytes {to:?} of the same memory");
    Err(Error::refused(call, CL_MEM_COPY_OVERLAP, reason))
}
