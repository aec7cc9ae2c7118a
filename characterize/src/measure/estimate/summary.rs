//! The middle of samples, and their spread around it.

use crate::measure::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};

/// The quartiles of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Summary {
    /// Summarizes samples; at least one.
    pub fn from_samples(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Self { low: at(0.25), median: at(0.5), high: at(0.75) }
    }

    /// Summarizes the upper half of the samples: disturbances make rates lower only.
    pub fn of_upper_half(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self::from_samples(&sorted[sorted.len() / 2..])
    }

    /// Returns this as a multiple of another summary; both are above zero.
    pub fn over(self, base: Self) -> Self {
        Self {
            low: self.low / base.high,
            median: self.median / base.median,
            high: self.high / base.low,
        }
    }

    /// Returns half of the range of the middle half of the samples.
    pub fn spread(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Applies `f` to all quartiles; `f` either never falls or never rises.
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (f(self.low), f(self.high));
        Self { low: a.min(b), median: f(self.median), high: a.max(b) }
    }

    /// Returns the median as an answer.
    pub fn finding(self, unit: Unit) -> MeasureResult<Finding> {
        self.finding_within(self.spread(), Floor::DEVICE, unit)
    }

    /// Returns the median as an answer, with the given spread, and at least that of `floor`.
    pub fn finding_within(self, spread: f64, floor: Floor, unit: Unit) -> MeasureResult<Finding> {
        let spread = spread.max(floor.of(self.median));
        /// Samples that lie within this share of their median agree.
        const CLOSE: f64 = 0.05;
        /// Samples beyond this share are of little use.
        const FAR: f64 = 0.25;
        /// Samples beyond this share are of no use. No measured value is 0 or less.
        const LOST: f64 = 0.5;
        if !(self.median > 0.0 && spread <= LOST * self.median) {
            let (median, spread) = (unit.write(self.median), unit.write(spread));
            let reason = format!("too noisy: {median} ± {spread}");
            return Err(NotMeasurable::new(reason));
        }
        let confidence = match spread / self.median {
            share if share <= CLOSE => Confidence::High,
            share if share <= FAR => Confidence::Medium,
            _ => Confidence::Low,
        };
        Ok(Finding { value: Value::Number(self.median), unit, spread, confidence })
    }
}

/// The least difference between runs, as a share, independent of the samples of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor(f64);

impl Floor {
    /// The floor of times by the device: no two runs agree to more digits.
    pub const DEVICE: Self = Self(0.01);
    /// The floor of times by the host. On an H200 launches, transfers, builds and contexts took 5 to
    /// 30 % more in one process than in another, with samples that were much closer together.
    pub const HOST: Self = Self(0.15);

    /// Returns the floor of a number.
    pub fn of(self, number: f64) -> f64 {
        self.0 * number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        let summary = Summary::from_samples(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(summary, Summary { low: 1.75, median: 2.5, high: 3.25 });
        assert_eq!(Summary::from_samples(&[7.0]), Summary { low: 7.0, median: 7.0, high: 7.0 });
        assert_eq!(summary.spread(), 0.75);
    }

    #[test]
    fn the_upper_half_does_not_know_of_the_lower() {
        let summary = Summary { low: 4.25, median: 4.5, high: 4.75 };
        assert_eq!(Summary::of_upper_half(&[5.0, 0.5, 4.0, 1.0]), summary);
        assert_eq!(Summary::of_upper_half(&[7.0]), Summary::from_samples(&[7.0]));
    }

    #[test]
    fn a_multiple_may_be_as_much_off_as_both() {
        let (a, b) = (
            Summary { low: 8.0, median: 9.0, high: 10.0 },
            Summary::from_samples(&[2.0, 3.0, 4.0]),
        );
        assert_eq!(b, Summary { low: 2.5, median: 3.0, high: 3.5 });
        assert_eq!(a.over(b), Summary { low: 8.0 / 3.5, median: 3.0, high: 4.0 });
    }

    #[test]
    fn what_falls_swaps_the_quartiles() {
        let summary = Summary { low: 1.0, median: 2.0, high: 4.0 };
        let rate = summary.map(|time| 8.0 / time);
        assert_eq!(rate, Summary { low: 2.0, median: 4.0, high: 8.0 });
    }

    #[test]
    fn what_lies_far_apart_says_little() {
        let confidence = |low: f64, high: f64| {
            Summary { low, median: 100.0, high }.finding(Unit::Count).map(|it| it.confidence).ok()
        };
        assert_eq!(confidence(96.0, 104.0), Some(Confidence::High));
        assert_eq!(confidence(90.0, 110.0), Some(Confidence::Medium));
        assert_eq!(confidence(60.0, 150.0), Some(Confidence::Low));
        assert_eq!(confidence(40.0, 160.0), None);
    }

    #[test]
    fn what_is_not_above_zero_is_no_answer() {
        for median in [0.0, -5.0, f64::NAN] {
            assert!(Summary { low: median, median, high: median }.finding(Unit::Ratio).is_err());
        }
    }
}
