//! Shared virtual memory behind an opaque handle (`pyopencl.SVMAllocation`).

use std::hash::{Hash, Hasher};
use std::ptr;
use std::sync::Arc;

use crate::context::Context;
use crate::event::Event;
use crate::queue::{CommandQueue, enqueue_marker};
use cl3::error_codes::{CL_INVALID_OPERATION, CL_INVALID_VALUE, CL_OUT_OF_RESOURCES};
use cl3::types::cl_uint;

use super::calls;
use super::flags::{SvmFlags, check_flags};
use super::free;
use super::memory::{Origin, Svm, SvmMemory};
use super::pointer::SvmPointer;
use crate::error::{Error, Result, in_call};
use crate::mem_context::MemContext;
use crate::memory::into_memory::device_memory;
use crate::memory::{Order, TransferError};

const CALL: &str = "clSVMAlloc";

/// The largest alignment in bytes: the size of the largest type of OpenCL C, `long16`.
pub(super) const LARGEST_ALIGNMENT: usize = 128;

/// Shared virtual memory (`clSVMAlloc`; `pyopencl.SVMAllocation`).
///
/// Clones share it. When the last clone, map and buffer of it is dropped, it is freed: on the queue that it is bound
/// to, if there is one, otherwise at once. Both happen after the commands that this crate has enqueued on it. Without
/// a queue, a drop waits for them: if they wait for a user event that the same thread sets afterwards, it never
/// returns.
///
/// On a queue, it may never be freed if an earlier command fails.
///
/// Kernels that were launched by other means than this crate are unknown here. On the queue that the memory is bound
/// to, they end before it is freed.
///
/// ```
/// use clmatrix::Class;
/// use clmatrix::memory::{SvmAllocation, SvmPointer};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let memory = match SvmAllocation::builder(&context).size(1024).queue(&queue).build() {
///     Err(error) if error.class() == Class::Unsupported => return Ok(()), // take a buffer
///     memory => memory?,
/// };
/// assert_eq!(memory.size(), 1024);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SvmAllocation {
    pub(super) memory: Arc<SvmMemory>,
    /// The number of its bytes that this handle covers, from the first on.
    size: usize,
}

/// The properties of a new [`SvmAllocation`], which [`build`](Self::build) creates.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct SvmAllocationBuilder<'a> {
    context: &'a Context,
    size: usize,
    pub(super) alignment: usize,
    flags: SvmFlags,
    queue: Option<&'a CommandQueue>,
}

impl SvmAllocation {
    /// Returns a builder of shared virtual memory in `context`.
    pub fn builder(context: &Context) -> SvmAllocationBuilder<'_> {
        let flags = SvmFlags::empty();
        SvmAllocationBuilder { context, size: 0, alignment: 0, flags, queue: None }
    }

    /// Allocates `size` bytes of undefined content at a multiple of `alignment` bytes, bound to no queue.
    ///
    /// # Errors
    /// The errors of [`SvmAllocationBuilder::build`].
    pub fn new(context: &Context, size: usize, alignment: usize, flags: SvmFlags) -> Result<Self> {
        Self::builder(context).size(size).alignment(alignment).flags(flags).build()
    }

    pub(super) fn from_memory(memory: Arc<SvmMemory>) -> Self {
        let size = memory.size();
        Self { memory, size }
    }

    /// Restricts this handle to its first `size` bytes, of at least as many.
    #[inline]
    pub(crate) fn set_size(&mut self, size: usize) {
        self.size = size;
    }

    /// Frees the memory on a queue, after its wait list and the commands that this crate has enqueued on the memory
    /// (`clEnqueueSVMFree`; PyOpenCL's `enqueue_release`). Returns the event of the free.
    ///
    /// If a command before the free fails, the memory may never be freed.
    ///
    /// # Errors
    /// With the memory: CL_INVALID_OPERATION where it has other handles, maps or buffers, and where an
    /// unmap of it failed; those of [`bind_to_queue`](Self::bind_to_queue) for the queue,
    /// CL_INVALID_CONTEXT for an event of another context, and the driver's errors. Without it: the driver's errors
    /// after the free was enqueued.
    pub fn enqueue_release<'q>(
        self,
        order: impl Into<Order<'q>>,
    ) -> std::result::Result<Event, TransferError<Option<Self>>> {
        let mut memory = Arc::try_unwrap(self.memory).map_err(|memory| {
            let reason = "the memory has other handles, maps or buffers; drop them first";
            let error = Error::refused(free::CALL, CL_INVALID_OPERATION, reason);
            TransferError::new(error, Some(Self::from_memory(memory)))
        })?;
        let Order { queue, wait_for } = order.into();
        let freed = free::in_order(free::CALL, queue, memory.context())
            .and_then(|queue| free::enqueue_after_uses(queue, &mut memory, &wait_for));
        match freed {
            Ok(event) => Ok(event),
            Err(error) => {
                let left = memory.is_allocated().then(|| Self::from_memory(Arc::new(memory)));
                Err(TransferError::new(error, left))
            }
        }
    }

    /// Makes `queue` the one on which the memory is freed (PyOpenCL's `bind_to_queue`), after the commands so far on
    /// the queue that it was bound to.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for a queue of another context, CL_INVALID_COMMAND_QUEUE for one that may
    /// reorder its commands, and the driver's errors.
    pub fn bind_to_queue(&self, queue: &CommandQueue) -> Result<()> {
        let new = free::in_order(free::CALL, queue, self.memory.context())?;
        let mut bound = self.memory.queue();
        if let Some(old) = bound.as_ref().filter(|old| *old != new) {
            new.order_after(&[enqueue_marker(old)?])?;
        }
        let old = bound.replace(new.clone());
        // The last handle of a queue flushes it, and a callback may come here: without the lock.
        drop(bound);
        drop(old);
        Ok(())
    }

    /// Makes the memory be freed without a queue (PyOpenCL's `unbind_from_queue`). Waits for all commands so far on
    /// the queue that it was bound to.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn unbind_from_queue(&self) -> Result<()> {
        let bound = self.memory.queue().take();
        bound.map_or(Ok(()), |queue| queue.finish())
    }
}

impl<'a> SvmAllocationBuilder<'a> {
    setters! {
        /// Sets the size in bytes. An allocation of 0 bytes has no memory.
        size |bytes: usize| bytes;

        /// Sets the alignment in bytes, a power of two up to 128, or 0 for the driver's choice, which suits all types
        /// of OpenCL C.
        alignment |bytes: usize| bytes;

        /// Sets the access of kernels and the granularity.
        flags |flags: SvmFlags| flags;

        /// Sets an in-order queue on which the memory is freed, after all commands on the queue until then.
        queue |queue: &'a CommandQueue| Some(queue);
    }

    /// Allocates (`clSVMAlloc`).
    ///
    /// # Errors
    /// An error of class [`Unsupported`](crate::Class::Unsupported) where no device of the context has
    /// such memory; CL_INVALID_VALUE for flags that exclude each other and for an alignment that is
    /// not allowed, CL_INVALID_BUFFER_SIZE for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every
    /// device; CL_INVALID_CONTEXT and CL_INVALID_COMMAND_QUEUE as for
    /// [`bind_to_queue`](SvmAllocation::bind_to_queue); and CL_OUT_OF_RESOURCES, of class
    /// [`OutOfMemory`](crate::Class::OutOfMemory), where the driver has no memory.
    pub fn build(self) -> Result<SvmAllocation> {
        self.kind()?.allocate(self.size)
    }

    /// Returns all but the size, checked.
    pub(crate) fn kind(self) -> Result<SvmKind> {
        let context = self.context.retained()?;
        let flags = self.flags.checked(CALL)?;
        check_flags(CALL, &context, flags)?;
        let alignment = checked_alignment(CALL, self.alignment)?;
        let queue = self.queue.map(|queue| free::in_order(CALL, queue, &context)).transpose()?;
        let queue = queue.cloned();
        Ok(SvmKind { context, flags, alignment, queue })
    }
}

/// The properties of shared virtual memory, without its size.
#[derive(Clone, Debug)]
pub(crate) struct SvmKind {
    // Dropped before the field that keeps its context.
    queue: Option<CommandQueue>,
    context: Arc<MemContext>,
    flags: SvmFlags,
    alignment: cl_uint,
}

impl SvmKind {
    pub(crate) fn context(&self) -> &Arc<MemContext> {
        &self.context
    }

    /// Allocates `size` bytes of it.
    pub(crate) fn allocate(&self, size: usize) -> Result<SvmAllocation> {
        let Self { context, flags, alignment, queue } = self;
        context.check_size(CALL, size)?;
        let pointer = if size == 0 {
            ptr::null_mut()
        } else {
            // SAFETY: the context is alive.
            unsafe { calls::alloc(context.raw(), *flags, size, *alignment) }
                .map_err(|code| not_allocated(CALL, code, size))?
        };
        let context = Arc::clone(context);
        // SAFETY: the driver has just made it in this context.
        let memory =
            unsafe { SvmMemory::from_raw_owned(pointer, size, *flags, context, Origin::Driver) };
        memory.queue().clone_from(queue);
        Ok(SvmAllocation::from_memory(Arc::new(memory)))
    }
}

/// Returns the error for a null pointer in answer to valid arguments, which is how drivers report that memory has run
/// out; cl3 reports it as CL_INVALID_VALUE.
fn not_allocated(call: &'static str, code: i32, size: usize) -> Error {
    if code != CL_INVALID_VALUE {
        return in_call(call)(code);
    }
    Error::refused(call, CL_OUT_OF_RESOURCES, format!("the driver has no {size} bytes left"))
}

fn checked_alignment(call: &'static str, alignment: usize) -> Result<cl_uint> {
    let is_legal = alignment.is_power_of_two() && alignment <= LARGEST_ALIGNMENT;
    Error::refuse_if(alignment != 0 && !is_legal, call, CL_INVALID_VALUE, || {
        format!(
            "the alignment is {alignment} bytes; it must be 0, 1, 2, 4, ... or {LARGEST_ALIGNMENT}"
        )
    })?;
    Ok(alignment as cl_uint)
}

impl SvmPointer for SvmAllocation {}

device_memory!([] SvmAllocation: dyn SvmPointer);

impl Svm for SvmAllocation {
    #[inline]
    fn memory(&self) -> &Arc<SvmMemory> {
        &self.memory
    }

    fn usable_size(&self) -> usize {
        self.size
    }
}

impl PartialEq for SvmAllocation {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }
}

impl Eq for SvmAllocation {}

impl Hash for SvmAllocation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.memory).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_checked() {
        for (alignment, allowed) in
            [(0, true), (1, true), (64, true), (128, true), (3, false), (256, false), (129, false)]
        {
            let result = checked_alignment("clSVMAlloc", alignment);
            assert_eq!(result.is_ok(), allowed, "{alignment} bytes");
        }
    }

    #[test]
    fn a_null_pointer_is_out_of_memory() {
        for (code, class) in
            [(CL_INVALID_VALUE, crate::Class::OutOfMemory), (-2001, crate::Class::Unsupported)]
        {
            assert_eq!(not_allocated("clSVMAlloc", code, 8).class(), class);
        }
    }
}
