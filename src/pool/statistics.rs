//! The statistics of a pool, and their counters.

use std::fmt;
use std::num::Wrapping;
use std::ops::Add;

/// The statistics of a pool at one moment. `Display` prints a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Statistics {
    /// Held blocks.
    pub held_blocks: usize,
    /// Active blocks.
    pub active_blocks: usize,
    /// The size of all blocks in bytes, held and active.
    pub managed_bytes: usize,
    /// The requested bytes of active blocks.
    pub active_bytes: usize,
    /// The largest `managed_bytes` up to now.
    pub peak_managed_bytes: usize,
    /// The largest `active_bytes` at a request to the allocator or a call of this function. A pool that
    /// reports its events or leaks observes every allocation.
    pub peak_active_bytes: usize,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "          {:>12} {:>16} {:>16}", "blocks", "bytes", "at most")?;
        let Self { held_blocks, active_blocks, .. } = self;
        let row = |f: &mut fmt::Formatter<'_>, what, blocks, bytes, peak| {
            write!(f, "{what:<10}{blocks:>12} {bytes:>16} {peak:>16}")
        };
        row(f, "active", active_blocks, self.active_bytes, self.peak_active_bytes)?;
        writeln!(f)?;
        writeln!(f, "{:<10}{held_blocks:>12}", "held")?;
        let blocks = held_blocks + active_blocks;
        row(f, "managed", &blocks, self.managed_bytes, self.peak_managed_bytes)
    }
}

/// Counters of a source of blocks. Blocks may be returned to another shard, so the counters
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
    pub fn count_reuse(&mut self, requested: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_have_a_line_for_each_kind_of_block() {
        let statistics = Statistics {
            held_blocks: 2,
            active_blocks: 3,
            managed_bytes: 5120,
            active_bytes: 3000,
            peak_managed_bytes: 8192,
            peak_active_bytes: 7000,
        };
        assert_eq!(
            statistics.to_string(),
            "                blocks            bytes          at most\n\
             active               3             3000             7000\n\
             held                 2\n\
             managed              5             5120             8192"
        );
    }
}
