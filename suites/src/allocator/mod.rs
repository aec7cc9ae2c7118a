//! Allocators: what they allocate can be used as any other memory of its kind, sizes and flags that
//! OpenCL rules out are refused, and nothing is kept or let go of too long or too early.

mod buffers;
mod immediate;
mod lifetime;
mod size;
mod svm;
mod threads;

use clmatrix::memory::{Buffer, MemFlags, SvmAllocation, SvmFlags};
use clmatrix::pool::{Allocator, DeferredAllocator, ImmediateAllocator, SvmAllocator};
use clmatrix::{CommandQueue, Context, Result};

/// An allocator of buffers that can be shared by threads and kept as one kind of value.
type BufferAllocator = Box<dyn Allocator<Memory = Buffer>>;

/// The allocators of buffers.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Deferred,
    Immediate,
}

use Kind::{Deferred, Immediate};

impl Kind {
    fn allocator(
        self,
        context: &Context,
        queue: &CommandQueue,
        flags: MemFlags,
    ) -> Result<BufferAllocator> {
        Ok(match self {
            Deferred => Box::new(DeferredAllocator::new(context, flags)?),
            Immediate => Box::new(ImmediateAllocator::new(queue, flags)?),
        })
    }
}

fn svm_allocator(context: &Context, queue: Option<&CommandQueue>) -> Result<SvmAllocator> {
    SvmAllocator::new(context, 0, SvmFlags::READ_WRITE, queue)
}

/// `size` bytes, which are more than none.
fn allocate<M>(allocator: &dyn Allocator<Memory = M>, size: usize) -> Result<M> {
    Ok(allocator.allocate(size)?.expect("memory for more than 0 bytes"))
}

/// Shared virtual memory from an allocator that is bound to `queue`.
fn svm(context: &Context, queue: Option<&CommandQueue>, size: usize) -> Result<SvmAllocation> {
    allocate(&svm_allocator(context, queue)?, size)
}
