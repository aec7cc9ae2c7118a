//! The number of banks of local memory, and their width.

use super::super::clock::Budget;
use super::super::estimate::{Fall, Period, fall, period};
use super::super::finding::{Confidence, Finding, MeasureResult, Unit, Value};
use super::super::measured::Sampled;
use super::super::series::{Point, Series};
use super::super::workbench::Workbench;
use super::chase::{Item, Pattern, time_each};

/// Strides in words of 4 bytes: the possible numbers of banks, twice the largest, and odd ones, at which
/// work items do not meet.
const STRIDES: [u32; 13] = [1, 2, 3, 4, 5, 8, 16, 32, 33, 64, 65, 128, 256];

/// The times of accesses against their stride, and their meaning.
pub(super) struct Curve {
    /// The number of work items that access memory at once.
    pub lanes: u32,
    pub period: MeasureResult<Period>,
    series: Series,
}

impl Curve {
    /// Samples accesses of `lanes` work items, a number with this confidence.
    pub fn sample(
        bench: &Workbench,
        budget: &Budget,
        (lanes, confidence): (u32, Confidence),
    ) -> MeasureResult<Self> {
        let patterns = STRIDES.map(|stride| Pattern::strided(Item::Four, lanes, stride));
        let fits = |pattern: &Pattern| pattern.bytes() as u64 <= bench.facts.local_mem_size;
        let (patterns, strides): (Vec<_>, Vec<_>) =
            patterns.into_iter().zip(STRIDES).filter(|(pattern, _)| fits(pattern)).unzip();
        let points = time_each(bench, budget, &patterns)?;
        let points = along(points, strides);
        let period = period(&points, lanes);
        Ok(Self {
            lanes,
            period: period.map(|it| Period { confidence: it.confidence.min(confidence), ..it }),
            series: series("stride in words", Unit::Count, points),
        })
    }

    /// Returns the number of banks, by their width.
    pub fn taken(&self, width: &MeasureResult<Width>) -> Sampled {
        let width = width.as_ref().map_err(Clone::clone).and_then(|width| width.fall.clone());
        let banks = self.period.clone().and_then(|period| period.banks(&width));
        let answer = banks.map(|(banks, confidence)| {
            Finding::exact(Value::Number(banks.into()), Unit::Count, confidence)
        });
        Sampled::new(answer, [self.series.clone()])
    }
}

/// The width of banks, in bytes.
pub(super) struct Width {
    fall: MeasureResult<Fall>,
    series: Series,
}

impl Width {
    /// Finds the distance between the bytes of neighbours at which every second work item reads from
    /// another bank than the others, which meet.
    pub fn measure(bench: &Workbench, budget: &Budget, curve: &Curve) -> MeasureResult<Self> {
        const DISTANCES: [u32; 7] = [0, 1, 2, 4, 8, 16, 32];
        /// Half of the work items meet then, but conflicts are not all of an access's time.
        const LEAST_GAIN: f64 = 1.2;
        const MOST_GAIN: f64 = 2.2;
        let period = curve.period.clone()?;
        let all_banks = period.words * Item::Four.size() as u32;
        let distances: Vec<u32> =
            DISTANCES.into_iter().filter(|distance| *distance < all_banks).collect();
        let pattern = |distance: &u32| {
            let start = |lane| lane * all_banks + lane % 2 * distance;
            Pattern { item: Item::One, starts: (0..curve.lanes).map(start).collect() }
        };
        let patterns: Vec<Pattern> = distances.iter().map(pattern).collect();
        let points = along(time_each(bench, budget, &patterns)?, distances);
        let fall = fall(&points, LEAST_GAIN, MOST_GAIN)
            .map(|it| Fall { confidence: it.confidence.min(period.confidence), ..it });
        Ok(Self { fall, series: series("distance", Unit::Bytes, points) })
    }

    pub fn taken(self) -> Sampled {
        let answer = self
            .fall
            .map(|fall| Finding::exact(Value::Number(fall.at), Unit::Bytes, fall.confidence));
        Sampled::new(answer, [self.series])
    }
}

/// Returns numbered points against the varied value.
fn along(points: Vec<Point>, xs: Vec<u32>) -> Vec<Point> {
    points.into_iter().zip(xs).map(|(point, x)| Point { x: x.into(), ..point }).collect()
}

fn series(x: &str, unit: Unit, points: Vec<Point>) -> Series {
    Series::new((x, unit), ("time per access", Unit::Nanoseconds), points)
}
