//! Mapped bytes as elements: what maps of buffers and of shared virtual memory have in common.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use crate::event::Event;
use crate::queue::CommandQueue;
use bytemuck::Pod;
use cl3::error_codes::CL_INVALID_VALUE;
use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeError, StrideShape};

use super::PendingMap;
use super::mapping::{Mappable, Mapping};
use super::sealed::Guard;
use super::{MapMode, WritableMapMode};
use crate::error::{Error, Result};
use crate::wait_list::WaitList;

/// Bytes of a memory object as a slice of the host's; `&mut` only if `M` writes. `G` keeps them there:
/// it is named [`BufferMap`](super::BufferMap) for buffers, and [`SvmMap`](super::SvmMap) and
/// [`SvmAccess`](crate::memory::SvmAccess) for shared virtual memory.
pub struct SliceMap<G, T: Pod, M: MapMode> {
    pointer: NonNull<T>,
    /// In elements.
    len: usize,
    guard: G,
    mode: PhantomData<M>,
}

// SAFETY: it stands for its bytes like a `Box<[T]>`; the rest may go anywhere.
unsafe impl<G: Send, T: Pod + Send, M: MapMode> Send for SliceMap<G, T, M> {}
// SAFETY: as above.
unsafe impl<G: Sync, T: Pod + Sync, M: MapMode> Sync for SliceMap<G, T, M> {}

/// How many elements `size` bytes are.
#[inline]
pub(crate) fn elements<T>(call: &'static str, size: usize) -> Result<usize> {
    match size.checked_rem(size_of::<T>()) {
        Some(0) => Ok(size / size_of::<T>()),
        _ => {
            let why =
                format!("{size} bytes are not a multiple of elements of {} bytes", size_of::<T>());
            Err(Error::refused(call, CL_INVALID_VALUE, why))
        }
    }
}

impl<G, T: Pod, M: MapMode> SliceMap<G, T, M> {
    /// `len` elements at `pointer`.
    ///
    /// # Safety
    /// As long as `guard` lives, the elements are there, and what `M` does to them is kept apart
    /// from what others do.
    #[inline]
    pub(crate) unsafe fn new(guard: G, pointer: NonNull<T>, len: usize) -> Self {
        Self { pointer, len, guard, mode: PhantomData }
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
}

impl<K: Mappable, T: Pod, M: MapMode> SliceMap<Mapping<K>, T, M> {
    /// Returns `len` elements that have been mapped in mode `M`.
    #[inline]
    pub(crate) fn mapped(mapping: Mapping<K>, len: usize) -> Result<Self> {
        let pointer = mapping.pointer()?;
        // SAFETY: the driver keeps them mapped here until the mapping is dropped or unmapped, which
        // takes the result; until then, it keeps commands and other maps away.
        Ok(unsafe { Self::new(mapping, pointer, len) })
    }

    /// Returns `len` elements that will have been mapped in mode `M`.
    pub(crate) fn pending(mapping: Mapping<K>, len: usize) -> Result<PendingMap<Self>> {
        // They are reached only when the map has been waited for.
        Self::mapped(mapping, len).map(PendingMap::new)
    }

    /// The event of the map.
    pub fn event(&self) -> &Event {
        self.guard.event()
    }

    /// Gives the bytes back to the device (`clEnqueueUnmapMemObject`, `clEnqueueSVMUnmap`; PyOpenCL's
    /// `MemoryMap.release` and `SVMMap.release`), on the queue that mapped them. The event says when they are there.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event of another context, and
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for one that has failed; the bytes are then
    /// given back without waiting. And the driver's errors; the bytes then stay closed for good,
    /// and so they do where an event that it waits for fails later on.
    pub fn unmap<'a>(mut self, wait_for: impl Into<WaitList<'a>>) -> Result<Event> {
        self.guard.unmap(None, &wait_for.into())
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
        self.guard.unmap(Some(queue), &wait_for.into())
    }
}

impl<G, T: Pod, M: WritableMapMode> SliceMap<G, T, M> {
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

impl<K: Mappable, T: Pod, M: MapMode> Guard for SliceMap<Mapping<K>, T, M> {
    fn event(&self) -> &Event {
        self.guard.event()
    }

    fn wait(&self) -> Result<()> {
        self.guard.wait()
    }
}

impl<G, T: Pod, M: MapMode> Deref for SliceMap<G, T, M> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the driver keeps `len` elements mapped here until they are unmapped, which takes
        // `self`, and they have been waited for; the pointer is aligned; any bytes are a `T`; and
        // the mapping keeps commands and maps that write away.
        unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<G, T: Pod, M: WritableMapMode> DerefMut for SliceMap<G, T, M> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; for a mode that writes, the mapping keeps away all commands and
        // all other maps.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl<G, T: Pod + fmt::Debug, M: MapMode> fmt::Debug for SliceMap<G, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
