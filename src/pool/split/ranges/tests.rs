//! Ranges against a model that marks every unit, and what they waste.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::pool::bin::Binning;

impl Note for BTreeSet<usize> {
    fn join(&mut self, other: Self) {
        self.extend(other);
    }
}

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

fn place(root: usize, start: usize, len: usize) -> Place {
    Place { root, start, len }
}

#[test]
fn the_best_fit_is_taken_and_what_comes_back_is_joined() {
    let mut ranges = Ranges::<()>::new(128);
    assert_eq!(ranges.take(1, &[]), None);
    let first = ranges.add(0, 1000, 1).unwrap();
    // 1000 bytes are 7 places of 128 bytes.
    assert_eq!(first, place(0, 0, 128));
    let mut take = |size| ranges.take(size, &[]).unwrap().0;
    let [second, third, fourth] = [129, 0, 128].map(&mut take);
    assert_eq!(
        [second, third, fourth],
        [(128, 256), (384, 128), (512, 128)].map(|(s, l)| place(0, s, l))
    );
    ranges.give_back(second, ());
    // 256 bytes in the middle and 256 at the end: the first of equals, and the rest of it first.
    assert_eq!(ranges.take(200, &[]).unwrap().0, second);
    ranges.give_back(third, ());
    assert_eq!(ranges.take(100, &[]).unwrap().0, third);
    assert_eq!(ranges.take(300, &[]), None);
    [second, fourth, first, third].into_iter().for_each(|place| {
        ranges.give_back(place, ());
    });
    assert_eq!(ranges.take(896, &[]).unwrap().0, place(0, 0, 896));
    assert_eq!(ranges.take(1, &[]), None);
}

#[test]
fn roots_are_chosen_added_and_removed() {
    let mut ranges = Ranges::<BTreeSet<usize>>::new(16);
    assert_eq!(ranges.add(0, 16, 17), None, "17 bytes take 32");
    assert_eq!(ranges.len_for(usize::MAX), None);
    ranges.add(0, 64, 16).unwrap();
    ranges.add(1, 64, 32).unwrap();
    assert_eq!(ranges.take(16, &[]).unwrap().0, place(1, 32, 16));
    assert_eq!(ranges.take(16, &[1]).unwrap().0, place(0, 16, 16));
    assert_eq!(ranges.take(16, &[0, 1]), None);
    let note = BTreeSet::from([7]);
    assert_eq!(ranges.give_back(place(1, 32, 16), note.clone()), None);
    assert_eq!(ranges.remove(1), BTreeMap::from([(32, (32, note.clone()))]));
    assert_eq!(ranges.give_back(place(1, 0, 32), note.clone()), Some(note));
    assert_eq!(ranges.take(17, &[]).unwrap().0, place(0, 32, 32));
    assert_eq!(ranges.take(1, &[]), None);
}

/// What is free, unit by unit, with the notes of all that was given back there.
#[derive(Default)]
struct Model(BTreeMap<usize, Vec<Option<BTreeSet<usize>>>>);

impl Model {
    /// Free ranges: root, start, length, in units, and their notes.
    fn free(&self) -> Vec<(usize, usize, usize, BTreeSet<usize>)> {
        let mut free: Vec<(usize, usize, usize, BTreeSet<usize>)> = vec![];
        for (root, units) in &self.0 {
            for (start, unit) in units.iter().enumerate() {
                let Some(note) = unit else { continue };
                match free.last_mut() {
                    Some(last) if last.0 == *root && last.1 + last.2 == start => {
                        last.2 += 1;
                        last.3.extend(note);
                    }
                    _ => free.push((*root, start, 1, note.clone())),
                }
            }
        }
        free
    }

    fn set(&mut self, place: Place, alignment: usize, unit: Option<BTreeSet<usize>>) {
        let units = self.0.get_mut(&place.root).unwrap();
        let (start, len) = (place.start / alignment, place.len / alignment);
        let is_free = unit.is_some();
        for old in &mut units[start..start + len] {
            assert_eq!(old.is_some(), !is_free, "{place:?} overlaps another");
            *old = unit.clone();
        }
    }

    /// Notes are those of a whole free range, from when it became one.
    fn spread(&mut self) {
        for (root, start, len, note) in self.free() {
            let units = self.0.get_mut(&root).unwrap();
            units[start..start + len].fill(Some(note));
        }
    }
}

#[test]
fn ranges_are_as_in_a_model() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let alignment = 1 << random.below(5);
        let (mut ranges, mut model) = (Ranges::<BTreeSet<usize>>::new(alignment), Model::default());
        let mut live: Vec<Place> = vec![];
        for step in 0..600 {
            let size = random.below(alignment * 12);
            let units = size.max(1).div_ceil(alignment);
            match random.below(16) {
                0..8 => {
                    let found = ranges.take(size, &[]);
                    let fits = |free: &&(usize, usize, usize, _)| free.2 >= units;
                    let best = model.free();
                    let best = best.iter().filter(fits).min_by_key(|free| (free.2, free.0, free.1));
                    let expected = best.map(|(root, start, _, note)| {
                        (place(*root, start * alignment, units * alignment), note.clone())
                    });
                    assert_eq!(found, expected, "seed {seed}, step {step}: {size} bytes");
                    if let Some((place, _)) = found {
                        model.set(place, alignment, None);
                        live.push(place);
                    }
                }
                8..15 if !live.is_empty() => {
                    let place = live.swap_remove(random.below(live.len()));
                    let note = BTreeSet::from([random.below(4)]);
                    assert_eq!(ranges.give_back(place, note.clone()), None);
                    model.set(place, alignment, Some(note));
                    model.spread();
                }
                15 if step % 3 == 0 => {
                    let count = 8 + random.below(24);
                    let bytes = count * alignment + random.below(alignment);
                    model.0.insert(step, vec![Some(BTreeSet::new()); count]);
                    let place = ranges.add(step, bytes, size);
                    assert_eq!(place.is_some(), units <= count);
                    match place {
                        Some(place) => {
                            model.set(place, alignment, None);
                            live.push(place);
                        }
                        None => drop(model.0.remove(&step)),
                    }
                }
                _ if model.0.len() > 3 => {
                    let root = *model.0.keys().nth(random.below(model.0.len())).unwrap();
                    let free = model.free().into_iter().filter(|free| free.0 == root);
                    let free = free
                        .map(|(_, start, len, note)| (start * alignment, (len * alignment, note)));
                    assert_eq!(ranges.remove(root), free.collect());
                    model.0.remove(&root);
                    live.retain(|place| place.root != root);
                }
                _ => {}
            }
        }
        let all: BTreeSet<_> =
            ranges.by_len.iter().map(|(len, root, start)| (*root, *start, *len)).collect();
        let free = model.free().into_iter();
        let free = free.map(|(root, start, len, _)| (root, start * alignment, len * alignment));
        assert_eq!(all, free.collect());
    }
}

/// What a rule for blocks of their own, or roots, have from the allocator.
trait Policy {
    type Block;
    fn allocate(&mut self, size: usize) -> Self::Block;
    fn give_back(&mut self, block: Self::Block);
    fn reserved(&self) -> u64;
}

struct Roots {
    ranges: Ranges<()>,
    bytes: usize,
    count: usize,
}

impl Policy for Roots {
    type Block = Place;

    fn allocate(&mut self, size: usize) -> Place {
        if let Some((place, ())) = self.ranges.take(size, &[]) {
            return place;
        }
        self.count += 1;
        self.ranges.add(self.count, self.bytes, size).unwrap()
    }

    fn give_back(&mut self, place: Place) {
        self.ranges.give_back(place, ());
    }

    fn reserved(&self) -> u64 {
        self.bytes as u64 * self.count as u64
    }
}

/// PyOpenCL's.
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

    fn give_back(&mut self, bin: u32) {
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
        policy.give_back(block);
        ratios += policy.reserved() as f64 / active as f64;
    }
    ratios / f64::from(steps)
}

#[test]
fn roots_take_half_of_what_blocks_of_their_own_take() {
    let binning = Binning::new(4).unwrap();
    let blocks = waste(&mut Blocks { binning, held: BTreeMap::new(), reserved: 0 });
    let roots = waste(&mut Roots { ranges: Ranges::new(128), bytes: 64 << 20, count: 0 });
    assert!(roots <= 1.55 && roots <= 0.52 * blocks, "{roots}, {blocks} without roots");
}
