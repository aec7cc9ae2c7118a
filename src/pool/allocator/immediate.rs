//! Buffers whose memory is allocated at once (`pyopencl.tools.ImmediateAllocator`).

use crate::context::Context;
use crate::queue::{CommandQueue, QueueProperties};
use cl3::error_codes::CL_INVALID_BUFFER_SIZE;

use super::touch::touch;
use super::{Allocator, DeferredAllocator};
use crate::error::{Error, Result};
use crate::mem_context::largest_allocation;
use crate::memory::{Buffer, MemFlags};

/// Allocates buffers, and makes the driver allocate their memory on a queue's device at once (`clCreateBuffer`,
/// `clEnqueueMigrateMemObjects`; `pyopencl.tools.ImmediateAllocator`).
///
/// [`allocate`](Allocator::allocate) waits for the command, so it fails if memory has run out. The command is on a
/// queue of the allocator's own. PyOpenCL's allocator migrates on the given queue and does not wait, so a buffer that
/// is used on another queue meanwhile may lose its content.
///
/// ```
/// use clmatrix::memory::{MemFlags, enqueue_fill};
/// use clmatrix::pool::{Allocator, ImmediateAllocator};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let queue = clmatrix::CommandQueue::new(&context)?;
/// let allocator = ImmediateAllocator::new(&queue, MemFlags::READ_WRITE)?;
/// let buffer = allocator.allocate(1 << 20)?.expect("more than 0 bytes");
/// enqueue_fill(&queue, &buffer, &1.0_f32, ..)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ImmediateAllocator {
    // The queues are dropped before the field that keeps their context.
    queue: Option<CommandQueue>,
    /// For the first command on each buffer, so that no command of the program makes it wait.
    own_queue: CommandQueue,
    buffers: DeferredAllocator,
    /// CL_DEVICE_MAX_MEM_ALLOC_SIZE of the queue's device, in bytes.
    max_size: Option<usize>,
}

impl ImmediateAllocator {
    /// Creates an allocator in the context of `queue`, on its device, with `flags`;
    /// [`MemFlags::READ_WRITE`] where they name no access.
    ///
    /// A queue that may reorder its commands only selects the device: [`queue`](Allocator::queue) is `None` then.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for USE_HOST_PTR and COPY_HOST_PTR, and for flags that exclude each other;
    /// CL_INVALID_DEVICE for a foreign queue whose device its context does not list; the driver's errors.
    pub fn new(queue: &CommandQueue, flags: MemFlags) -> Result<Self> {
        let context = queue.context();
        Ok(Self {
            queue: queue.is_in_order().then(|| queue.clone()),
            buffers: DeferredAllocator::new(&context, flags)?,
            own_queue: CommandQueue::on_device(&context, queue.device(), QueueProperties::empty())?,
            max_size: largest_allocation(queue.device()),
        })
    }
}

impl Allocator for ImmediateAllocator {
    type Memory = Buffer;

    fn allocate(&self, size: usize) -> Result<Option<Buffer>> {
        // Another device of the context may allow more; this one would report that memory has run out.
        let most = self.max_size.unwrap_or(usize::MAX);
        Error::refuse_if(size > most, "clCreateBuffer", CL_INVALID_BUFFER_SIZE, || {
            format!("the size is {size} bytes, the device allocates at most {most} at once")
        })?;
        let buffer = self.buffers.allocate(size)?;
        if let Some(buffer) = &buffer {
            touch(&self.own_queue, buffer)?;
        }
        Ok(buffer)
    }

    fn queue(&self) -> Option<&CommandQueue> {
        self.queue.as_ref()
    }

    fn max_size(&self) -> Option<usize> {
        self.max_size
    }

    fn context(&self) -> Context {
        self.buffers.context()
    }
}
