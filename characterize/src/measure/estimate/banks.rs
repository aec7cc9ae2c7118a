//! The number of banks of local memory, from the time of accesses against their stride.

use super::{Fall, Summary, common_divisor};
use crate::measure::finding::{Confidence, MeasureResult, NotMeasurable};
use crate::measure::series::Point;

/// The part of local memory after which the banks repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// The number of words of 4 bytes, which is that of the banks if these are 4 bytes wide.
    pub words: u32,
    pub confidence: Confidence,
}

impl Period {
    /// Returns the number of banks, by their measured width in bytes. Without a width, 4 bytes are a guess.
    pub fn banks(self, width: &MeasureResult<Fall>) -> MeasureResult<(u32, Confidence)> {
        let bytes = self.words * WORD;
        let (width, confidence) = match width {
            Ok(width) => (width.at as u32, width.confidence),
            Err(_) => (WORD, Confidence::Low),
        };
        let banks = bytes.checked_div(width).filter(|banks| banks * width == bytes);
        match banks.filter(|banks| CANDIDATES.contains(banks)) {
            Some(banks) => Ok((banks, self.confidence.min(confidence))),
            None => Err(NotMeasurable::new(format!(
                "the pattern of banks {width} bytes wide does not repeat after {bytes}"
            ))),
        }
    }
}

/// The size of a word, in bytes.
const WORD: u32 = 4;
/// The possible numbers of banks.
const CANDIDATES: [u32; 5] = [8, 16, 32, 64, 128];

/// Returns the number of `lanes` work items that meet at the busiest bank if each accesses the `stride`-th
/// word after the one before.
pub fn meeting(banks: u32, lanes: u32, stride: u32) -> u32 {
    let used = banks / common_divisor(stride.into(), banks.into()) as u32;
    lanes.div_ceil(used).max(1)
}

/// Finds the period by times per access of `lanes` work items at once, against strides in words of 4 bytes.
/// Each further work item at a bank adds the same time.
pub fn period(points: &[Point], lanes: u32) -> MeasureResult<Period> {
    /// The least slowdown by conflicts, as a share.
    const SLOWER: f64 = 0.25;
    let times: Vec<Summary> =
        points.iter().map(|point| Summary::from_samples(&point.samples)).collect();
    let strides: Vec<u32> = points.iter().map(|point| point.x as u32).collect();
    let medians = times.iter().map(|time| time.median);
    let (fastest, slowest) =
        (medians.clone().fold(f64::INFINITY, f64::min), medians.fold(0.0, f64::max));
    if slowest < fastest * (1.0 + SLOWER) {
        return Err(NotMeasurable::new(format!(
            "an access takes the same time at any stride, {fastest:.3} to {slowest:.3} ns"
        )));
    }
    let widest = strides.iter().copied().max().unwrap_or_default();
    // The samples must have a stride of more words than there are banks, at which accesses get no slower.
    let candidates = CANDIDATES.into_iter().filter(|banks| banks * 2 <= widest);
    let mut fits: Vec<Fit> =
        candidates.map(|banks| Fit::new(banks, lanes, &strides, &times)).collect();
    fits.sort_by(|a, b| a.off.total_cmp(&b.off));
    match fits.as_slice() {
        [best, ..] if best.spread > DOUBTFUL => {
            Err(NotMeasurable::new("too noisy to tell the cost of conflicts"))
        }
        [best, rest @ ..] if best.off <= DOUBTFUL => {
            if let Some(other) = rest.first().filter(|other| other.off < best.off + DOUBTFUL / 2.0)
            {
                let (best, other) = (best.banks, other.banks);
                let reason =
                    format!("the times fit {best} banks of 4 bytes hardly better than {other}");
                return Err(NotMeasurable::new(reason));
            }
            Ok(Period { words: best.banks, confidence: best.confidence() })
        }
        _ => Err(NotMeasurable::new("the times fit no number of banks of 4 bytes")),
    }
}

/// Points fit the model if they lie within this share of the slowest access's delay from it.
const CLEAR: f64 = 0.1;
/// Points that lie beyond this share do not fit.
const DOUBTFUL: f64 = 0.2;

/// A straight line through the times against the number of work items that meet.
struct Fit {
    banks: u32,
    /// The residual of a point, relative to the worst conflict.
    off: f64,
    /// The spread of a point's samples, relative to the worst conflict.
    spread: f64,
}

impl Fit {
    fn new(banks: u32, lanes: u32, strides: &[u32], times: &[Summary]) -> Self {
        let meeting: Vec<f64> =
            strides.iter().map(|stride| meeting(banks, lanes, *stride).into()).collect();
        let mean = |of: &mut dyn Iterator<Item = f64>| of.sum::<f64>() / times.len() as f64;
        let middle = mean(&mut meeting.iter().copied());
        let time = mean(&mut times.iter().map(|time| time.median));
        let pairs = || meeting.iter().zip(times);
        let both = mean(&mut pairs().map(|(x, y)| (x - middle) * (y.median - time)));
        let square = mean(&mut meeting.iter().map(|x| (x - middle).powi(2)));
        let slope = both / square;
        let most = meeting.iter().copied().fold(0.0, f64::max);
        let least = meeting.iter().copied().fold(f64::INFINITY, f64::min);
        let delay = slope * (most - least);
        let off = pairs().map(|(x, y)| (y.median - time - slope * (x - middle)).abs());
        let off = off.fold(0.0, f64::max);
        let spread = times.iter().map(|time| time.spread()).fold(0.0, f64::max);
        let share = |of: f64| if delay > 0.0 { of / delay } else { f64::INFINITY };
        Self { banks, off: share(off), spread: share(spread) }
    }

    fn confidence(&self) -> Confidence {
        let is_clear = self.off.max(self.spread) <= CLEAR;
        if is_clear { Confidence::High } else { Confidence::Medium }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fall;
    use super::super::synthetic::{Noise, curve};
    use super::*;

    const STRIDES: [u32; 13] = [1, 2, 3, 4, 5, 8, 16, 32, 33, 64, 65, 128, 256];

    /// Returns times as those of an H200, for a number of banks.
    fn accesses(banks: u32, lanes: u32, noise: Noise) -> Vec<Point> {
        let time = |stride| 13.7 + 1.01 * f64::from(meeting(banks, lanes, stride));
        curve(&STRIDES, time, noise)
    }

    fn shapes() -> impl Iterator<Item = (u32, u32)> {
        [16, 32, 64].into_iter().flat_map(|banks| [16, 32, 64].map(|lanes| (banks, lanes)))
    }

    #[test]
    fn work_items_meet_as_counted() {
        for banks in [8, 16, 32, 64] {
            for lanes in [1, 8, 16, 32, 64] {
                for stride in STRIDES {
                    let mut at = vec![0; banks as usize];
                    (0..lanes).for_each(|lane| at[(lane * stride % banks) as usize] += 1);
                    assert_eq!(Some(&meeting(banks, lanes, stride)), at.iter().max());
                }
            }
        }
    }

    #[test]
    fn an_h200_has_32() {
        let times = [
            (1, 14.7),
            (3, 14.7),
            (4, 17.8),
            (8, 21.8),
            (16, 29.9),
            (32, 46.0),
            (33, 14.7),
            (64, 46.0),
            (128, 46.0),
        ];
        let points = times.map(|(x, time)| Point { x: x.into(), samples: vec![time; 5] });
        assert_eq!(period(&points, 32), Ok(Period { words: 32, confidence: Confidence::High }));
        // The samples must show that 64 are no slower.
        assert!(period(&points[..6], 32).is_err());
    }

    #[test]
    fn clear_curves_are_told() {
        for seed in 0..300 {
            for (count, lanes) in shapes() {
                for noise in [Noise::clean(seed), Noise::drifting(seed)] {
                    let found = period(&accesses(count, lanes, noise), lanes);
                    let expected = Period { words: count, confidence: Confidence::High };
                    assert_eq!(found, Ok(expected), "{lanes} {noise:?}");
                }
            }
        }
    }

    /// Returns the number of different words of the busiest bank that the work items access.
    fn meeting_at(banks: u32, width: u32, addresses: impl Iterator<Item = u32>) -> u32 {
        let mut words: Vec<u32> = addresses.map(|address| address / width).collect();
        words.sort();
        words.dedup();
        let at = |bank| words.iter().filter(|word| *word % banks == bank).count();
        (0..banks).map(at).max().unwrap_or_default() as u32
    }

    #[test]
    fn wide_banks_are_not_taken_for_more() {
        for (count, width, lanes) in
            [(32, 4, 32), (32, 8, 32), (16, 8, 32), (32, 8, 64), (16, 8, 16), (64, 4, 64)]
        {
            let time = |meeting: u32| 13.7 + 1.01 * f64::from(meeting);
            let strided = |stride| (0..lanes).map(move |lane| lane * stride * WORD);
            for seed in 0..200 {
                let noise = Noise::clean(seed);
                let time_of = |stride| time(meeting_at(count, width, strided(stride)));
                let period = period(&curve(&STRIDES, time_of, noise), lanes).unwrap();
                assert_eq!(period.words * WORD, count * width);
                let all = period.words * WORD;
                let beside = |far| (0..lanes).map(move |lane| lane * all + lane % 2 * far);
                let time_of = |far| time(meeting_at(count, width, beside(far)));
                let points = curve(&[0, 1, 2, 4, 8, 16, 32], time_of, noise);
                let width = fall(&points, 1.2, 2.2);
                assert_eq!(period.banks(&width), Ok((count, Confidence::High)), "{lanes}");
                let unknown = Err(NotMeasurable::new("too fast"));
                let banks = period.banks(&unknown).map(|(_, confidence)| confidence);
                assert_eq!(banks, Ok(Confidence::Low));
            }
        }
    }

    #[test]
    fn a_width_that_contradicts_is_no_answer() {
        let period = Period { words: 32, confidence: Confidence::High };
        for at in [0.0, 12.0, 32.0, 256.0] {
            let width = Ok(Fall { at, confidence: Confidence::High });
            assert!(period.banks(&width).is_err(), "{at}");
        }
    }

    #[test]
    fn what_is_found_with_high_confidence_is_right() {
        let mut found = 0;
        for seed in 0..700 {
            for (count, lanes) in shapes() {
                let noise = Noise::any(seed);
                let points = accesses(count, lanes, noise);
                // The assumed number of work items that access memory at once may be wrong.
                for assumed in [lanes / 2, lanes, lanes * 2] {
                    let period = period(&points, assumed).ok();
                    let sure = period.filter(|found| found.confidence == Confidence::High);
                    assert!(sure.is_none_or(|it| it.words == count), "{lanes} {assumed} {noise:?}");
                    found += usize::from(sure.is_some());
                }
            }
        }
        assert!(found > 3000, "{found}");
    }

    #[test]
    fn what_is_flat_has_none() {
        for seed in 0..3000 {
            let noise = Noise::any(seed);
            let confidence = period(&curve(&STRIDES, |_| 5.0, noise), 32).map(|it| it.confidence);
            assert_ne!(confidence, Ok(Confidence::High), "{noise:?}");
        }
        let flat = period(&curve(&STRIDES, |_| 5.0, Noise::clean(0)), 32).unwrap_err();
        assert!(flat.reason.contains("any stride"), "{}", flat.reason);
    }

    #[test]
    fn other_curves_fit_nothing() {
        for time in
            [f64::from, |stride: u32| 1.0 + f64::from(stride % 7), |stride| 1.0 / f64::from(stride)]
        {
            assert!(period(&curve(&STRIDES, time, Noise::clean(0)), 32).is_err());
        }
    }
}
