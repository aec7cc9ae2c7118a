//! The number of work items that meet at a bank, from the time of an access.

use super::Summary;
use crate::measure::finding::{Confidence, MeasureResult, NotMeasurable};

/// The growth of the time of an access with the number of work items that meet.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The time of accesses to the items in question if all work items meet.
    full: f64,
    /// The number of these work items.
    lanes: f64,
    /// The additional time for one more.
    each: f64,
    /// The error of the number of work items that meet, by the spread of the scale's own samples.
    doubt: f64,
}

/// The judgement of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub agrees: bool,
    pub confidence: Confidence,
}

impl Scale {
    /// Creates a scale from accesses of words at which few and all work items meet, with their numbers, and from
    /// accesses of the items in question at which all meet.
    pub fn new(few: (&[f64], u32), all: (&[f64], u32), full: &[f64]) -> MeasureResult<Self> {
        let (lanes, least) = (f64::from(all.1), f64::from(few.1));
        let [few, all, full] = [few.0, all.0, full].map(Summary::from_samples);
        let each = (all.median - few.median) / (lanes - least);
        if each.is_finite() && each > 0.0 {
            let doubt = (few.spread() + all.spread() + full.spread()) / each;
            Ok(Self { full: full.median, lanes, each, doubt })
        } else {
            Err(NotMeasurable::new("bank conflicts have no effect on the time"))
        }
    }

    /// Returns the number of work items that meet, by the times of accesses.
    pub fn meeting(&self, times: &[f64]) -> Summary {
        Summary::from_samples(times).map(|time| self.lanes - (self.full - time) / self.each)
    }

    /// Returns whether as many meet as was predicted. The answer is sure if the middle half of the samples,
    /// widened by the error of the scale, agrees or disagrees as a whole, and if that error is small.
    pub fn verdict(&self, predicted: f64, times: &[f64]) -> Verdict {
        /// The share of the time that is not spent on conflicts.
        const SHARE: f64 = 0.1;
        /// The largest doubt, as a share of all that may meet.
        const MOST_DOUBT: f64 = 0.1;
        let near = (predicted * SHARE).max(0.5);
        let meeting = self.meeting(times);
        let (low, high) = (meeting.low - self.doubt, meeting.high + self.doubt);
        let (least, most) = (predicted - near, predicted + near);
        let is_within = low >= least && high <= most;
        let is_beside = high < least || low > most;
        let is_sure = self.doubt <= MOST_DOUBT * self.lanes && (is_within || is_beside);
        let confidence = if is_sure { Confidence::High } else { Confidence::Low };
        Verdict { agrees: (least..=most).contains(&meeting.median), confidence }
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

    fn scale(noise: Noise) -> MeasureResult<Scale> {
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
                    let expected =
                        Verdict { agrees: predicted == meeting, confidence: Confidence::High };
                    assert_eq!(verdict, expected, "{predicted} {meeting}");
                }
            }
        }
    }

    #[test]
    fn what_is_told_with_high_confidence_is_right() {
        let (mut sure, mut wrong) = (0, 0);
        for seed in 0..3000 {
            let tenth = Noise { width: 0.1, ..Noise::clean(seed) };
            for noise in [Noise::any(seed), tenth] {
                let Ok(scale) = scale(noise) else { continue };
                for meeting in [1, 2, 4, 8, 16, 32] {
                    for predicted in [1, 2, 4, 8, 16, 32] {
                        let noise = Noise { seed: seed + 5000, ..noise };
                        let verdict = scale.verdict(predicted.into(), &samples(meeting, noise));
                        if verdict.confidence == Confidence::High {
                            sure += 1;
                            wrong += u32::from(verdict.agrees != (predicted == meeting));
                        }
                    }
                }
            }
        }
        assert!(wrong == 0 && sure > 10_000, "{wrong} of {sure}");
    }

    #[test]
    fn quartiles_on_both_sides_of_a_prediction_leave_doubt() {
        let (few, all) = (vec![time(1); 5], vec![time(32); 5]);
        let scale = Scale::new((&few, 1), (&all, 32), &all).unwrap();
        let verdict = scale.verdict(8.0, &[time(2), time(4), time(10), time(12), time(16)]);
        assert_eq!(verdict, Verdict { agrees: false, confidence: Confidence::Low });
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
