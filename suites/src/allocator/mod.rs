//! Allocators: what they allocate can be used as any other memory of its kind, sizes and flags that
//! OpenCL rules out are refused, and nothing is kept or let go of too long or too early.

mod buffers;
mod immediate;
mod lifetime;
mod size;
mod svm;
mod threads;

use clmatrix::memory::{Buffer, MemFlags, SvmFlags, SvmPointer, enqueue_copy, enqueue_fill};
use clmatrix::pool::{Allocator, DeferredAllocator, ImmediateAllocator, SvmAllocator};
use clmatrix::{Class, CommandQueue, Context, Device, Result};
use clmatrix_harness::skip;
use rstest::rstest;

use crate::buffer::{DOUBLE, contents, counting, refusal};
use crate::pool::kind::Kind as _;
use crate::support::gate::{gate, open};
use crate::support::on_device::*;
use crate::support::unanswered;

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
    fn allocator(self, on_device: &OnDevice) -> Result<BufferAllocator> {
        self.with_flags(on_device, MemFlags::READ_WRITE)
    }

    fn with_flags(self, on_device: &OnDevice, flags: MemFlags) -> Result<BufferAllocator> {
        Ok(match self {
            Deferred => Box::new(DeferredAllocator::new(&on_device.context, flags)?),
            Immediate => Box::new(ImmediateAllocator::new(&on_device.queue, flags)?),
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
