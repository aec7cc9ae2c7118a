//! Elements of a buffer, for commands.

use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};

use bytemuck::Pod;
use cl3::error_codes::CL_INVALID_VALUE;

use super::Buffer;
use super::copy_host::{BufferCommand, linear_call};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::range::checked_elements;
use crate::memory::track::Access;
use crate::memory::transfer::{AllOf, HostCommand, HostCopy, HostPtr, device_copy, host_transfers};
use crate::memory::{
    CopyTo, FillTarget, Host, HostMemory, HostSource, HostTarget, IntoMemory, Linear, Order,
    Transfer,
};

/// Elements of a buffer, for commands of the host: [`Buffer::slice`]. It is not an object of OpenCL, and may begin
/// at any element. A command with elements that the buffer does not have is refused with CL_INVALID_VALUE. The host
/// memory has elements of the same type.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3, 4])?;
/// buffer.slice::<u32>(1..3).write(&queue, &[20_u32, 30])?;
/// buffer.slice::<u32>(..1).copy_to(&queue, buffer.slice(3..))?;
/// assert_eq!(buffer.slice::<u32>(1..).to_vec(&queue)?, [20, 30, 1]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct BufferSlice<'a, T> {
    buffer: &'a Buffer,
    range: (Bound<usize>, Bound<usize>),
    element: PhantomData<fn() -> T>,
}

impl Buffer {
    /// Returns elements of the buffer, as the part of it that a command uses: `buffer.slice::<f32>(8..16)`.
    #[inline]
    pub fn slice<T: Pod>(&self, range: impl RangeBounds<usize>) -> BufferSlice<'_, T> {
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        BufferSlice { buffer: self, range, element: PhantomData }
    }

    /// Returns all elements of the buffer, and blocks.
    ///
    /// # Errors
    /// The errors of [`BufferSlice::to_vec`].
    pub fn to_vec<'q, T: Pod>(&self, order: impl Into<Order<'q>>) -> Result<Vec<T>> {
        self.slice(..).to_vec(order)
    }

    host_transfers!(pub, |this| this);

    device_copy!(pub, <'s> &'s Self, |this| this);
}

impl<'a, T: Pod> BufferSlice<'a, T> {
    /// Returns the bytes in the buffer.
    fn bytes(self, call: &'static str) -> Result<Range<usize>> {
        checked_elements::<T>(call, "buffer", self.buffer.size(), self.range)
    }

    /// Returns the elements, and blocks.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn to_vec<'q>(&self, order: impl Into<Order<'q>>) -> Result<Vec<T>> {
        let len = self.bytes(linear_call(Access::Read))?.len() / size_of::<T>();
        let mut host = vec![T::zeroed(); len];
        self.read(order, &mut host)?;
        Ok(host)
    }

    /// Fills the elements with `value`, whose size is a power of two up to 128 bytes. Does not block.
    ///
    /// # Errors
    /// The errors of [`Buffer::fill`].
    pub fn fill<'q>(&self, order: impl Into<Order<'q>>, value: &T) -> Result<Event> {
        let bytes = self.bytes("clEnqueueFillBuffer")?;
        self.buffer.enqueue_fill(&order.into(), value, bytes)
    }

    host_transfers!(pub, |this| *this, T);

    /// Copies all elements to `dst`, which may be longer. Does not block.
    ///
    /// # Errors
    /// The errors of [`enqueue_copy`](crate::memory::enqueue_copy#errors).
    pub fn copy_to<'q>(
        &self,
        order: impl Into<Order<'q>>,
        dst: BufferSlice<'_, T>,
    ) -> Result<Event> {
        const CALL: &str = "clEnqueueCopyBuffer";
        let (from, to) = (self.bytes(CALL)?, dst.bytes(CALL)?);
        check_room(CALL, from.len(), to.len())?;
        let linear = Linear::default().src_offset(from.start).dst_offset(to.start);
        let part = linear.byte_count(from.len()).into();
        CopyTo::copy(&order.into(), dst.buffer, self.buffer, part)
    }
}

impl<T: Pod> HostCopy for BufferSlice<'_, T> {
    type Part = std::ops::RangeFull;

    fn plan(self, access: Access, _: Self::Part, host_ptr: HostPtr) -> Result<impl HostCommand> {
        let call = linear_call(access);
        let bytes = self.bytes(call)?;
        check_room(call, host_ptr.layout(call)?.byte_count(), bytes.len())?;
        let linear = match access {
            Access::Read => Linear::default().src_offset(bytes.start),
            Access::Write => Linear::default().dst_offset(bytes.start),
        };
        BufferCommand::linear(self.buffer, access, linear, host_ptr)
    }
}

/// Refuses more bytes than a slice has.
fn check_room(call: &'static str, size: usize, room: usize) -> Result<()> {
    Error::refuse_if(size > room, call, CL_INVALID_VALUE, || {
        format!("{size} bytes exceed a slice of {room} bytes")
    })
}
