//! Samples that were taken in rounds, without the differences between rounds.

use super::Summary;
use crate::measure::series::Point;

/// Returns the samples of each point, without the drift of whole rounds, such as that of a clock that
/// falls. Half of a round's points lie above their median over all rounds, and half below.
pub fn undrifted(points: &[Point]) -> Vec<Vec<f64>> {
    let middles: Vec<f64> =
        points.iter().map(|point| Summary::from_samples(&point.samples).median).collect();
    let rounds = points.iter().map(|point| point.samples.len()).min().unwrap_or(0);
    let factor = |round: usize| {
        let ratios =
            points.iter().zip(&middles).map(|(point, middle)| point.samples[round] / middle);
        Summary::from_samples(&ratios.collect::<Vec<_>>()).median
    };
    let factors: Vec<f64> = (0..rounds).map(factor).collect();
    let of = |point: &Point| {
        point.samples.iter().zip(&factors).map(|(sample, factor)| sample / factor).collect()
    };
    points.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_points_share_is_taken_out() {
        let samples = |level: f64| [1.0, 1.5, 2.0].map(|drift| level * drift).to_vec();
        let points = [10.0, 20.0, 40.0].map(|level| Point { x: level, samples: samples(level) });
        for (point, samples) in points.iter().zip(undrifted(&points)) {
            assert!(samples.iter().all(|sample| (sample - samples[0]).abs() < 1e-9), "{point:?}");
        }
    }

    #[test]
    fn one_outlier_changes_no_other_point() {
        let mut points = [1.0, 2.0, 3.0].map(|level| Point { x: level, samples: vec![level; 5] });
        points[1].samples[3] = 100.0;
        let undrifted = undrifted(&points);
        assert_eq!((&undrifted[0], &undrifted[2]), (&points[0].samples, &points[2].samples));
    }
}
