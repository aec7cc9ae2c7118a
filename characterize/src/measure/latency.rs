//! The time of a single access, and the caches that it shows.

use super::chase::{Chase, Cycle, GROUP, MOST_LOOPS, STEPS};
use super::clock::Budget;
use super::estimate::{Hierarchy, line_size};
use super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::measured::Sampled;
use super::sampling::{ROUNDS, sample, steps_for};
use super::series::{Point, Series};
use super::topic_spec::TopicSpec;
use super::workbench::Workbench;
use crate::facts::unanswered;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "latency",
    measurements: &["global_memory_latency", "cache_sizes", "cache_line_size"],
    weight: 5.0,
    take: |bench| Ok(Footprints::new(bench)?.measure()),
};

/// The size of a number, in bytes.
const WORD: u64 = size_of::<u32>() as u64;
/// The distance of a cycle's nodes, in words: no more than a line of most caches.
const STRIDE: u32 = 16;
/// The smallest footprint, in bytes.
const SMALLEST: u64 = 4 << 10;
/// The largest footprint, in bytes.
const LARGEST: u64 = 512 << 20;

/// The share of the time that is planned for samples; the rest is for samples that take longer.
const REST: f64 = 0.5;
/// The number of planned rounds: enough for an answer, with those that warm up and find the length of a
/// sample.
const PLANNED: usize = 10;

/// Returns the nanoseconds of each sample.
fn target(budget: &Budget, points: usize) -> f64 {
    budget.left().as_secs_f64() * 1e9 * REST / (points * PLANNED) as f64
}

/// The common part of all measurements.
struct Footprints<'b> {
    bench: &'b Workbench<'b>,
    chase: Chase<'b>,
    /// The footprints in bytes: powers of two, and values half way between them.
    sizes: Vec<u64>,
    /// The first place of each cycle, in words.
    bases: Vec<u32>,
}

/// A cycle, and how it is sampled.
struct Walk {
    footprint: u64,
    cycle: Cycle,
    /// True if the whole cycle is read before a sample.
    touch: bool,
    loops: u32,
}

impl<'b> Footprints<'b> {
    fn new(bench: &'b Workbench<'b>) -> MeasureResult<Self> {
        let most = (bench.memory.min(bench.max_alloc()?) / 2).min(LARGEST);
        let powers = (0..).map(|power| SMALLEST << power);
        let sizes = powers.flat_map(|size| [size, size / 2 * 3]);
        let sizes: Vec<u64> = sizes.take_while(|size| *size <= most).collect();
        if sizes.is_empty() {
            return Err(NotMeasurable::new(format!("{most} bytes of memory are too few")));
        }
        let (bases, words) = places(&sizes);
        Ok(Self { bench, chase: Chase::new(bench, words)?, sizes, bases })
    }

    fn measure(mut self) -> Vec<Sampled> {
        let bench = self.bench;
        let budget = bench.budget.share(0.85);
        let (found, series) = match self.hierarchy(&budget) {
            Ok((found, series)) => (found, vec![series]),
            Err(reason) => (Err(reason), Vec::new()),
        };
        let latency = found.as_ref().map_err(Clone::clone).and_then(|found| {
            let largest = found.largest_cache().unwrap_or_default();
            let most = bench.most_confidence(found.largest_footprint(), largest)?;
            Ok(found.latency()?.at_most(most))
        });
        let caches = found.as_ref().map_err(Clone::clone).and_then(Hierarchy::cache_sizes);
        let budget = bench.budget.share(0.15);
        let line = found.and_then(|found| self.line(&found, &budget)).unwrap_or_else(Sampled::from);
        let caches = Sampled::new(caches.map(not_without_doubt), series.clone());
        vec![Sampled::new(latency, series), caches, line]
    }

    fn hierarchy(&mut self, budget: &Budget) -> MeasureResult<(MeasureResult<Hierarchy>, Series)> {
        let walks = self.prepare(budget)?;
        let chase = &mut self.chase;
        let numbers: Vec<u32> = (0..walks.len() as u32).collect();
        let points = sample(budget, ROUNDS, &numbers, |number| {
            let walk = &walks[number as usize];
            if walk.touch {
                chase.touch(&walk.cycle)?;
            }
            chase.walk(&walk.cycle, walk.loops)
        })?;
        let sizes = walks.iter().map(|walk| walk.footprint as f64);
        let points: Vec<Point> =
            points.into_iter().zip(sizes).map(|(point, x)| Point { x, ..point }).collect();
        let found = Hierarchy::from_points(&points);
        let y = ("time per access", Unit::Nanoseconds);
        Ok((found, Series::new(("footprint", Unit::Bytes), y, points)))
    }

    /// Lays the cycles, from the smallest footprint to the largest for which there is time.
    fn prepare(&mut self, budget: &Budget) -> MeasureResult<Vec<Walk>> {
        /// The part of the time that this may take.
        const PART: f64 = 0.4;
        /// Evicted lines are read again, if that takes no longer than this number of samples. Longer reads
        /// are not those of a cache.
        const WORTHWHILE: f64 = 4.0;
        let target = target(budget, self.sizes.len());
        let chase = &mut self.chase;
        chase.warm_up()?;
        let mut walks: Vec<Walk> = Vec::new();
        for (footprint, base) in self.sizes.iter().zip(&self.bases) {
            let begin = budget.spent();
            let cycle = chase.lay(*base, (footprint / WORD) as u32 / STRIDE, STRIDE, 0)?;
            let touch = chase.touch(&cycle)? < WORTHWHILE * target;
            let laid = budget.spent() - begin;
            let loops = loops_for(chase, &cycle, budget, target, MOST_LOOPS)?;
            walks.push(Walk { footprint: *footprint, cycle, touch, loops });
            // The next cycle takes longer than this one.
            if budget.spent() + laid * 3 > budget.whole().mul_f64(PART) {
                break;
            }
        }
        Ok(walks)
    }

    /// Samples accesses in pairs, by the distance of the second from the first. The pairs exceed the
    /// smallest cache and fit into the next one, so that each line is fetched alone.
    fn line(&mut self, found: &Hierarchy, budget: &Budget) -> MeasureResult<Sampled> {
        /// With lines of 64 bytes, the pairs take twice the size of the cache.
        const FOOTPRINT: f64 = 16.0;
        let Some(cache) = found.smallest_cache() else {
            return Err(NotMeasurable::new("no cache with measurable lines was found"));
        };
        let most = self.sizes[self.sizes.len() - 1] / 2;
        let nodes = (FOOTPRINT * cache).min(most as f64) as u32 / (BLOCK * WORD as u32);
        let nodes = nodes / GROUP * GROUP;
        if nodes == 0 {
            return Err(NotMeasurable::new("the memory is too small for pairs of accesses"));
        }
        let chase = &mut self.chase;
        let target = target(budget, PAIRS.len());
        let lay = |(first, apart)| chase.lay(first, nodes, BLOCK, apart);
        let cycles = PAIRS.into_iter().map(lay).collect::<MeasureResult<Vec<_>>>()?;
        let loops = loops_for(chase, &cycles[0], budget, target, MOST_LOOPS)?;
        let numbers: Vec<u32> = (0..PAIRS.len() as u32).collect();
        let points = sample(budget, ROUNDS, &numbers, |number| {
            Ok(chase.walk(&cycles[number as usize], loops)? * 2.0)
        })?;
        let bytes = PAIRS.map(|(_, apart)| f64::from(apart) * WORD as f64);
        let points: Vec<Point> =
            points.into_iter().zip(bytes).map(|(point, x)| Point { x, ..point }).collect();
        let y = ("time of two accesses", Unit::Nanoseconds);
        let told =
            f64::from(self.bench.device.opencl3().global_mem_cacheline_size().map_err(unanswered)?);
        let found = line_size(&points).map(|found| doubted_unless(found, told));
        Ok(Sampled::new(found, [Series::new(("distance", Unit::Bytes), y, points)]))
    }
}

/// The size of a pair's block, in words.
const BLOCK: u32 = 256;
/// The first of two places in a block, and the distance of the second, in words. All pairs begin in the
/// same line and share no words. Both places lie in one line of a power of two of words if, and only if,
/// the line is longer than their distance.
const PAIRS: [(u32, u32); 8] =
    [(0, 1), (4, 2), (3, 4), (2, 8), (5, 16), (8, 32), (9, 64), (11, 128)];

/// Returns the number of loops that make a sample of about `target` nanoseconds.
fn loops_for(
    chase: &mut Chase,
    cycle: &Cycle,
    budget: &Budget,
    target: f64,
    most: u32,
) -> MeasureResult<u32> {
    const TRIES: usize = 4;
    steps_for(budget, target, most, |loops| {
        let mut time = f64::INFINITY;
        // A sample that seems to be long enough may have been delayed.
        for _ in 0..TRIES {
            time = time.min(chase.walk(cycle, loops)?);
            if time * f64::from(loops * STEPS) < target / 2.0 {
                break;
            }
        }
        Ok(time * f64::from(loops * STEPS))
    })
}

/// Lowers the confidence unless the driver reports the same: a cache may also fetch parts of a line, or its
/// neighbours.
fn doubted_unless(found: Finding, told: f64) -> Finding {
    if found.value == Value::Number(told) { found } else { not_without_doubt(found) }
}

/// Lowers the confidence: reads of page tables resemble another cache.
fn not_without_doubt(found: Finding) -> Finding {
    found.at_most(Confidence::Medium)
}

/// Returns the first places of the cycles of these footprints, and the number of words of all. Sixteen
/// cycles at a time share their nodes, in which each has a word of its own.
fn places(footprints: &[u64]) -> (Vec<u32>, u32) {
    let mut bases = Vec::new();
    let mut begin = 0;
    for group in footprints.rchunks(STRIDE as usize) {
        bases.extend((begin..begin + group.len() as u32).rev());
        begin += group.last().map_or(0, |largest| (largest / WORD) as u32);
    }
    bases.reverse();
    (bases, begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_share_lines_by_their_distance_alone() {
        let mut words: Vec<u32> = PAIRS.iter().flat_map(|(at, apart)| [*at, at + apart]).collect();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), 2 * PAIRS.len());
        for line in (3..8).map(|power| 1 << power) {
            for (at, apart) in PAIRS {
                assert_eq!(at / line == (at + apart) / line, line > apart, "{line} {at} {apart}");
            }
        }
    }

    #[test]
    fn cycles_share_nodes_but_no_words() {
        let footprints: Vec<u64> = (0..20).map(|power| SMALLEST << power).collect();
        let (bases, words) = places(&footprints);
        let mut owners = vec![0_u8; words as usize];
        for (footprint, base) in footprints.iter().zip(bases) {
            let nodes = footprint / WORD / u64::from(STRIDE);
            (0..nodes).for_each(|node| owners[(base + node as u32 * STRIDE) as usize] += 1);
        }
        assert!(owners.iter().all(|owners| *owners <= 1));
        assert!(u64::from(words) * WORD < SMALLEST * (1 << 19) * 11 / 10);
    }
}
