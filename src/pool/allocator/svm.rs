//! Shared virtual memory (`pyopencl.tools.SVMAllocator`).

use std::sync::Arc;

use crate::context::Context;
use crate::queue::CommandQueue;

use super::Allocator;
use crate::error::Result;
use crate::memory::svm::allocation::SvmKind;
use crate::memory::{SvmAllocation, SvmFlags};

/// Allocates shared virtual memory (`clSVMAlloc`; `pyopencl.tools.SVMAllocator`).
///
/// Drivers report at once that no memory is left.
///
/// ```
/// use clmatrix::Class;
/// use clmatrix::memory::{SvmFlags, SvmPointer};
/// use clmatrix::pool::{Allocator, SvmAllocator};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let allocator = match SvmAllocator::new(&context, 0, SvmFlags::READ_WRITE, Some(&queue)) {
///     Err(error) if error.class() == Class::Unsupported => return Ok(()), // allocate buffers
///     allocator => allocator?,
/// };
/// let memory = allocator.allocate(1024)?.expect("more than 0 bytes");
/// assert_eq!(memory.size(), 1024);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SvmAllocator {
    // Dropped before the field that keeps its context.
    queue: Option<CommandQueue>,
    kind: SvmKind,
}

impl SvmAllocator {
    /// Creates an allocator in `context`, at multiples of `alignment` bytes (0 for the driver's choice), with
    /// `flags`; [`SvmFlags::READ_WRITE`] where they name no access. Its memory is bound to `queue`, if there is one:
    /// freed there, after the commands on the queue until then.
    ///
    /// # Errors
    /// An error of class [`Unsupported`](crate::Class::Unsupported) where no device of the context has
    /// such memory; CL_INVALID_VALUE for flags that exclude each other and for an alignment that is
    /// not a power of two up to 128; CL_INVALID_COMMAND_QUEUE for a queue that may reorder its commands,
    /// CL_INVALID_CONTEXT for one of another context; and the driver's errors.
    pub fn new(
        context: &Context,
        alignment: usize,
        flags: SvmFlags,
        queue: Option<&CommandQueue>,
    ) -> Result<Self> {
        let builder = SvmAllocation::builder(context).alignment(alignment).flags(flags);
        let kind = queue.map_or(builder, |queue| builder.queue(queue)).kind()?;
        Ok(Self { kind, queue: queue.cloned() })
    }
}

impl Allocator for SvmAllocator {
    type Memory = SvmAllocation;

    fn allocate(&self, size: usize) -> Result<Option<SvmAllocation>> {
        if size == 0 { Ok(None) } else { self.kind.allocate(size).map(Some) }
    }

    fn queue(&self) -> Option<&CommandQueue> {
        self.queue.as_ref()
    }

    fn max_size(&self) -> Option<usize> {
        self.kind.context().largest_allocation()
    }

    fn context(&self) -> Context {
        Context(Arc::clone(self.kind.context()))
    }
}
