//! Held blocks by bin.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::bin::Binning;

/// The held blocks of each bin; the last block of a bin came last.
#[derive(Debug)]
pub(super) enum Bins<B> {
    /// All bins up to the highest that ever had a block.
    Dense(Vec<Vec<B>>),
    /// The bins that had a block, for numbers of leading bits with which most bins stay empty.
    Sparse(BTreeMap<u32, Vec<B>>),
}

impl<B> Bins<B> {
    /// The most leading bits with a place for each bin: 96 KiB at most.
    const DENSE_BITS: u32 = 6;

    pub fn new(binning: Binning) -> Self {
        if binning.bits() <= Self::DENSE_BITS {
            Self::Dense(Vec::new())
        } else {
            Self::Sparse(BTreeMap::new())
        }
    }

    #[inline]
    pub fn push(&mut self, bin: u32, block: B) {
        match self {
            Self::Dense(bins) => match bins.get_mut(bin as usize) {
                Some(blocks) => blocks.push(block),
                None => push_new(bins, bin as usize, block),
            },
            Self::Sparse(bins) => bins.entry(bin).or_default().push(block),
        }
    }

    /// Removes the block of the bin that came last, if it is selected.
    #[inline]
    pub fn pop_if(&mut self, bin: u32, is_selected: impl FnOnce(&B) -> bool) -> Option<B> {
        let blocks = match self {
            Self::Dense(bins) => bins.get_mut(bin as usize),
            Self::Sparse(bins) => bins.get_mut(&bin),
        };
        blocks?.pop_if(|block| is_selected(block))
    }

    /// Returns the blocks of these bins, the lowest bin first.
    fn range(
        &mut self,
        bins: RangeInclusive<u32>,
    ) -> Box<dyn DoubleEndedIterator<Item = &mut Vec<B>> + '_> {
        match self {
            Self::Dense(all) => {
                let end = all.len().min((*bins.end() as usize).saturating_add(1));
                Box::new(all[..end].iter_mut().skip(*bins.start() as usize))
            }
            Self::Sparse(all) => Box::new(all.range_mut(bins).map(|(_, blocks)| blocks)),
        }
    }

    /// Returns up to `most` blocks, lower bins first, and those of a bin that came last first.
    pub fn last(&mut self, bins: RangeInclusive<u32>, most: usize) -> impl Iterator<Item = &B> {
        self.range(bins).flat_map(|blocks| blocks.iter().rev()).take(most)
    }

    /// Removes the first selected block of those that [`last`](Self::last) returns. Moves the blocks before it behind
    /// the others of their bins, so that the next call tries other blocks.
    pub fn take_last(
        &mut self,
        bins: RangeInclusive<u32>,
        most: usize,
        is_selected: impl Fn(&B) -> bool,
    ) -> Option<B> {
        let mut left = most;
        for blocks in self.range(bins) {
            let inspected = blocks.len().min(left);
            let found = blocks.iter().rev().take(inspected).position(&is_selected);
            let taken = found.map(|nth| blocks.remove(blocks.len() - 1 - nth));
            blocks.rotate_right(found.unwrap_or(inspected));
            if taken.is_some() {
                return taken;
            }
            left -= inspected;
        }
        None
    }

    /// Returns a block of the highest bin that has one.
    pub fn highest(&mut self) -> Option<&B> {
        self.range(0..=u32::MAX).rev().find_map(|blocks| blocks.last())
    }

    /// Removes the selected blocks.
    pub fn extract(&mut self, is_selected: impl Fn(&B) -> bool) -> Vec<B> {
        let bins = self.range(0..=u32::MAX);
        bins.flat_map(|blocks| blocks.extract_if(.., |block| is_selected(block))).collect()
    }
}

#[cold]
fn push_new<B>(bins: &mut Vec<Vec<B>>, bin: usize, block: B) {
    bins.resize_with(bin + 1, Vec::new);
    bins[bin].push(block);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bins: &mut Bins<i32>) -> Vec<i32> {
        bins.last(0..=u32::MAX, usize::MAX).copied().collect()
    }

    #[test]
    fn blocks_that_are_not_selected_are_looked_at_last() {
        for bits in [4, Binning::MAX_BITS] {
            let mut bins = Bins::new(Binning::new(bits).unwrap());
            (0..6).for_each(|block| bins.push(7, block));
            (10..12).for_each(|block| bins.push(9, block));
            assert_eq!(all(&mut bins), [5, 4, 3, 2, 1, 0, 11, 10]);
            assert_eq!(bins.take_last(7..=9, 4, |block| *block == 3), Some(3));
            assert_eq!(all(&mut bins), [2, 1, 0, 5, 4, 11, 10]);
            assert_eq!(bins.take_last(7..=9, 3, |block| *block > 5), None);
            assert_eq!(all(&mut bins), [5, 4, 2, 1, 0, 11, 10]);
            assert_eq!(bins.take_last(7..=9, 6, |block| *block > 5), Some(11));
            assert_eq!(bins.highest(), Some(&10));
            assert_eq!(bins.take_last(8..=9, 6, |_| true), Some(10));
            assert_eq!((bins.highest().is_some(), all(&mut bins).len()), (true, 5));
            assert_eq!([bins.pop_if(8, |_| true), bins.pop_if(700, |_| true)], [None; 2]);
            assert_eq!(bins.extract(|block| block % 2 == 0), [0, 2, 4]);
            assert_eq!([bins.pop_if(7, |_| false), bins.pop_if(7, |_| true)], [None, Some(5)]);
        }
    }
}
