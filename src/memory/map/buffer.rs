//! Maps of buffers.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range, RangeBounds};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_VALUE;
use cl3::types::{cl_command_queue, cl_event, cl_uint};
use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeError, StrideShape};
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use super::mapping::{MapArguments, Mappable, Mapping};
use super::sealed::Guard;
use super::{MapMode, PendingMap, WritableMapMode, access, check_mode};
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::memory::context::MemContext;
use crate::memory::object::MemoryObject;
use crate::memory::object::sealed::Handle;
use crate::memory::range::check_not_empty;
use crate::memory::uses::Uses;
use crate::memory::wait_list::WaitList;

impl Mappable for Buffer {
    const MAP: &'static str = "clEnqueueMapBuffer";
    const UNMAP: &'static str = "clEnqueueUnmapMemObject";

    fn context(&self) -> &MemContext {
        self.object().context()
    }

    fn uses(&self) -> &Arc<Uses> {
        self.object().uses()
    }

    unsafe fn ask_to_unmap(
        &self,
        pointer: *mut c_void,
        (queue, count, events): (cl_command_queue, cl_uint, *const cl_event),
    ) -> std::result::Result<cl_event, i32> {
        // SAFETY: as the caller promises.
        unsafe { cl::enqueue_unmap_mem_object(queue, self.as_raw(), pointer, count, events) }
    }
}

/// Bytes of a buffer as a slice of the host's; `&mut` only if `M` writes.
///
/// Unmapped by [`unmap`](Self::unmap), or when dropped; what goes wrong then is logged. If it is
/// forgotten, its bytes stay mapped for good, and the buffer is never released.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut map: BufferMap<f32, MapRead>) {
///     map[0] = 1.0;
/// }
/// ```
pub struct BufferMap<T: Pod, M: MapMode> {
    pointer: NonNull<T>,
    /// In elements.
    len: usize,
    mapping: Mapping<Buffer>,
    mode: PhantomData<M>,
}

// SAFETY: it stands for its bytes like a `Box<[T]>`; the rest may go anywhere.
unsafe impl<T: Pod + Send, M: MapMode> Send for BufferMap<T, M> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync, M: MapMode> Sync for BufferMap<T, M> {}

/// Maps the bytes `range` of `buffer` as elements of `T`, and returns when they can be used
/// (`clEnqueueMapBuffer`).
///
/// Waits for what this crate has enqueued on these bytes, on any queue, where it or the map
/// writes. `..` maps the whole buffer.
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
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there or are no whole number of
/// elements, CL_INVALID_OPERATION where the flags forbid it, or where the bytes are mapped and either
/// map writes; CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command that it waited for
/// failed; CL_MAP_FAILURE where the driver's pointer does not suit `T`, and what the driver answers.
pub fn enqueue_map_buffer<'a, T: Pod, M: MapMode>(
    queue: &CommandQueue,
    buffer: &Buffer,
    _mode: M,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<BufferMap<T, M>> {
    let (range, len) = checked::<T, M>(buffer, range)?;
    let mapping = Mapping::blocking(
        queue,
        buffer.clone(),
        buffer.in_uses(&range),
        access::<M>(),
        &wait_for.into(),
        |buffer, arguments, pointer| ask::<M>(buffer, &range, arguments, pointer),
    )?;
    Ok(BufferMap { pointer: mapping.pointer()?, len, mapping, mode: PhantomData })
}

/// Has the bytes `range` of `buffer` mapped as elements of `T`, and returns at once: they can be used
/// when the result has been waited for (PyOpenCL's `is_blocking=False`).
///
/// The map comes after what this crate has enqueued on these bytes, on any queue, where it or the
/// map writes.
///
/// ```
/// # use clmatrix::memory::*;
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::create_default(&context, 0)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3])?;
/// let map = enqueue_map_buffer_nonblocking::<u32, _>(&queue, &buffer, MapRead, 4.., [])?;
/// // ... something else ...
/// assert_eq!(map.wait()?[..], [2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`enqueue_map_buffer`]; what fails later on, [`wait`](PendingMap::wait) reports.
pub fn enqueue_map_buffer_nonblocking<'a, T: Pod, M: MapMode>(
    queue: &CommandQueue,
    buffer: &Buffer,
    _mode: M,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<PendingMap<BufferMap<T, M>>> {
    let (range, len) = checked::<T, M>(buffer, range)?;
    let mapping = Mapping::non_blocking(
        queue,
        buffer.clone(),
        buffer.in_uses(&range),
        access::<M>(),
        &wait_for.into(),
        |buffer, arguments, pointer| ask::<M>(buffer, &range, arguments, pointer),
    )?;
    let pointer = mapping.pointer()?;
    Ok(PendingMap::new(BufferMap { pointer, len, mapping, mode: PhantomData }))
}

/// The bytes, and how many elements they are.
fn checked<T, M: MapMode>(
    buffer: &Buffer,
    range: impl RangeBounds<usize>,
) -> Result<(Range<usize>, usize)> {
    let range = buffer.bytes(Buffer::MAP, range)?;
    check_not_empty(Buffer::MAP, &range)?;
    let len = elements::<T>(Buffer::MAP, range.len())?;
    check_mode::<M>(Buffer::MAP, buffer.flags())?;
    Ok((range, len))
}

fn ask<M: MapMode>(
    buffer: &Buffer,
    range: &Range<usize>,
    (queue, blocking, count, events): MapArguments,
    pointer: &mut *mut c_void,
) -> std::result::Result<cl_event, i32> {
    let raw = buffer.as_raw();
    let (offset, size) = (range.start, range.len());
    // SAFETY: the handles are alive and of one context, the range is within the buffer, and the
    // result goes where a pointer fits.
    unsafe {
        cl::enqueue_map_buffer(queue, raw, blocking, M::FLAGS, offset, size, pointer, count, events)
    }
}

/// How many elements `size` bytes are.
pub(crate) fn elements<T>(call: &'static str, size: usize) -> Result<usize> {
    match size.checked_rem(size_of::<T>()) {
        Some(0) => Ok(size / size_of::<T>()),
        _ => {
            let why =
                format!("{size} bytes are no whole number of elements of {} bytes", size_of::<T>());
            Err(Error::refused(call, CL_INVALID_VALUE, why))
        }
    }
}

impl<T: Pod, M: MapMode> BufferMap<T, M> {
    /// The event of the map.
    pub fn event(&self) -> &Event {
        self.mapping.event()
    }

    /// The elements as an array of a shape, order or strides of ndarray's: `(2, 3)`, `(2, 3).f()`,
    /// `(2, 3).strides((8, 1))`.
    ///
    /// # Errors
    /// CL_INVALID_VALUE where it does not fit.
    pub fn array<D: Dimension>(
        &self,
        shape: impl Into<StrideShape<D>>,
    ) -> Result<ArrayView<'_, T, D>> {
        ArrayView::from_shape(shape, self).map_err(|error| misshapen(self.len, error))
    }

    /// Gives the bytes back to the device (`clEnqueueUnmapMemObject`; PyOpenCL's
    /// `MemoryMap.release`), on the queue that mapped them. The event says when they are there.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event of another context, and
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for one that has failed; the bytes are then
    /// given back without waiting. And what the driver answers; the bytes then stay closed for good,
    /// and so they do where an event that it waits for fails later on.
    pub fn unmap<'a>(mut self, wait_for: impl Into<WaitList<'a>>) -> Result<Event> {
        Ok(self.mapping.unmap(None, &wait_for.into())?.into_event())
    }

    /// Gives the bytes back to the device as [`unmap`](Self::unmap) does, on another queue of the
    /// same context.
    ///
    /// # Errors
    /// Those of [`unmap`](Self::unmap), and CL_INVALID_CONTEXT for a queue of another context.
    pub fn unmap_on<'a>(
        mut self,
        queue: &CommandQueue,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<Event> {
        Ok(self.mapping.unmap(Some(queue), &wait_for.into())?.into_event())
    }
}

impl<T: Pod, M: WritableMapMode> BufferMap<T, M> {
    /// As [`array`](Self::array), for writing.
    ///
    /// # Errors
    /// CL_INVALID_VALUE where it does not fit.
    pub fn array_mut<D: Dimension>(
        &mut self,
        shape: impl Into<StrideShape<D>>,
    ) -> Result<ArrayViewMut<'_, T, D>> {
        let len = self.len;
        ArrayViewMut::from_shape(shape, self).map_err(|error| misshapen(len, error))
    }
}

pub(crate) fn misshapen(len: usize, error: ShapeError) -> Error {
    let why = format!("{len} elements do not fit the shape: {error}");
    Error::refused("ndarray", CL_INVALID_VALUE, why)
}

impl<T: Pod, M: MapMode> Guard for BufferMap<T, M> {
    fn event(&self) -> &Event {
        self.mapping.event()
    }

    fn wait(&self) -> Result<()> {
        self.mapping.wait()
    }
}

impl<T: Pod, M: MapMode> Deref for BufferMap<T, M> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the driver keeps `len` elements mapped here until they are unmapped, which takes
        // `self`, and they have been waited for; the pointer is aligned; any bytes are a `T`; and
        // the mapping keeps commands and maps that write away.
        unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<T: Pod, M: WritableMapMode> DerefMut for BufferMap<T, M> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; for a mode that writes, the mapping keeps away all commands and
        // all other maps.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl<T: Pod + fmt::Debug, M: MapMode> fmt::Debug for BufferMap<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
