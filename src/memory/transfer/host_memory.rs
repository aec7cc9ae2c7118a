//! Host memory that commands which do not block own.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use bytemuck::Pod;

/// Host memory of plain elements that stays where it is while its owner moves: `Vec<T>`, `Box<[T]>`,
/// and ndarray's `Array` whose elements are one after the other in memory.
///
/// Commands that do not block, and buffers that use host memory, own it as long as the driver may use it, and return
/// it afterwards.
pub trait HostMemory: sealed::Stable + Send + 'static {}

pub(crate) mod sealed {
    /// # Safety
    /// The bytes are initialised, any bytes are valid in their place, and they stay where they are
    /// as long as the owner is not touched. They may be written if the owner is a
    /// [`HostMemory`](super::HostMemory).
    pub unsafe trait Stable {
        /// The type of the elements.
        type Element;

        /// Returns the address and the number of the bytes; `None` where they are not one after the other.
        fn bytes(&mut self) -> Option<(*mut u8, usize)>;
    }
}

/// Returns the address and the number of bytes of elements.
pub(super) fn bytes_of<T: Pod>(elements: &mut [T]) -> (*mut u8, usize) {
    (elements.as_mut_ptr().cast(), size_of_val(elements))
}

impl<T: Pod + Send> HostMemory for Vec<T> {}

// SAFETY: plain elements on the heap.
unsafe impl<T: Pod> sealed::Stable for Vec<T> {
    type Element = T;

    fn bytes(&mut self) -> Option<(*mut u8, usize)> {
        Some(bytes_of(self))
    }
}

impl<T: Pod + Send> HostMemory for Box<[T]> {}

// SAFETY: plain elements on the heap.
unsafe impl<T: Pod> sealed::Stable for Box<[T]> {
    type Element = T;

    fn bytes(&mut self) -> Option<(*mut u8, usize)> {
        Some(bytes_of(self))
    }
}

// SAFETY: plain elements on the heap. It is not a `HostMemory`: others may read it.
unsafe impl<T: Pod + Send + Sync> sealed::Stable for Arc<[T]> {
    type Element = T;

    fn bytes(&mut self) -> Option<(*mut u8, usize)> {
        Some((self.as_ptr().cast_mut().cast(), size_of_val(&**self)))
    }
}

/// Host memory that the driver may use. Only code that knows that the driver no longer uses it drops it, so it
/// survives unwinding. It is on the heap, so a move of this moves no owner of it.
pub(crate) struct DriverOwned<H>(ManuallyDrop<Box<H>>);

impl<H> DriverOwned<H> {
    pub(crate) fn new(memory: H) -> Self {
        Self(ManuallyDrop::new(Box::new(memory)))
    }

    pub(crate) fn as_mut(&mut self) -> &mut H {
        &mut self.0
    }

    /// Returns the memory, which the driver does not use, or no longer uses.
    pub(crate) fn end(self) -> Box<H> {
        ManuallyDrop::into_inner(self.0)
    }
}
