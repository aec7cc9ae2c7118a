//! A curve that falls once, from one level to another.

use super::Summary;
use crate::measure::finding::{Confidence, MeasureResult, NotMeasurable};
use crate::measure::series::Point;

/// The place at which a curve falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// The first point of the lower level.
    pub at: f64,
    pub confidence: Confidence,
}

/// Finds the place at which times fall, once, to between `1 / most` and `1 / least` of the level before.
pub fn fall(points: &[Point], least: f64, most: f64) -> MeasureResult<Fall> {
    let times: Vec<Summary> =
        points.iter().map(|point| Summary::from_samples(&point.samples)).collect();
    let splits = 1..points.len();
    let levels = splits.map(|split| Levels::new(&times, split));
    let best = levels
        .min_by(|a, b| a.off.total_cmp(&b.off))
        .ok_or_else(|| NotMeasurable::new("fewer than two points"))?;
    let ratio = best.high / best.low;
    // The condition is not negated, so that NaN is outside the range.
    if !(least..=most).contains(&ratio) {
        return Err(NotMeasurable::new(format!(
            "the two levels differ by a factor of {ratio:.2}, not {least} to {most}"
        )));
    }
    if best.off > DOUBTFUL {
        return Err(NotMeasurable::new("the times do not drop from one level to another"));
    }
    if best.spread > DOUBTFUL {
        return Err(NotMeasurable::new("too noisy to tell whether the times drop"));
    }
    let is_clear = best.off.max(best.spread) <= CLEAR;
    let confidence = if is_clear { Confidence::High } else { Confidence::Medium };
    Ok(Fall { at: points[best.split].x, confidence })
}

/// Points that lie within this share of the fall from their level belong to it without doubt.
const CLEAR: f64 = 0.15;
/// Points that lie beyond this share may belong to the other level.
const DOUBTFUL: f64 = 0.3;

/// A curve cut in two.
struct Levels {
    split: usize,
    high: f64,
    low: f64,
    /// The distance of a point's median from its level, as a share of the fall.
    off: f64,
    /// The spread of a point's samples, as a share of the fall.
    spread: f64,
}

impl Levels {
    fn new(times: &[Summary], split: usize) -> Self {
        let level = |times: &[Summary]| {
            let medians: Vec<f64> = times.iter().map(|time| time.median).collect();
            Summary::from_samples(&medians).median
        };
        let (before, after) = times.split_at(split);
        let (high, low) = (level(before), level(after));
        let fall = high - low;
        let off = |times: &[Summary], level: f64| {
            times.iter().map(|time| (time.median - level).abs()).fold(0.0, f64::max)
        };
        let spread = times.iter().map(|time| time.spread()).fold(0.0, f64::max);
        let share = |of: f64| if fall > 0.0 { of / fall } else { f64::INFINITY };
        let off = off(before, high).max(off(after, low));
        Self { split, high, low, off: share(off), spread: share(spread) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, curve};
    use super::*;

    const RUNS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

    /// Returns times as those of work items that go `width` in step.
    fn divergence(width: u32, noise: Noise) -> Vec<Point> {
        let time = |run: u32| match run {
            run if run < width => 2.0,
            256 => 0.95,
            _ => 1.0,
        };
        curve(&RUNS, time, noise)
    }

    #[test]
    fn a_clear_fall_is_found() {
        for seed in 0..1000 {
            for width in [2, 4, 8, 16, 32, 64, 128] {
                for noise in [Noise::clean(seed), Noise::drifting(seed)] {
                    let fall = fall(&divergence(width, noise), 1.4, 2.6).unwrap();
                    let expected = Fall { at: width.into(), confidence: Confidence::High };
                    assert_eq!(fall, expected, "{noise:?}");
                }
            }
        }
    }

    /// Returns times as those of work items that all meet at a bank, or half of them.
    fn banks(width: u32, noise: Noise) -> Vec<Point> {
        let distances = [0, 1, 2, 4, 8, 16, 32];
        curve(&distances, |distance| if distance < width { 46.2 } else { 30.0 }, noise)
    }

    #[test]
    fn what_is_found_with_high_confidence_is_right() {
        let sure = |points: &[Point], least, most| {
            let fall = fall(points, least, most).ok()?;
            (fall.confidence == Confidence::High).then_some(fall.at)
        };
        let mut found = 0;
        for seed in 0..1500 {
            let noise = Noise::any(seed);
            for width in [2, 8, 32, 64] {
                let at = sure(&divergence(width, noise), 1.4, 2.6);
                assert!(at.is_none_or(|at| at == f64::from(width)), "{width} {noise:?}");
                found += usize::from(at.is_some());
            }
            for width in [2, 4, 8] {
                let at = sure(&banks(width, noise), 1.2, 2.2);
                assert!(at.is_none_or(|at| at == f64::from(width)), "{width} {noise:?}");
                found += usize::from(at.is_some());
            }
        }
        assert!(found > 2500, "{found}");
    }

    #[test]
    fn what_is_flat_does_not_fall() {
        for seed in 0..3000 {
            let noise = Noise::any(seed);
            for (least, most) in [(1.4, 2.6), (1.2, 2.2)] {
                let fall = fall(&curve(&RUNS, |_| 1.0, noise), least, most);
                let confidence = fall.map(|fall| fall.confidence);
                assert_ne!(confidence, Ok(Confidence::High), "{noise:?}");
            }
        }
        assert!(fall(&curve(&RUNS, |_| 1.0, Noise::clean(0)), 1.4, 2.6).is_err());
        assert!(fall(&curve(&RUNS, f64::from, Noise::clean(0)), 1.4, 2.6).is_err());
        assert!(fall(&curve(&RUNS[..1], |_| 1.0, Noise::clean(0)), 1.4, 2.6).is_err());
    }
}
