//! This crate's pool.

use std::sync::Arc;

use clmatrix::memory::MemFlags;
use clmatrix::pool::{DeferredAllocator, MemoryPool, PoolOptions, PooledBuffer, SlabAllocator};
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

/// A pool on slabs.
pub struct Slabs {
    pool: MemoryPool,
    slabs: Arc<SlabAllocator<DeferredAllocator>>,
}

impl Slabs {
    pub fn new(context: &Context, slab_bytes: usize) -> Self {
        let slabs = Arc::new(SlabAllocator::new(allocator(context), slab_bytes));
        Self { pool: MemoryPool::new(Arc::clone(&slabs)).expect("a pool"), slabs }
    }
}

impl Source for Slabs {
    type Block = PooledBuffer;

    fn allocate(&self, size: usize) -> PooledBuffer {
        self.pool.allocate(size).expect("memory")
    }
}

impl Pool for Slabs {
    fn reserved(&self) -> u64 {
        self.slabs.reserved_bytes() as u64
    }
}
