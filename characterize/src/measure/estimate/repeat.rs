//! The expected result of another run, from samples in the order in which they were taken.

use super::summary::{Floor, Summary};
use crate::measure::finding::{Finding, MeasureResult, Unit};

/// Returns the median, with the spread of the samples and their drift, and at least the spread of `floor`.
pub fn repeatable(samples: &[f64], unit: Unit, floor: Floor) -> MeasureResult<Finding> {
    let summary = Summary::from_samples(samples);
    summary.finding_within(summary.spread() + drift(samples), floor, unit)
}

/// Returns half of the range of the medians of consecutive blocks of samples: they show slow changes, which continue
/// from one run to the next.
pub fn drift(samples: &[f64]) -> f64 {
    const BLOCKS: usize = 4;
    let blocks = samples.chunks(samples.len().div_ceil(BLOCKS).max(1));
    let medians = blocks.map(|block| Summary::from_samples(block).median);
    let (low, high) = medians.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), median| {
        (low.min(median), high.max(median))
    });
    ((high - low) / 2.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, curve};
    use super::*;

    #[test]
    fn drift_is_that_of_blocks() {
        assert_eq!(drift(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 5.0, 5.0]), 2.0);
        assert_eq!(drift(&[1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0]), 0.0);
        assert_eq!(drift(&[4.0]), 0.0);
        assert_eq!(drift(&[]), 0.0);
    }

    #[test]
    fn runs_that_drift_agree() {
        let run = |seed, from: f64| {
            let noise = Noise { drift: 0.3, ..Noise::clean(seed) };
            let samples = curve(&[1], |_| from, noise).remove(0).samples;
            repeatable(&samples, Unit::Nanoseconds, Floor::DEVICE).unwrap()
        };
        for seed in 0..500 {
            // The drift continued between the first run and the second one.
            assert!(run(seed, 100.0).agrees_with(&run(seed + 500, 115.0)), "{seed}");
            assert!(!run(seed, 100.0).agrees_with(&run(seed + 500, 200.0)), "{seed}");
        }
    }

    #[test]
    fn equal_samples_are_not_exact() {
        let found = |floor| repeatable(&[200.0; 5], Unit::Nanoseconds, floor).unwrap().spread;
        assert_eq!((found(Floor::DEVICE), found(Floor::HOST)), (2.0, 30.0));
    }
}
