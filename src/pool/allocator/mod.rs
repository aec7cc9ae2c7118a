//! Allocators of memory of a given size (PyOpenCL's `AllocatorBase`).

mod deferred;
mod immediate;
mod slab;
mod svm;
mod touch;

use std::fmt;
use std::sync::Arc;

use crate::context::Context;
use crate::queue::CommandQueue;

pub use deferred::DeferredAllocator;
pub use immediate::ImmediateAllocator;
pub use slab::SlabAllocator;
pub use svm::SvmAllocator;

use crate::error::Result;

/// An allocator of memory of a given size (PyOpenCL's `AllocatorInterface`).
///
/// Memory safety does not depend on the results of an implementation.
///
/// ```
/// use clmatrix::memory::{MemFlags, MemoryObject};
/// use clmatrix::pool::{Allocator, DeferredAllocator};
///
/// /// Memory for `n` numbers, wherever it comes from.
/// fn numbers<M>(allocator: &dyn Allocator<Memory = M>, n: usize) -> clmatrix::Result<Option<M>> {
///     allocator.allocate(n * size_of::<f32>())
/// }
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let allocator = DeferredAllocator::new(&context, MemFlags::READ_WRITE)?;
/// let buffer = numbers(&allocator, 256)?.expect("more than 0 bytes");
/// assert_eq!(MemoryObject::size(&buffer), 1024);
/// # Ok(())
/// # }
/// ```
pub trait Allocator: Send + Sync + fmt::Debug {
    /// The memory that it allocates: a [`Buffer`](crate::memory::Buffer), an
    /// [`SvmAllocation`](crate::memory::SvmAllocation), or a handle of its own.
    type Memory;

    /// Allocates `size` bytes of undefined content; `None` for 0 bytes.
    ///
    /// # Errors
    /// CL_INVALID_BUFFER_SIZE for more than [`max_size`](Self::max_size); an error of class
    /// [`OutOfMemory`](crate::Class::OutOfMemory) where memory ran out, and other errors of
    /// the driver.
    fn allocate(&self, size: usize) -> Result<Option<Self::Memory>>;

    /// Allocates as [`allocate`](Self::allocate) does, for commands on `queue`: commands that are enqueued from now
    /// on run after all earlier commands on the memory. Without a queue, these have ended. An allocator whose memory
    /// is always new need not implement it.
    ///
    /// # Errors
    /// The errors of [`allocate`](Self::allocate).
    fn allocate_for(
        &self,
        queue: Option<&CommandQueue>,
        size: usize,
    ) -> Result<Option<Self::Memory>> {
        let _ = queue;
        self.allocate(size)
    }

    /// Returns the in-order queue for which it allocates, if any.
    fn queue(&self) -> Option<&CommandQueue> {
        None
    }

    /// Returns true if memory may be allocated only when it is used, so that the use fails when memory has run out,
    /// and not [`allocate`](Self::allocate).
    fn is_deferred(&self) -> bool {
        false
    }

    /// Returns true if it reuses memory that has been dropped, so that a pool need not hold it.
    fn reuses_memory(&self) -> bool {
        false
    }

    /// Returns the most bytes of one allocation, the largest CL_DEVICE_MAX_MEM_ALLOC_SIZE of the devices that it
    /// allocates for; `None` where a device does not report it.
    fn max_size(&self) -> Option<usize>;

    /// Returns the context that it allocates in.
    fn context(&self) -> Context;
}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        impl<A: Allocator + ?Sized> Allocator for $pointer<A> {
            type Memory = A::Memory;

            fn allocate(&self, size: usize) -> Result<Option<A::Memory>> {
                (**self).allocate(size)
            }

            fn allocate_for(
                &self,
                queue: Option<&CommandQueue>,
                size: usize,
            ) -> Result<Option<A::Memory>> {
                (**self).allocate_for(queue, size)
            }

            fn queue(&self) -> Option<&CommandQueue> {
                (**self).queue()
            }

            fn is_deferred(&self) -> bool {
                (**self).is_deferred()
            }

            fn reuses_memory(&self) -> bool {
                (**self).reuses_memory()
            }

            fn max_size(&self) -> Option<usize> {
                (**self).max_size()
            }

            fn context(&self) -> Context {
                (**self).context()
            }
        }
    )*};
}

forward!(Arc, Box);
