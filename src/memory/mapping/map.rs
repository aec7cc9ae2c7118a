//! The methods that map memory, whatever its kind.

use bytemuck::Pod;

use super::mode::{MapMode, MapRead, MapReadWrite, MapWrite, MapWriteInvalidate};
use super::pending::{MapGuard, PendingMap};
use crate::error::Result;
use crate::memory::order::Order;
use crate::queue::CommandQueue;
use crate::wait_list::WaitList;

/// Memory that a queue maps for the host: a [`Buffer`](crate::memory::Buffer), an
/// [`Image`](crate::memory::Image) or an [`SvmPointer`](crate::memory::SvmPointer).
///
/// | Memory | `Part` | Guard |
/// |---|---|---|
/// | `Buffer` | a range of elements of `T` | [`BufferMap`](crate::memory::BufferMap) |
/// | `SvmPointer` | a range of elements of `T` | [`SvmMap`](crate::memory::SvmMap) |
/// | `Image` | `..` or an [`ImageRegion`](crate::memory::ImageRegion); `T` has the size of a pixel | [`ImageMap`](crate::memory::ImageMap) |
///
/// Elements follow each other from the memory's first byte. `..` maps all of it, whose size then has to be a
/// multiple of an element's; a range with an end leaves the bytes behind it out. The driver chooses the
/// distances of an image's rows, so that the region has no pitches.
///
/// A map comes after the commands that this crate has enqueued on the same bytes, on any queue, where the
/// command or the map writes. For an image, these are the bytes of the rows that have a pixel of the part.
/// Fine-grain shared virtual memory can be mapped, too;
/// [`SvmPointer::access`](crate::memory::SvmPointer::access) needs no queue.
///
/// ```
/// # use clmatrix::memory::*;
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3, 4])?;
/// buffer.map_read_write::<u32>(&queue, ..2)?.iter_mut().for_each(|x| *x *= 10);
/// assert_eq!(buffer.map_read::<u32>(&queue, 1..3)?[..], [20, 3]);
///
/// let grey = ImageFormat::new(ChannelOrder::R, ChannelType::UnsignedInt8);
/// let image = Image::builder(&context, grey).shape([4, 2]).copy_from(b"abcdefgh").build()?;
/// assert_eq!(image.map_read::<u8>(&queue, ..)?.pixels()[[0, 1, 2]], b'g');
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// All methods return CL_INVALID_CONTEXT; CL_INVALID_VALUE for no elements, for elements or pixels that
/// exceed the memory, for a range without an end of memory that is not a whole number of elements, and
/// for pixels of another size than `T`; CL_INVALID_OPERATION where the flags forbid the map, or where the
/// bytes are mapped and either map writes, or both begin at one byte and the driver finds maps by their address;
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command
/// that the map waited for failed; CL_MAP_FAILURE where the driver's pointer or pitches do not suit `T`;
/// and the driver's errors.
pub trait Map<Part> {
    /// Keeps the memory mapped, and unmaps it when dropped.
    type Guard<T: Pod, M: MapMode>: MapGuard;

    /// Implements the other methods. Returns when the bytes can be used, or at once if the map does not
    /// block.
    ///
    /// # Safety
    /// Without `is_blocking`, nothing reaches the elements before the event of the guard has ended well.
    #[doc(hidden)]
    unsafe fn enqueue_map<T: Pod, M: MapMode>(
        &self,
        order: Order<'_>,
        part: Part,
        is_blocking: bool,
    ) -> Result<Self::Guard<T, M>>;

    /// Maps `part`, and returns when it can be used (`clEnqueueMapBuffer`, `clEnqueueMapImage`,
    /// `clEnqueueSVMMap`).
    ///
    /// ```no_run
    /// # use clmatrix::memory::*;
    /// # fn f(queue: &clmatrix::CommandQueue, svm: &SvmAllocation) -> clmatrix::Result<()> {
    /// let mut map = svm.map::<f32, _>(queue, MapReadWrite, ..64, [])?;
    /// map.fill(1.0);
    /// map.unmap([])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`Map`](Self#errors).
    fn map<'a, T: Pod, M: MapMode>(
        &self,
        queue: &CommandQueue,
        _mode: M,
        part: Part,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<Self::Guard<T, M>> {
        // SAFETY: the map blocks.
        unsafe { self.enqueue_map(Order::new(queue, &wait_for.into()), part, true) }
    }

    /// Enqueues a map of `part`, and returns at once: it can be used after [`PendingMap::wait`] (PyOpenCL's
    /// `is_blocking=False`).
    ///
    /// ```
    /// # use clmatrix::memory::*;
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3])?;
    /// let map = buffer.map_nonblocking::<u32, _>(&queue, MapRead, 1.., [])?;
    /// // ... something else ...
    /// assert_eq!(map.wait()?[..], [2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`Map`](Self#errors). [`PendingMap::wait`] reports later failures.
    fn map_nonblocking<'a, T: Pod, M: MapMode>(
        &self,
        queue: &CommandQueue,
        _mode: M,
        part: Part,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<PendingMap<Self::Guard<T, M>>> {
        // SAFETY: the result waits for the event of the guard before it gives the guard away.
        let guard = unsafe { self.enqueue_map(Order::new(queue, &wait_for.into()), part, false) };
        guard.map(PendingMap::new)
    }

    /// Maps `part` for reading, without a wait list, and returns when it can be used.
    ///
    /// # Errors
    /// See [`Map`](Self#errors).
    fn map_read<T: Pod>(
        &self,
        queue: &CommandQueue,
        part: Part,
    ) -> Result<Self::Guard<T, MapRead>> {
        self.map(queue, MapRead, part, [])
    }

    /// Maps `part` for writing, without a wait list, and returns when it can be used. Elements that the
    /// host does not write keep their values.
    ///
    /// # Errors
    /// See [`Map`](Self#errors).
    fn map_write<T: Pod>(
        &self,
        queue: &CommandQueue,
        part: Part,
    ) -> Result<Self::Guard<T, MapWrite>> {
        self.map(queue, MapWrite, part, [])
    }

    /// Maps `part` for reading and writing, without a wait list, and returns when it can be used.
    ///
    /// # Errors
    /// See [`Map`](Self#errors).
    fn map_read_write<T: Pod>(
        &self,
        queue: &CommandQueue,
        part: Part,
    ) -> Result<Self::Guard<T, MapReadWrite>> {
        self.map(queue, MapReadWrite, part, [])
    }

    /// Maps `part` with undefined values for writing all of it, without a wait list, and returns when it
    /// can be used.
    ///
    /// # Errors
    /// See [`Map`](Self#errors).
    fn map_write_invalidate<T: Pod>(
        &self,
        queue: &CommandQueue,
        part: Part,
    ) -> Result<Self::Guard<T, MapWriteInvalidate>> {
        self.map(queue, MapWriteInvalidate, part, [])
    }
}
