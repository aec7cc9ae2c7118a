//! Copies of buffers: with host memory, and from one buffer to another (OpenCL 3.0, 5.2.2 and 5.2.3).

use cl3::command_queue as cl;
use cl3::error_codes::CL_MEM_COPY_OVERLAP;

use super::Buffer;
use super::copy_host::BufferCommand;
use super::copy_rect::{HostRect, Rect};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::command::enqueue;
use crate::memory::object::sealed::Handle;
use crate::memory::range::{check_not_empty, overlap};
use crate::memory::track::Access;
use crate::memory::transfer::{HostCommand, HostCopy, HostPtr};
use crate::memory::{CopyTo, Linear, Order};

/// The bytes that a copy of a buffer moves: `..`, a [`Linear`], or a rectangle `R`, which is a
/// [`HostRect`] where the other side is host memory and a [`Rect`] where it is a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    fn copy(order: &Order<'_>, dst: &Buffer, src: Self, part: Self::Part) -> Self::Output {
        match part {
            BufferPart::Linear(linear) => copy_linear(order, dst, src, linear),
            BufferPart::Rect(rect) => rect.copy(order, dst, src),
        }
    }
}

/// Copies bytes in one piece between two buffers.
fn copy_linear(order: &Order<'_>, dst: &Buffer, src: &Buffer, linear: Linear) -> Result<Event> {
    const CALL: &str = "clEnqueueCopyBuffer";
    let size = linear.size_between(src.size(), dst.size());
    let from = src.span(CALL, linear.src_offset, size)?;
    let to = dst.span(CALL, linear.dst_offset, size)?;
    check_not_empty(CALL, &from)?;
    let (source, target) = (src.in_tracker(&from), dst.in_tracker(&to));
    let overlaps = src.object().may_share_bytes(dst.object()) && overlap(&source, &target);
    Error::refuse_if(overlaps, CALL, CL_MEM_COPY_OVERLAP, || {
        format!("bytes {source:?} would be copied to bytes {target:?} of the same memory")
    })?;
    let accesses = [src.accessed(&from, Access::Read), dst.accessed(&to, Access::Write)];
    let submit = cl::enqueue_copy_buffer;
    enqueue(CALL, order, &accesses, |(queue, count, events)| {
        let (source, target) = (src.as_raw(), dst.as_raw());
        // SAFETY: the handles are alive and of one context, the bytes are within the buffers and
        // apart, and the driver keeps the buffers until the command has ended.
        unsafe { submit(queue, source, target, from.start, to.start, size, count, events) }
    })
}
