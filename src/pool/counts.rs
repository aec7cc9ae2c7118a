//! Counters of blocks and bytes.

use std::num::Wrapping;
use std::ops::Add;

/// Counters of a source of blocks. Blocks may return to another shard than they came from, so the counters
/// of one shard may wrap below zero; the sum over all shards is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub held_blocks: Wrapping<usize>,
    pub active_blocks: Wrapping<usize>,
    /// Bytes of all blocks.
    pub managed_bytes: Wrapping<usize>,
    /// Requested bytes of active blocks.
    pub active_bytes: Wrapping<usize>,
}

impl Counts {
    /// Counts a held block that was handed out for `requested` bytes.
    #[inline]
    pub fn was_taken(&mut self, requested: usize) {
        self.held_blocks -= 1;
        self.active_blocks += 1;
        self.active_bytes += requested;
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            held_blocks: self.held_blocks + other.held_blocks,
            active_blocks: self.active_blocks + other.active_blocks,
            managed_bytes: self.managed_bytes + other.managed_bytes,
            active_bytes: self.active_bytes + other.active_bytes,
        }
    }
}
