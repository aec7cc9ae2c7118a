//! This crate's pool.

use clmatrix::memory::MemFlags;
use clmatrix::pool::{DeferredAllocator, MemoryPool, PoolOptions, PooledBuffer};
use clmatrix::{CommandQueue, Context};

use crate::source::{Pool, Source};

/// The allocator below all pools that are measured.
pub fn allocator(context: &Context) -> DeferredAllocator {
    DeferredAllocator::new(context, MemFlags::READ_WRITE).expect("an allocator")
}

pub fn pool(context: &Context, options: PoolOptions) -> MemoryPool {
    MemoryPool::with_options(allocator(context), options).expect("a pool")
}

pub fn queue(context: &Context) -> CommandQueue {
    CommandQueue::new(context).expect("a queue")
}

impl Source for MemoryPool {
    type Block = PooledBuffer;

    fn allocate(&self, size: usize) -> PooledBuffer {
        Self::allocate(self, size).expect("memory")
    }
}

impl Pool for MemoryPool {
    fn reserved(&self) -> u64 {
        self.managed_bytes() as u64
    }
}
