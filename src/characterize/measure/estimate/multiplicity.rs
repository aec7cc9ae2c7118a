//! How many work items meet at a bank, from how long an access takes.

use super::Summary;
use crate::characterize::measure::finding::{Attempt, Confidence, NotMeasurable};

/// How the time of an access grows with how many work items meet.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The time of accesses, of the items in question, of which all meet.
    full: f64,
    /// How many these are.
    lanes: f64,
    /// What one more takes longer.
    each: f64,
}

/// Whether a prediction holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub agrees: bool,
    pub confidence: Confidence,
}

impl Scale {
    /// From accesses of words at which few and all work items meet, with how many these are, and
    /// accesses of the items in question at which all do.
    pub fn new(few: (&[f64], u32), all: (&[f64], u32), full: &[f64]) -> Attempt<Self> {
        let time = |samples| Summary::of(samples).median;
        let lanes = f64::from(all.1);
        let each = (time(all.0) - time(few.0)) / (lanes - f64::from(few.1));
        if each.is_finite() && each > 0.0 {
            Ok(Self { full: time(full), lanes, each })
        } else {
            Err(NotMeasurable::new("work items that meet at a bank are as fast as others"))
        }
    }

    /// How many meet where accesses take so long.
    pub fn meeting(&self, times: &[f64]) -> Summary {
        Summary::of(times).map(|time| self.lanes - (self.full - time) / self.each)
    }

    /// Whether as many meet as was predicted.
    pub fn verdict(&self, predicted: f64, times: &[f64]) -> Verdict {
        /// What there is beside the meeting takes a part of the time, too.
        const SHARE: f64 = 0.1;
        let near = (predicted * SHARE).max(0.5);
        let meeting = self.meeting(times);
        let agrees = |found: f64| (found - predicted).abs() <= near;
        let is_clear = [meeting.low, meeting.median, meeting.high].map(agrees);
        let confidence = match is_clear {
            [true, true, true] | [false, false, false] => Confidence::High,
            _ => Confidence::Low,
        };
        Verdict { agrees: agrees(meeting.median), confidence }
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, curve};
    use super::*;

    fn time(meeting: u32) -> f64 {
        13.7 + 1.01 * f64::from(meeting)
    }

    fn samples(meeting: u32, noise: Noise) -> Vec<f64> {
        curve(&[meeting], time, noise).remove(0).samples
    }

    fn scale(noise: Noise) -> Attempt<Scale> {
        let (few, all) = (samples(1, noise), samples(32, Noise { seed: noise.seed + 1, ..noise }));
        Scale::new((&few, 1), (&all, 32), &all)
    }

    #[test]
    fn clear_predictions_are_told_from_wrong_ones() {
        for seed in 0..1000 {
            let scale = scale(Noise::clean(seed)).unwrap();
            for meeting in [1, 2, 4, 8, 16, 32] {
                for predicted in [1, 2, 4, 8, 16, 32] {
                    let times = samples(meeting, Noise::clean(seed + 2));
                    let verdict = scale.verdict(predicted.into(), &times);
                    assert_eq!(verdict.agrees, predicted == meeting, "{predicted} {meeting}");
                }
            }
        }
    }

    #[test]
    fn accesses_that_take_longer_all_alike_are_of_the_same_scale() {
        let times = |meeting: u32| vec![time(meeting) + 5.0; 5];
        let (few, all) = (vec![time(2); 5], vec![time(32); 5]);
        let scale = Scale::new((&few, 2), (&all, 32), &times(32)).unwrap();
        for meeting in 1..=32 {
            assert!((scale.meeting(&times(meeting)).median - f64::from(meeting)).abs() < 1e-9);
        }
    }

    #[test]
    fn without_conflicts_there_is_no_scale() {
        let same = [5.0; 5];
        assert!(Scale::new((&same, 1), (&same, 32), &same).is_err());
        assert!(Scale::new((&[6.0], 1), (&[5.0], 32), &[5.0]).is_err());
        assert!(Scale::new((&[5.0], 32), (&[6.0], 32), &[6.0]).is_err());
    }
}
