//! Copies of buffers: with host memory, and from one buffer to another (OpenCL 3.0, 5.2.2 and 5.2.3).

use std::ops::RangeFull;

use super::CopyTo;
use super::command::BufferCommand;
use super::linear::Linear;
use super::rect::{HostRect, Rect};
use crate::error::Result;
use crate::event::Event;
use crate::memory::buffer::Buffer;
use crate::memory::host::{HostSource, HostTarget, Place};
use crate::memory::into_memory::Host;
use crate::memory::track::Access;
use crate::queue::CommandQueue;
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

impl<R> From<RangeFull> for BufferPart<R> {
    fn from(all: RangeFull) -> Self {
        Self::Linear(all.into())
    }
}

impl<R> From<Linear> for BufferPart<R> {
    fn from(linear: Linear) -> Self {
        Self::Linear(linear)
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

impl BufferPart<HostRect> {
    /// Returns the command that does `access` to `buffer`; the other side is at `place`.
    fn plan(self, buffer: &Buffer, access: Access, place: Place) -> Result<BufferCommand<'_>> {
        match self {
            Self::Linear(linear) => linear.plan(buffer, access, place),
            Self::Rect(rect) => rect.plan(buffer, access, place),
        }
    }
}

impl<D: HostTarget> CopyTo<Host<D>> for &Buffer {
    type Part = BufferPart<HostRect>;
    type Output = D::Output;

    fn copy(
        queue: &CommandQueue,
        dst: Host<D>,
        src: Self,
        part: Self::Part,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        dst.0.transfer(queue, wait_for, |place| part.plan(src, Access::Read, place))
    }
}

impl<S: HostSource> CopyTo<&Buffer> for Host<S> {
    type Part = BufferPart<HostRect>;
    type Output = S::Output;

    fn copy(
        queue: &CommandQueue,
        dst: &Buffer,
        src: Self,
        part: Self::Part,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        src.0.transfer(queue, wait_for, |place| part.plan(dst, Access::Write, place))
    }
}

impl CopyTo<&Buffer> for &Buffer {
    type Part = BufferPart<Rect>;
    type Output = Result<Event>;

    fn copy(
        queue: &CommandQueue,
        dst: &Buffer,
        src: Self,
        part: Self::Part,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        match part {
            BufferPart::Linear(linear) => linear.copy(queue, dst, src, wait_for),
            BufferPart::Rect(rect) => rect.copy(queue, dst, src, wait_for),
        }
    }
}
