//! Buffers as OpenCL makes them (`pyopencl.tools.DeferredAllocator`).

use std::sync::Arc;

use crate::context::Context;
use cl3::error_codes::CL_INVALID_VALUE;

use super::Allocator;
use crate::error::{Error, Result};
use crate::mem_context::MemContext;
use crate::memory::{Buffer, MemFlags};

/// Allocates buffers whose memory the driver may allocate later (`clCreateBuffer`;
/// `pyopencl.tools.DeferredAllocator`).
///
/// Many drivers allocate it in the first command that uses a buffer, which fails if memory has run out. To see that
/// in [`allocate`](Allocator::allocate), use an [`ImmediateAllocator`](super::ImmediateAllocator).
///
/// ```
/// use clmatrix::memory::MemFlags;
/// use clmatrix::pool::{Allocator, DeferredAllocator};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let allocator = DeferredAllocator::new(&context, MemFlags::READ_WRITE)?;
/// let buffer = allocator.allocate(1 << 20)?;
/// assert!(buffer.is_some() && allocator.allocate(0)?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DeferredAllocator {
    context: Arc<MemContext>,
    flags: MemFlags,
}

impl DeferredAllocator {
    /// Creates an allocator in `context`, with `flags`; [`MemFlags::READ_WRITE`] where they name no access.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for USE_HOST_PTR and COPY_HOST_PTR, and for flags that exclude each other;
    /// the driver's errors.
    pub fn new(context: &Context, flags: MemFlags) -> Result<Self> {
        Ok(Self { context: context.retained()?, flags: checked(flags)? })
    }
}

/// Checks the flags. The memory has no content, so flags for host memory are refused.
fn checked(flags: MemFlags) -> Result<MemFlags> {
    const CALL: &str = "clCreateBuffer";
    let has_data = flags.intersects(MemFlags::USE_HOST_PTR | MemFlags::COPY_HOST_PTR);
    Error::refuse_if(has_data, CALL, CL_INVALID_VALUE, || {
        "an allocator has no host data: leave out USE_HOST_PTR and COPY_HOST_PTR, and copy data to the \
         buffer once it is there"
    })?;
    flags.for_new_object(CALL)
}

impl Allocator for DeferredAllocator {
    type Memory = Buffer;

    fn allocate(&self, size: usize) -> Result<Option<Buffer>> {
        (size > 0).then(|| Buffer::in_context(&self.context, self.flags, size)).transpose()
    }

    fn is_deferred(&self) -> bool {
        true
    }

    fn max_size(&self) -> Option<usize> {
        self.context.largest_allocation()
    }

    fn context(&self) -> Context {
        Context(Arc::clone(&self.context))
    }
}
