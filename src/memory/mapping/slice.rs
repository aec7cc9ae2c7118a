//! Elements that the host may use: the common part of maps of buffers and of shared virtual memory.

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

use super::mode::{MapMode, WritableMapMode};
use super::pending::MapGuard;
use super::pending::sealed::Guard;
use super::{Mappable, Mapping};
use crate::error::{Error, Result};
use crate::wait_list::WaitList;

/// Elements of a memory object as a slice of the host's; `&mut` only if `M` writes.
///
/// `G` keeps the memory alive, and conflicting accesses away. Each kind of memory has a name of its own for
/// it: [`BufferMap`](crate::memory::BufferMap), [`SvmMap`](crate::memory::SvmMap) and
/// [`SvmAccess`](crate::memory::SvmAccess). A drop gives the elements back to the devices;
/// [`unmap`](Self::unmap) also returns an event.
pub struct SliceMap<G, T: Pod, M: MapMode> {
    pointer: NonNull<T>,
    /// In elements.
    len: usize,
    guard: G,
    mode: PhantomData<M>,
}

// SAFETY: it stands for its elements like a `Box<[T]>`; its guard is Send.
unsafe impl<G: Send, T: Pod + Send, M: MapMode> Send for SliceMap<G, T, M> {}
// SAFETY: as above; its guard is Sync.
unsafe impl<G: Sync, T: Pod + Sync, M: MapMode> Sync for SliceMap<G, T, M> {}

impl<G, T: Pod, M: MapMode> SliceMap<G, T, M> {
    /// Returns the elements of `size` bytes at `pointer`.
    ///
    /// # Safety
    /// `size` is a multiple of an element's. As long as `guard` lives, the elements are there, and no
    /// other access conflicts with the accesses that `M` allows.
    #[inline]
    pub(crate) unsafe fn new(guard: G, pointer: NonNull<T>, size: usize) -> Self {
        Self { pointer, len: size / size_of::<T>(), guard, mode: PhantomData }
    }

    /// Returns the elements as an array of a shape, order or strides of ndarray's: `(2, 3)`,
    /// `(2, 3).f()`, `(2, 3).strides((8, 1))`.
    ///
    /// # Errors
    /// CL_INVALID_VALUE where the shape does not fit the number of elements.
    pub fn array<D: Dimension>(
        &self,
        shape: impl Into<StrideShape<D>>,
    ) -> Result<ArrayView<'_, T, D>> {
        ArrayView::from_shape(shape, self).map_err(|error| misshapen(self.len, error))
    }
}

impl<K: Mappable, T: Pod, M: MapMode> SliceMap<Mapping<K>, T, M> {
    /// Returns the elements of `size` bytes that are mapped in mode `M`.
    ///
    /// # Safety
    /// The map has ended well, or nothing reaches the elements before it has.
    #[inline]
    pub(crate) unsafe fn mapped(mapping: Mapping<K>, size: usize) -> Result<Self> {
        let pointer = mapping.pointer()?;
        // SAFETY: once the map has ended, the driver keeps them mapped here until the mapping is dropped or
        // unmapped, which takes the result; until then, it keeps commands and other maps away.
        Ok(unsafe { Self::new(mapping, pointer, size) })
    }

    /// Returns the event of the map.
    pub fn event(&self) -> &Event {
        self.guard.event()
    }

    /// Gives the elements back to the device (`clEnqueueUnmapMemObject`, `clEnqueueSVMUnmap`;
    /// PyOpenCL's `MemoryMap.release` and `SVMMap.release`), on the queue that mapped them. Returns the
    /// event of the unmap, after whose end the device has them.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event of another context, and
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for one that has failed; the elements are then
    /// given back without waiting. Also the driver's errors; the elements then stay closed for good.
    /// They also stay closed if an event of `wait_for` fails later on.
    pub fn unmap<'a>(mut self, wait_for: impl Into<WaitList<'a>>) -> Result<Event> {
        self.guard.unmap(None, &wait_for.into())
    }

    /// Gives the elements back to the device as [`unmap`](Self::unmap) does, on another queue of the
    /// same context.
    ///
    /// # Errors
    /// The errors of [`unmap`](Self::unmap), and CL_INVALID_CONTEXT for a queue of another context.
    pub fn unmap_on<'a>(
        mut self,
        queue: &CommandQueue,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<Event> {
        self.guard.unmap(Some(queue), &wait_for.into())
    }
}

impl<G, T: Pod, M: WritableMapMode> SliceMap<G, T, M> {
    /// Returns the elements as [`array`](Self::array) does, for writing.
    ///
    /// # Errors
    /// The errors of [`array`](Self::array).
    pub fn array_mut<D: Dimension>(
        &mut self,
        shape: impl Into<StrideShape<D>>,
    ) -> Result<ArrayViewMut<'_, T, D>> {
        let len = self.len;
        ArrayViewMut::from_shape(shape, self).map_err(|error| misshapen(len, error))
    }
}

fn misshapen(len: usize, error: ShapeError) -> Error {
    let reason = format!("{len} elements do not fit the shape: {error}");
    Error::refused("ndarray", CL_INVALID_VALUE, reason)
}

impl<K: Mappable, T: Pod, M: MapMode> MapGuard for SliceMap<Mapping<K>, T, M> {}

impl<K: Mappable, T: Pod, M: MapMode> Guard for SliceMap<Mapping<K>, T, M> {
    const CALL: &'static str = K::MAP;

    fn event(&self) -> &Event {
        self.guard.event()
    }
}

impl<G, T: Pod, M: MapMode> Deref for SliceMap<G, T, M> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the guard keeps `len` elements here until it is dropped or unmapped, which takes
        // `self`; a map has been waited for; the pointer is aligned; any bytes are a `T`; and the
        // guard keeps commands and maps that write away.
        unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<G, T: Pod, M: WritableMapMode> DerefMut for SliceMap<G, T, M> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; for a mode that writes, the guard keeps away all commands and all
        // other maps.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl<G, T: Pod + fmt::Debug, M: MapMode> fmt::Debug for SliceMap<G, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
