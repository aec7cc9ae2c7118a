//! What a pool has, at one moment.

use std::fmt;

use super::shelf::Counts;

/// What a pool has, at one moment. Its `Display` is a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Statistics {
    /// Blocks that wait to be used again.
    pub held_blocks: usize,
    /// Blocks that are in use.
    pub active_blocks: usize,
    /// The size of all blocks in bytes, held and active.
    pub managed_bytes: usize,
    /// What was asked for of the active blocks, in bytes.
    pub active_bytes: usize,
    /// The most that `managed_bytes` has been.
    pub peak_managed_bytes: usize,
    /// The most that `active_bytes` was seen to be, whenever the pool asked its allocator for memory and
    /// whenever somebody asked for this. A pool that tells of its events or reports leaks sees all.
    pub peak_active_bytes: usize,
}

impl Statistics {
    pub(super) fn new(counts: Counts) -> Self {
        Self {
            held_blocks: counts.held_blocks.0,
            active_blocks: counts.active_blocks.0,
            managed_bytes: counts.managed_bytes.0,
            active_bytes: counts.active_bytes.0,
            ..Self::default()
        }
    }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each() {
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
