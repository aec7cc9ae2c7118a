//! Stacks of blocks, by bin.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use super::bin::Binning;
use super::stack::{Linked, Stack};

/// What is held of each bin; what came last goes first.
#[derive(Debug)]
pub(super) struct Bins<B: Linked> {
    stacks: Stacks<B>,
    /// What lies below a stack that is not empty; what came first goes first.
    below: BTreeMap<u32, VecDeque<B>>,
}

#[derive(Debug)]
enum Stacks<B: Linked> {
    /// For so few leading bits that all bins have a place.
    Dense(Dense<B>),
    /// For more.
    Sparse(BTreeMap<u32, Stack<B>>),
}

/// The stacks of all bins up to the highest that was ever used, and which have something.
#[derive(Debug)]
struct Dense<B: Linked> {
    stacks: Vec<Stack<B>>,
    occupied: Vec<u64>,
}

impl<B: Linked> Bins<B> {
    /// Up to which number of leading bits a place for each bin is no waste: 32 KiB at most.
    const DENSE_BITS: u32 = 6;

    pub fn new(binning: Binning) -> Self {
        let stacks = if binning.bits() <= Self::DENSE_BITS {
            Stacks::Dense(Dense { stacks: Vec::new(), occupied: Vec::new() })
        } else {
            Stacks::Sparse(BTreeMap::new())
        };
        Self { stacks, below: BTreeMap::new() }
    }

    #[inline]
    pub fn push(&mut self, bin: u32, block: B) {
        self.stacks.push(bin, block);
    }

    /// Where it goes last.
    pub fn push_below(&mut self, bin: u32, block: B) {
        match self.stacks.get(bin) {
            Some(stack) if !stack.is_empty() => {
                self.below.entry(bin).or_default().push_back(block);
            }
            _ => self.stacks.push(bin, block),
        }
    }

    /// The block that goes first, if it is one like this.
    #[inline]
    pub fn pop_if(&mut self, bin: u32, is_one: impl FnOnce(&B) -> bool) -> Option<B> {
        let stack = self.stacks.get(bin)?;
        let block = stack.pop_if(is_one)?;
        if stack.is_empty() {
            self.was_emptied(bin);
        }
        Some(block)
    }

    /// Takes out all of the bin that are like this.
    pub fn extract(&mut self, bin: u32, is_one: impl Fn(&B) -> bool, out: &mut Vec<B>) {
        let Some(stack) = self.stacks.get(bin) else { return };
        stack.extract(&is_one, out);
        let is_empty = stack.is_empty();
        if let Some(below) = self.below.remove(&bin) {
            let (extracted, left): (VecDeque<_>, VecDeque<_>) = below.into_iter().partition(is_one);
            out.extend(extracted);
            if !left.is_empty() {
                self.below.insert(bin, left);
            }
        }
        if is_empty {
            self.was_emptied(bin);
        }
    }

    /// A stack has nothing any more: what lies below it is raised, or the bin has nothing.
    #[inline]
    fn was_emptied(&mut self, bin: u32) {
        if self.below.is_empty() || !self.raise(bin) {
            self.stacks.was_emptied(bin);
        }
    }

    #[cold]
    fn raise(&mut self, bin: u32) -> bool {
        let Some(below) = self.below.get_mut(&bin) else { return false };
        let first = below.pop_front();
        if below.is_empty() {
            self.below.remove(&bin);
        }
        first.map(|block| self.stacks.push(bin, block)).is_some()
    }

    /// The lowest of these bins that has something.
    pub fn lowest(&self, mut bins: RangeInclusive<u32>) -> Option<u32> {
        match &self.stacks {
            _ if bins.is_empty() => None,
            Stacks::Dense(dense) => bins.find(|bin| dense.is_occupied(*bin as usize)),
            Stacks::Sparse(stacks) => stacks.range(bins).next().map(|(bin, _)| *bin),
        }
    }

    /// The highest bin that has something.
    pub fn highest(&self) -> Option<u32> {
        match &self.stacks {
            Stacks::Dense(dense) => dense.highest(),
            Stacks::Sparse(stacks) => stacks.last_key_value().map(|(bin, _)| *bin),
        }
    }

    /// All of them, for good.
    pub fn drain(&mut self) -> Vec<B> {
        let mut drained = self.stacks.drain();
        drained.extend(std::mem::take(&mut self.below).into_values().flatten());
        drained
    }
}

impl<B: Linked> Stacks<B> {
    #[inline]
    fn get(&mut self, bin: u32) -> Option<&mut Stack<B>> {
        match self {
            Self::Dense(dense) => dense.stacks.get_mut(bin as usize),
            Self::Sparse(stacks) => stacks.get_mut(&bin),
        }
    }

    #[inline]
    fn push(&mut self, bin: u32, block: B) {
        match self {
            Self::Dense(dense) => dense.push(bin as usize, block),
            Self::Sparse(stacks) => push_sparse(stacks, bin, block),
        }
    }

    #[inline]
    fn was_emptied(&mut self, bin: u32) {
        match self {
            Self::Dense(dense) => dense.occupied[bin as usize / 64] &= !(1 << (bin % 64)),
            Self::Sparse(stacks) => remove_sparse(stacks, bin),
        }
    }

    fn drain(&mut self) -> Vec<B> {
        match self {
            Self::Dense(dense) => {
                dense.occupied.clear();
                std::mem::take(&mut dense.stacks).into_iter().flatten().collect()
            }
            Self::Sparse(stacks) => std::mem::take(stacks).into_values().flatten().collect(),
        }
    }
}

// By themselves, so that what is done with dense stacks is short.

#[inline(never)]
fn push_sparse<B: Linked>(stacks: &mut BTreeMap<u32, Stack<B>>, bin: u32, block: B) {
    stacks.entry(bin).or_default().push(block);
}

#[inline(never)]
fn remove_sparse<B: Linked>(stacks: &mut BTreeMap<u32, Stack<B>>, bin: u32) {
    stacks.remove(&bin);
}

impl<B: Linked> Dense<B> {
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
        self.stacks.resize_with(bin + 1, Stack::default);
        self.occupied.resize(bin / 64 + 1, 0);
    }

    fn highest(&self) -> Option<u32> {
        let word = self.occupied.iter().rposition(|word| *word != 0)?;
        Some(word as u32 * 64 + self.occupied[word].ilog2())
    }
}
