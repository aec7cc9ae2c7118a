//! Elements that the host may use: the common part of maps of buffers and of shared virtual memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use bytemuck::Pod;

use super::mode::{MapMode, WritableMapMode};
use super::pending::map_guard;
use super::{Mappable, Mapping};
use crate::error::Result;

/// Elements of a memory object as a slice on the host; `&mut` only if `M` writes.
///
/// `G` keeps the memory alive, and conflicting accesses away. Each kind of memory has a name of its own for
/// it: [`BufferMap`](crate::memory::BufferMap), [`SvmMap`](crate::memory::SvmMap) and
/// [`SvmAccess`](crate::memory::SvmAccess). A drop gives the elements back to the devices;
/// [`unmap`](Self::unmap) also returns an event.
pub struct SliceMap<G, T: Pod, M: MapMode> {
    pointer: NonNull<T>,
    /// In elements.
    len: usize,
    pub(crate) guard: G,
    mode: PhantomData<M>,
}

// SAFETY: it owns its elements like a `Box<[T]>`; its guard is Send.
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
}

impl<K: Mappable, T: Pod, M: MapMode> SliceMap<Mapping<K>, T, M> {
    /// Returns the elements of `size` bytes that are mapped in mode `M`.
    ///
    /// # Safety
    /// The map has completed, or nothing reaches the elements before it has.
    #[inline]
    pub(crate) unsafe fn mapped(mapping: Mapping<K>, size: usize) -> Result<Self> {
        let pointer = mapping.pointer()?;
        // SAFETY: once the map has ended, the driver keeps them mapped here until the mapping is dropped or
        // unmapped, which takes the result; until then, it keeps commands and other maps away.
        Ok(unsafe { Self::new(mapping, pointer, size) })
    }
}

map_guard!([K: Mappable, T: Pod, M: MapMode] SliceMap<Mapping<K>, T, M>, K::MAP, guard);

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
