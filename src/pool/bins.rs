//! Stacks of blocks, by bin.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::bin::Binning;

/// What is held of each bin; what came last goes first.
#[derive(Debug)]
pub(super) enum Bins<B> {
    /// For so few leading bits that all bins have a place.
    Dense(Dense<B>),
    /// For more.
    Sparse(BTreeMap<u32, Vec<B>>),
}

/// The stacks of all bins up to the highest that was ever used, and which have something.
#[derive(Debug)]
pub(super) struct Dense<B> {
    stacks: Vec<Vec<B>>,
    occupied: Vec<u64>,
}

impl<B> Bins<B> {
    /// Up to which number of leading bits a place for each bin is no waste: 64 KiB at most.
    const DENSE_BITS: u32 = 6;

    pub fn new(binning: Binning) -> Self {
        if binning.bits() <= Self::DENSE_BITS {
            Self::Dense(Dense { stacks: Vec::new(), occupied: Vec::new() })
        } else {
            Self::Sparse(BTreeMap::new())
        }
    }

    #[inline]
    pub fn push(&mut self, bin: u32, block: B) {
        match self {
            Self::Dense(dense) => dense.push(bin as usize, block),
            Self::Sparse(stacks) => stacks.entry(bin).or_default().push(block),
        }
    }

    /// Where it goes last.
    pub fn push_below(&mut self, bin: u32, block: B) {
        self.push(bin, block);
        if let Some(stack) = self.stack(bin) {
            stack.rotate_right(1);
        }
    }

    #[inline]
    fn stack(&mut self, bin: u32) -> Option<&mut Vec<B>> {
        match self {
            Self::Dense(dense) => dense.stacks.get_mut(bin as usize),
            Self::Sparse(stacks) => stacks.get_mut(&bin),
        }
    }

    /// The block that goes first, if it is one like this.
    #[inline]
    pub fn pop_if(&mut self, bin: u32, is_one: impl FnOnce(&B) -> bool) -> Option<B> {
        let stack = self.stack(bin)?;
        let block = stack.pop_if(|block| is_one(block))?;
        if stack.is_empty() {
            self.was_emptied(bin);
        }
        Some(block)
    }

    /// Takes out all of the bin that are like this.
    pub fn extract(&mut self, bin: u32, is_one: impl Fn(&B) -> bool, out: &mut Vec<B>) {
        let Some(stack) = self.stack(bin) else { return };
        out.extend(stack.extract_if(.., |block| is_one(block)));
        if stack.is_empty() {
            self.was_emptied(bin);
        }
    }

    #[inline]
    fn was_emptied(&mut self, bin: u32) {
        match self {
            Self::Dense(dense) => dense.occupied[bin as usize / 64] &= !(1 << (bin % 64)),
            Self::Sparse(stacks) => drop(stacks.remove(&bin)),
        }
    }

    /// The lowest of these bins that has something.
    pub fn lowest(&self, mut bins: RangeInclusive<u32>) -> Option<u32> {
        match self {
            _ if bins.is_empty() => None,
            Self::Dense(dense) => bins.find(|bin| dense.is_occupied(*bin as usize)),
            Self::Sparse(stacks) => stacks.range(bins).next().map(|(bin, _)| *bin),
        }
    }

    /// The highest bin that has something.
    pub fn highest(&self) -> Option<u32> {
        match self {
            Self::Dense(dense) => dense.highest(),
            Self::Sparse(stacks) => stacks.last_key_value().map(|(bin, _)| *bin),
        }
    }

    /// All of them, for good.
    pub fn drain(&mut self) -> Vec<B> {
        match self {
            Self::Dense(dense) => {
                dense.occupied.clear();
                std::mem::take(&mut dense.stacks).into_iter().flatten().collect()
            }
            Self::Sparse(stacks) => std::mem::take(stacks).into_values().flatten().collect(),
        }
    }
}

impl<B> Dense<B> {
    fn is_occupied(&self, bin: usize) -> bool {
        self.occupied.get(bin / 64).is_some_and(|word| word >> (bin % 64) & 1 != 0)
    }

    #[inline]
    fn push(&mut self, bin: usize, block: B) {
        if bin >= self.stacks.len() {
            self.grow(bin);
        }
        self.stacks[bin].push(block);
        self.occupied[bin / 64] |= 1 << (bin % 64);
    }

    #[cold]
    fn grow(&mut self, bin: usize) {
        self.stacks.resize_with(bin + 1, Vec::new);
        self.occupied.resize(bin / 64 + 1, 0);
    }

    fn highest(&self) -> Option<u32> {
        let word = self.occupied.iter().rposition(|word| *word != 0)?;
        Some(word as u32 * 64 + self.occupied[word].ilog2())
    }
}
