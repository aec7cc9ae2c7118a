//! The reference: a plain port of the algorithm that PyOpenCL documents ("Memory Pools").
//!
//! A lock, a map from a bin's number to the blocks held in it, and in each handle a reference that
//! keeps the pool alive.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use clmatrix::memory::Buffer;
use clmatrix::pool::{Allocator, DeferredAllocator};

use crate::source::{Pool, Source};

const LEADING_BITS: u32 = 4;

/// The bin of a size of 1 byte or more: its exponent, and the bits after the leading one.
const fn bin_number(size: usize) -> u32 {
    let exponent = size.ilog2();
    let bits = if exponent >= LEADING_BITS {
        size >> (exponent - LEADING_BITS)
    } else {
        size << (LEADING_BITS - exponent)
    };
    (exponent << LEADING_BITS) | (bits as u32 & ((1 << LEADING_BITS) - 1))
}

/// The size of the blocks in a bin: the largest that belongs there, or one less.
const fn block_size(bin: u32) -> usize {
    let exponent = bin >> LEADING_BITS;
    let bits = (1 << LEADING_BITS) | (bin & ((1 << LEADING_BITS) - 1)) as usize;
    if exponent < LEADING_BITS {
        return bits >> (LEADING_BITS - exponent);
    }
    let below = exponent - LEADING_BITS;
    (bits << below) | ((1 << below) - 1)
}

// The answers of PyOpenCL 2026.1.4.
const _: () = {
    let known = [
        (1, 0, 1),
        (2, 16, 2),
        (3, 24, 3),
        (15, 62, 15),
        (16, 64, 16),
        (17, 65, 17),
        (31, 79, 31),
        (32, 80, 33),
        (33, 80, 33),
        (1000, 159, 1023),
        ((1 << 32) + 1, 512, 4_563_402_751),
    ];
    let mut at = 0;
    while at < known.len() {
        let (size, bin, block) = known[at];
        assert!(bin_number(size) == bin && block_size(bin) == block);
        at += 1;
    }
};

/// The pool.
pub struct Reference(Arc<Shared>);

struct Shared {
    allocator: DeferredAllocator,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bins: BTreeMap<u32, Vec<Buffer>>,
    held_blocks: u64,
    active_blocks: u64,
    managed_bytes: u64,
    active_bytes: u64,
}

/// A block that is in use.
pub struct Block {
    pool: Arc<Shared>,
    /// `None` once it has gone back.
    buffer: Option<Buffer>,
    bin: u32,
}

impl Reference {
    pub fn new(allocator: DeferredAllocator) -> Self {
        Self(Arc::new(Shared { allocator, state: Mutex::default() }))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    /// A block held in a bin, if there is one.
    fn take(&self, bin: u32) -> Option<Buffer> {
        let mut state = self.state();
        let buffer = state.bins.entry(bin).or_default().pop()?;
        state.held_blocks -= 1;
        state.active_blocks += 1;
        state.active_bytes += block_size(bin) as u64;
        Some(buffer)
    }

    fn make(&self, bin: u32) -> Buffer {
        let size = block_size(bin);
        let buffer = self.allocator.allocate(size).expect("memory").expect("more than 0 bytes");
        let mut state = self.state();
        state.active_blocks += 1;
        state.active_bytes += size as u64;
        state.managed_bytes += size as u64;
        buffer
    }

    fn give_back(&self, bin: u32, buffer: Buffer) {
        let mut state = self.state();
        state.bins.entry(bin).or_default().push(buffer);
        state.held_blocks += 1;
        state.active_blocks -= 1;
        state.active_bytes -= block_size(bin) as u64;
    }
}

impl Source for Reference {
    type Block = Block;

    fn allocate(&self, size: usize) -> Block {
        let bin = bin_number(size);
        let buffer = self.0.take(bin).unwrap_or_else(|| self.0.make(bin));
        Block { pool: Arc::clone(&self.0), buffer: Some(buffer), bin }
    }
}

impl Pool for Reference {
    fn reserved(&self) -> u64 {
        self.0.state().managed_bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.give_back(self.bin, buffer);
        }
    }
}
