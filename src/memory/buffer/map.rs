//! Maps of buffers (OpenCL 3.0, 5.2.4; `pyopencl.enqueue_map_buffer`).

use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use crate::queue::CommandQueue;
use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::types::{cl_context, cl_event, cl_mem};

use super::Buffer;
use super::handle::BufferRef;
use crate::error::Result;
use crate::memory::mapping::mode::{
    MapMode, MapRead, MapReadWrite, MapWrite, MapWriteInvalidate, access, check_mode,
};
use crate::memory::mapping::pending::PendingMap;
use crate::memory::mapping::slice::{self, MapKind, MappedKind, SliceMap};
use crate::memory::mapping::{MapArguments, Mappable, Mapping};
use crate::memory::object::MemoryObject;
use crate::memory::range::checked_elements;
use crate::memory::track::AccessTracker;
use crate::wait_list::WaitList;

impl Mappable for BufferRef {
    const MAP: &'static str = "clEnqueueMapBuffer";
    const UNMAP: &'static str = "clEnqueueUnmapMemObject";

    fn context_raw(&self) -> cl_context {
        self.object().context().raw()
    }

    fn tracker(&self) -> &Arc<AccessTracker> {
        self.object().tracker()
    }

    fn mem_object(&self) -> Option<cl_mem> {
        Some(self.raw())
    }
}

/// Elements of a buffer as a slice of the host's; `&mut` only if `M` writes
/// (`pyopencl.MemoryMap`).
///
/// Unmapped by [`unmap`](SliceMap::unmap), or by a drop, which logs errors. If it is forgotten, its
/// bytes stay mapped for good, and the buffer is never released.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut map: BufferMap<f32, MapRead>) {
///     map[0] = 1.0;
/// }
/// ```
pub type BufferMap<T, M> = SliceMap<BufferMapKind, T, M>;

/// Buffers that are mapped: see [`BufferMap`].
pub enum BufferMapKind {}

impl MapKind for BufferMapKind {}
impl MappedKind for BufferMapKind {}

impl slice::sealed::Kind for BufferMapKind {
    type Guard = Mapping<BufferRef>;
}

impl slice::sealed::MappedKind for BufferMapKind {
    type Memory = BufferRef;
}

/// Maps that block and wait for no events. [`enqueue_map_buffer`] and
/// [`enqueue_map_buffer_nonblocking`] take a wait list.
impl Buffer {
    /// Maps the elements `range` for reading, and returns when they can be used. The range is in
    /// elements of `T`.
    ///
    /// ```
    /// # use clmatrix::memory::*;
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3, 4])?;
    /// assert_eq!(buffer.map_read::<u32>(&queue, 1..3)?[..], [2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`enqueue_map_buffer`].
    pub fn map_read<T: Pod>(
        &self,
        queue: &CommandQueue,
        range: impl RangeBounds<usize>,
    ) -> Result<BufferMap<T, MapRead>> {
        enqueue_map_buffer(queue, self, MapRead, range, [])
    }

    /// Maps the elements `range` for writing, and returns when they can be used. Elements that the host
    /// does not write keep their values. The range is in elements of `T`.
    ///
    /// # Errors
    /// The errors of [`enqueue_map_buffer`].
    pub fn map_write<T: Pod>(
        &self,
        queue: &CommandQueue,
        range: impl RangeBounds<usize>,
    ) -> Result<BufferMap<T, MapWrite>> {
        enqueue_map_buffer(queue, self, MapWrite, range, [])
    }

    /// Maps the elements `range` for reading and writing, and returns when they can be used. The range
    /// is in elements of `T`.
    ///
    /// ```
    /// # use clmatrix::memory::*;
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3, 4])?;
    /// buffer.map_read_write::<u32>(&queue, ..2)?.iter_mut().for_each(|x| *x *= 10);
    /// assert_eq!(buffer.map_read::<u32>(&queue, ..)?[..], [10, 20, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`enqueue_map_buffer`].
    pub fn map_read_write<T: Pod>(
        &self,
        queue: &CommandQueue,
        range: impl RangeBounds<usize>,
    ) -> Result<BufferMap<T, MapReadWrite>> {
        enqueue_map_buffer(queue, self, MapReadWrite, range, [])
    }

    /// Maps the elements `range` with undefined values for writing all of them, and returns when they
    /// can be used. The range is in elements of `T`.
    ///
    /// # Errors
    /// The errors of [`enqueue_map_buffer`].
    pub fn map_write_invalidate<T: Pod>(
        &self,
        queue: &CommandQueue,
        range: impl RangeBounds<usize>,
    ) -> Result<BufferMap<T, MapWriteInvalidate>> {
        enqueue_map_buffer(queue, self, MapWriteInvalidate, range, [])
    }
}

/// Maps the elements `range` of `buffer`, and returns when they can be used (`clEnqueueMapBuffer`).
///
/// The range is in elements of `T`, which follow each other from the buffer's first byte. `..` maps
/// the whole buffer, whose size then has to be a multiple of an element's; a range with an end leaves
/// the bytes behind it out.
///
/// Waits for the commands that this crate has enqueued on these bytes, on any queue, where the command
/// or the map writes. [`Buffer::map_read`] and its kin are shorter, without a wait list.
///
/// ```no_run
/// # use clmatrix::memory::*;
/// # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) -> clmatrix::Result<()> {
/// let mut map = enqueue_map_buffer::<f32, _>(queue, buffer, MapReadWrite, .., [])?;
/// map[0] += 1.0;
/// map.unmap([])?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_CONTEXT; CL_INVALID_VALUE for no elements, for elements that exceed the buffer, and for a
/// range without an end of a buffer that is not a whole number of elements; CL_INVALID_OPERATION where
/// the flags forbid the map, or where the bytes are mapped and either map writes;
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command that the map waited for failed;
/// CL_MAP_FAILURE where the driver's pointer does not suit `T`; and the driver's errors.
pub fn enqueue_map_buffer<'a, T: Pod, M: MapMode>(
    queue: &CommandQueue,
    buffer: &Buffer,
    _mode: M,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<BufferMap<T, M>> {
    let bytes = checked::<T, M>(buffer, range)?;
    let (reference, place) = place(queue, buffer, &bytes);
    let mapping = Mapping::blocking(
        queue,
        reference.as_ref(),
        buffer.in_tracker(&bytes),
        access::<M>(),
        &wait_for.into(),
        |arguments, pointer| submit::<M>(&reference, &place, arguments, pointer),
    )?;
    SliceMap::mapped(mapping, bytes.len())
}

/// Enqueues a map of the elements `range` of `buffer`, and returns at once: they can be used after
/// [`PendingMap::wait`] (PyOpenCL's `is_blocking=False`). The range is in elements of `T`, as that of
/// [`enqueue_map_buffer`].
///
/// The map comes after the commands that this crate has enqueued on these bytes, on any queue, where
/// the command or the map writes.
///
/// ```
/// # use clmatrix::memory::*;
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3])?;
/// let map = enqueue_map_buffer_nonblocking::<u32, _>(&queue, &buffer, MapRead, 1.., [])?;
/// // ... something else ...
/// assert_eq!(map.wait()?[..], [2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`enqueue_map_buffer`]; [`wait`](PendingMap::wait) reports later failures.
pub fn enqueue_map_buffer_nonblocking<'a, T: Pod, M: MapMode>(
    queue: &CommandQueue,
    buffer: &Buffer,
    _mode: M,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<PendingMap<BufferMap<T, M>>> {
    let bytes = checked::<T, M>(buffer, range)?;
    let (reference, place) = place(queue, buffer, &bytes);
    let mapping = Mapping::non_blocking(
        queue,
        reference.as_ref(),
        buffer.in_tracker(&bytes),
        access::<M>(),
        &wait_for.into(),
        |arguments, pointer| submit::<M>(&reference, &place, arguments, pointer),
    )?;
    SliceMap::pending(mapping, bytes.len())
}

/// Returns the bytes of the elements `range`, if the flags allow the map.
#[inline]
fn checked<T, M: MapMode>(buffer: &Buffer, range: impl RangeBounds<usize>) -> Result<Range<usize>> {
    let bytes = checked_elements::<T>(BufferRef::MAP, "buffer", buffer.size(), range)?;
    check_mode::<M>(BufferRef::MAP, buffer.flags())?;
    Ok(bytes)
}

/// Returns the object that the driver maps, and the bytes there: those of the whole buffer in place of a
/// region's if the driver confuses mapped regions.
// quirk: NVIDIA-11
#[inline]
fn place<'a>(
    queue: &CommandQueue,
    buffer: &'a Buffer,
    bytes: &Range<usize>,
) -> (Cow<'a, BufferRef>, Range<usize>) {
    let reference = buffer.reference();
    match reference.is_sub_buffer() && queue.state().driver().confuses_mapped_regions {
        true => (Cow::Owned(reference.to_whole()), buffer.in_whole(bytes)),
        false => (Cow::Borrowed(reference), bytes.clone()),
    }
}

fn submit<M: MapMode>(
    reference: &BufferRef,
    bytes: &Range<usize>,
    (queue, blocking, count, events): MapArguments,
    pointer: &mut *mut c_void,
) -> std::result::Result<cl_event, i32> {
    let raw = reference.raw();
    let (offset, size) = (bytes.start, bytes.len());
    // SAFETY: the handles are alive and of one context, the bytes are within the buffer, and the
    // result goes where a pointer fits.
    unsafe {
        cl::enqueue_map_buffer(queue, raw, blocking, M::FLAGS, offset, size, pointer, count, events)
    }
}
