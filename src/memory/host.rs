//! Host memory that is handed over to the driver.

use std::fmt;

use bytemuck::Pod;
use ndarray::{Array, Dimension};

use crate::error::Error;

/// Host memory of plain elements that stays where it is while its owner moves: `Vec<T>`, `Box<[T]>`,
/// and ndarray's `Array` whose elements are one after the other in memory.
///
/// Commands that do not block and buffers that use host memory own it as long as the driver may
/// reach it, and give it back afterwards.
pub trait HostMemory: sealed::Stable + Send + 'static {}

pub(crate) mod sealed {
    /// # Safety
    /// The bytes are initialised, any bytes are valid in their place, and they stay where they are
    /// as long as the owner is not touched.
    pub unsafe trait Stable {
        /// Where the bytes are, and how many; `None` where they are not one after the other.
        fn bytes(&mut self) -> Option<(*mut u8, usize)>;
    }
}

/// Why a call did not take host memory, and the memory. `?` turns it into an [`struct@Error`] and drops
/// the memory.
#[derive(thiserror::Error)]
#[error("{error}")]
pub struct Returned<H> {
    /// What went wrong.
    pub error: Error,
    /// What the call was given.
    pub memory: H,
}

impl<H> Returned<H> {
    pub(crate) fn new(error: Error, memory: H) -> Self {
        Self { error, memory }
    }
}

impl<H> From<Returned<H>> for Error {
    fn from(returned: Returned<H>) -> Self {
        returned.error
    }
}

impl<H> fmt::Debug for Returned<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

/// Where elements are, in bytes.
fn bytes_of<T: Pod>(elements: &mut [T]) -> (*mut u8, usize) {
    (elements.as_mut_ptr().cast(), size_of_val(elements))
}

impl<T: Pod + Send> HostMemory for Vec<T> {}

// SAFETY: plain elements on the heap.
unsafe impl<T: Pod> sealed::Stable for Vec<T> {
    fn bytes(&mut self) -> Option<(*mut u8, usize)> {
        Some(bytes_of(self))
    }
}

impl<T: Pod + Send> HostMemory for Box<[T]> {}

// SAFETY: plain elements on the heap.
unsafe impl<T: Pod> sealed::Stable for Box<[T]> {
    fn bytes(&mut self) -> Option<(*mut u8, usize)> {
        Some(bytes_of(self))
    }
}

impl<T: Pod + Send, D: Dimension + 'static> HostMemory for Array<T, D> {}

// SAFETY: plain elements on the heap.
unsafe impl<T: Pod, D: Dimension> sealed::Stable for Array<T, D> {
    fn bytes(&mut self) -> Option<(*mut u8, usize)> {
        self.as_slice_memory_order_mut().map(bytes_of)
    }
}
