//! The size of a cache's lines, from the cost of a second access at a distance from the first.

use super::{Summary, undrifted};
use crate::measure::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use crate::measure::series::Point;

/// Costs are shares of the cost of an access that is far away. An access that costs less than this is in
/// the same line.
const FREE: f64 = 0.25;
/// An access that costs less than the first share is surely in the same line; one that costs more than the
/// second is surely in another.
const SURELY_FREE: f64 = 0.1;
const SURELY_PAID: f64 = 0.75;
/// The least difference by an access far away, as a share of the time of two accesses to one line.
const LEAST_RISE: f64 = 0.1;

/// Finds the size by the times of both accesses, in the order of their distance in bytes.
pub fn line_size(points: &[Point]) -> MeasureResult<Finding> {
    let samples = undrifted(points);
    // Other load on a device makes accesses longer, never shorter.
    let times: Vec<Summary> =
        samples.iter().map(|samples| Summary::from_samples(samples)).collect();
    let near = times[0].low;
    let last: Vec<f64> = times.iter().rev().take(2).map(|time| time.low).collect();
    let rise = Summary::from_samples(&last).median - near;
    let spreads: Vec<f64> = times.iter().map(|time| time.spread()).collect();
    let noise = Summary::from_samples(&spreads).median;
    if rise < near * LEAST_RISE || rise < 3.0 * noise {
        return Err(NotMeasurable::new(format!(
            "a second access takes as long {} behind the first as {} behind it",
            Unit::Bytes.write(points[0].x),
            Unit::Bytes.write(points[points.len() - 1].x),
        )));
    }
    let costs: Vec<f64> = times.iter().map(|time| (time.low - near) / rise).collect();
    let free = costs.iter().take_while(|cost| **cost < FREE).count();
    let paid = &costs[free..];
    if free < 2 || paid.len() < 2 || paid.iter().any(|cost| *cost < FREE) {
        return Err(NotMeasurable::new(
            "the time of a second access does not rise at one distance and stay there",
        ));
    }
    let is_clear = costs[..free].iter().all(|cost| *cost < SURELY_FREE)
        && paid.iter().all(|cost| *cost > SURELY_PAID);
    let is_quiet = times[..=free].iter().all(|time| time.spread() < SURELY_FREE * rise);
    let confidence = match (is_clear, is_quiet) {
        (true, true) => Confidence::High,
        (true, false) | (false, true) => Confidence::Medium,
        (false, false) => Confidence::Low,
    };
    Ok(Finding::exact(Value::Number(points[free].x), Unit::Bytes, confidence))
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, curve};
    use super::*;

    const DISTANCES: [u32; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
    const LINES: [u32; 4] = [32, 64, 128, 256];

    /// Returns times of both accesses. An access to a cached line costs `hit`.
    fn times(line: u32, hit: f64, miss: f64, noise: Noise) -> Vec<Point> {
        curve(&DISTANCES, |far| miss + if far < line { hit } else { miss }, noise)
    }

    #[test]
    fn lines_are_found() {
        for line in LINES {
            for (hit, miss) in [(30.0, 500.0), (1.5, 90.0), (40.0, 200.0)] {
                for seed in 0..100 {
                    let noisy = Noise { width: 0.05, ..Noise::clean(seed) };
                    let outliers = Noise { outliers: 0.1, ..Noise::clean(seed) };
                    for noise in [Noise::clean(seed), Noise::drifting(seed), noisy, outliers] {
                        let found = line_size(&times(line, hit, miss, noise));
                        let found = found.unwrap_or_else(|reason| panic!("{noise:?}: {reason}"));
                        assert_eq!(found.value, Value::Number(line.into()), "{noise:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn clean_and_drifting_series_leave_no_doubt() {
        for seed in 0..100 {
            for noise in [Noise::clean(seed), Noise { drift: 1.0, ..Noise::clean(seed) }] {
                let found = line_size(&times(64, 30.0, 400.0, noise)).unwrap();
                assert_eq!(found.confidence, Confidence::High, "{noise:?}");
            }
        }
    }

    #[test]
    fn no_noise_makes_a_wrong_answer_sure() {
        for line in LINES {
            for seed in 0..2000 {
                let noise = Noise::any(seed);
                if let Ok(found) = line_size(&times(line, 30.0, 200.0, noise)) {
                    let sure = found.confidence == Confidence::High;
                    let right = found.value == Value::Number(line.into());
                    assert!(right || !sure, "{noise:?}: {found}, not {line}");
                }
            }
        }
    }

    #[test]
    fn a_flat_series_has_no_line() {
        for seed in 0..2000 {
            let flat = |noise| line_size(&curve(&DISTANCES, |_| 100.0, noise));
            for noise in [Noise::clean(seed), Noise::drifting(seed)] {
                assert!(flat(noise).is_err(), "{noise:?}");
            }
            let found = flat(Noise::any(seed));
            let sure = found.is_ok_and(|found| found.confidence == Confidence::High);
            assert!(!sure, "{:?}", Noise::any(seed));
        }
    }

    #[test]
    fn a_neighbour_that_is_fetched_too_leaves_doubt() {
        let time =
            |far| 400.0 + [30.0, 200.0, 400.0][usize::from(far >= 64) + usize::from(far > 64)];
        let found = line_size(&curve(&DISTANCES, time, Noise::clean(0))).unwrap();
        assert_eq!((found.value, found.confidence), (Value::Number(64.0), Confidence::Medium));
    }
}
