//! Ranges against a model that marks every unit, and their waste.

use super::*;
use crate::pool::bin::Binning;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn suballocation(slab: usize, start: usize, len: usize) -> Suballocation {
    Suballocation { slab, start, len }
}

/// Takes the best place for `size` bytes.
fn take(ranges: &mut Ranges, size: usize) -> Option<Suballocation> {
    let best = ranges.best(size, 0)?;
    ranges.take(best);
    Some(best)
}

#[test]
fn the_best_fit_is_taken_and_a_place_that_comes_back_is_joined() {
    let mut ranges = Ranges::new(128);
    assert_eq!(take(&mut ranges, 1), None);
    // 1000 bytes are 7 places of 128 bytes.
    ranges.add(0, 1000);
    let [first, second, third, fourth] =
        [1, 129, 0, 128].map(|size| take(&mut ranges, size).unwrap());
    assert_eq!(
        [first, second, third, fourth],
        [(0, 128), (128, 256), (384, 128), (512, 128)].map(|(s, l)| suballocation(0, s, l))
    );
    ranges.release(second);
    // 256 bytes in the middle and 256 at the end: the first of equals, and the rest of it first.
    assert_eq!(take(&mut ranges, 200), Some(second));
    ranges.release(third);
    assert_eq!(take(&mut ranges, 100), Some(third));
    assert_eq!(take(&mut ranges, 300), None);
    [second, fourth, first, third]
        .into_iter()
        .for_each(|suballocation| ranges.release(suballocation));
    assert_eq!(take(&mut ranges, 896), Some(suballocation(0, 0, 896)));
    assert_eq!(take(&mut ranges, 1), None);
}

#[test]
fn places_in_shorter_ranges_are_better() {
    let mut ranges = Ranges::new(16);
    assert_eq!((ranges.len_for(17), ranges.len_for(usize::MAX)), (Some(32), None));
    ranges.add(0, 64);
    ranges.add(1, 48);
    let best = |ranges: &Ranges, size| [0, 1, 2].map(|nth| ranges.best(size, nth));
    let [first, second] = [1, 0].map(|slab| Some(suballocation(slab, 0, 16)));
    assert_eq!(best(&ranges, 16), [first, second, None]);
    assert_eq!(best(&ranges, 49), [Some(suballocation(0, 0, 64)), None, None]);
    ranges.take(suballocation(1, 0, 16));
    ranges.remove(1);
    ranges.release(suballocation(1, 0, 16));
    assert_eq!(best(&ranges, 1), [second, None, None]);
}

/// For each slab, whether each unit is free.
#[derive(Default)]
struct Model(BTreeMap<usize, Vec<bool>>);

impl Model {
    /// Free ranges: slab, start, length, in units.
    fn free(&self) -> Vec<(usize, usize, usize)> {
        let mut free: Vec<(usize, usize, usize)> = vec![];
        for (slab, units) in &self.0 {
            for start in (0..units.len()).filter(|start| units[*start]) {
                match free.last_mut() {
                    Some(last) if last.0 == *slab && last.1 + last.2 == start => last.2 += 1,
                    _ => free.push((*slab, start, 1)),
                }
            }
        }
        free
    }

    fn set(&mut self, suballocation: Suballocation, alignment: usize, is_free: bool) {
        let units = self.0.get_mut(&suballocation.slab).unwrap();
        let (start, len) = (suballocation.start / alignment, suballocation.len / alignment);
        for unit in &mut units[start..start + len] {
            assert_ne!(*unit, is_free, "{suballocation:?} overlaps another");
            *unit = is_free;
        }
    }
}

#[test]
fn ranges_are_as_in_a_model() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let alignment = 1 << random.below(5);
        let (mut ranges, mut model) = (Ranges::new(alignment), Model::default());
        let mut live: Vec<Suballocation> = vec![];
        for step in 0..600 {
            let size = random.below(alignment * 12);
            let units = size.max(1).div_ceil(alignment);
            match random.below(16) {
                0..8 => {
                    let found = take(&mut ranges, size);
                    let free = model.free().into_iter().filter(|free| free.2 >= units);
                    let best = free.min_by_key(|free| (free.2, free.0, free.1));
                    let expected = best.map(|(slab, start, _)| {
                        suballocation(slab, start * alignment, units * alignment)
                    });
                    assert_eq!(found, expected, "seed {seed}, step {step}: {size} bytes");
                    if let Some(suballocation) = found {
                        model.set(suballocation, alignment, false);
                        live.push(suballocation);
                    }
                }
                8..15 if !live.is_empty() => {
                    let suballocation = live.swap_remove(random.below(live.len()));
                    ranges.release(suballocation);
                    model.set(suballocation, alignment, true);
                }
                15 if step % 3 == 0 => {
                    let count = 8 + random.below(24);
                    ranges.add(step, count * alignment + random.below(alignment));
                    model.0.insert(step, vec![true; count]);
                }
                _ if model.0.len() > 3 => {
                    let slab = *model.0.keys().nth(random.below(model.0.len())).unwrap();
                    ranges.remove(slab);
                    model.0.remove(&slab);
                    live.retain(|suballocation| suballocation.slab != slab);
                }
                _ => {}
            }
        }
        let all: BTreeSet<_> =
            ranges.by_len.iter().map(|(len, slab, start)| (*slab, *start, *len)).collect();
        let free = model.free().into_iter();
        let free = free.map(|(slab, start, len)| (slab, start * alignment, len * alignment));
        assert_eq!(all, free.collect());
    }
}

/// A rule for memory from the allocator.
trait Policy {
    type Block;
    fn allocate(&mut self, size: usize) -> Self::Block;
    fn release(&mut self, block: Self::Block);
    fn reserved(&self) -> u64;
}

struct Slabs {
    ranges: Ranges,
    bytes: usize,
    count: usize,
}

impl Policy for Slabs {
    type Block = Suballocation;

    fn allocate(&mut self, size: usize) -> Suballocation {
        if let Some(suballocation) = take(&mut self.ranges, size) {
            return suballocation;
        }
        self.count += 1;
        self.ranges.add(self.count, self.bytes);
        take(&mut self.ranges, size).unwrap()
    }

    fn release(&mut self, suballocation: Suballocation) {
        self.ranges.release(suballocation);
    }

    fn reserved(&self) -> u64 {
        self.bytes as u64 * self.count as u64
    }
}

/// PyOpenCL's rule.
struct Blocks {
    binning: Binning,
    held: BTreeMap<u32, usize>,
    reserved: u64,
}

impl Policy for Blocks {
    type Block = u32;

    fn allocate(&mut self, size: usize) -> u32 {
        let bin = self.binning.bin(size);
        match self.held.get_mut(&bin).filter(|held| **held > 0) {
            Some(held) => *held -= 1,
            None => self.reserved += self.binning.size(bin) as u64,
        }
        bin
    }

    fn release(&mut self, bin: u32) {
        *self.held.entry(bin).or_default() += 1;
    }

    fn reserved(&self) -> u64 {
        self.reserved
    }
}

/// Reserved over active bytes, the mean over time: sizes from 64 B to 64 MiB, each power of two as often
/// as the next, 1000 at a time.
fn waste(policy: &mut impl Policy) -> f64 {
    let mut random = Random(447);
    let allocate = |policy: &mut _, random: &mut Random| {
        let unit = random.below(1 << 30) as f64 / f64::from(1 << 30);
        let size = (64.0 * (unit * 20.0).exp2()) as usize;
        (size as u64, Policy::allocate(policy, size))
    };
    let mut live: Vec<_> = (0..1000).map(|_| allocate(policy, &mut random)).collect();
    let mut active = live.iter().map(|(size, _)| size).sum::<u64>();
    let (mut ratios, steps) = (0.0, 200_000);
    for _ in 0..steps {
        let slot = random.below(live.len());
        let new = allocate(policy, &mut random);
        active += new.0;
        let (size, block) = std::mem::replace(&mut live[slot], new);
        active -= size;
        policy.release(block);
        ratios += policy.reserved() as f64 / active as f64;
    }
    ratios / f64::from(steps)
}

#[test]
fn slabs_take_half_of_what_blocks_of_their_own_take() {
    let binning = Binning::new(4).unwrap();
    let blocks = waste(&mut Blocks { binning, held: BTreeMap::new(), reserved: 0 });
    let slabs = waste(&mut Slabs { ranges: Ranges::new(128), bytes: 64 << 20, count: 0 });
    assert!(slabs <= 1.55 && slabs <= 0.52 * blocks, "{slabs}, {blocks} without slabs");
}
