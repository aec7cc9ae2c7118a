//! Caches and the memory behind them, from the time of an access against the footprint.

use super::{Summary, undrifted};
use crate::measure::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use crate::measure::series::Point;

/// Footprints that fit into the same cache, with similar times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    /// The first and the last of its points.
    first: usize,
    last: usize,
    /// The time of an access.
    time: f64,
}

/// The levels in a curve of times, from the fastest cache to the memory.
#[derive(Debug)]
pub struct Hierarchy {
    levels: Vec<Level>,
    footprints: Vec<f64>,
    /// The times, made to never fall with a larger footprint.
    times: Vec<f64>,
    /// The samples of the largest footprint.
    largest: Summary,
    /// The distance of times from the curve, and their spread, as a share of the times.
    noise: f64,
}

/// The largest factor between times of one level.
const LIKE: f64 = 1.25;
/// The least ratio of the times of two levels.
const APART: f64 = 1.4;
/// The least number of points of a level: with steps of half a power of two, a footprint twice as large is
/// on it.
const POINTS: usize = 3;

impl Hierarchy {
    /// Finds the levels by times per access, in the order of the footprints in bytes.
    pub fn from_points(points: &[Point]) -> MeasureResult<Self> {
        let samples = undrifted(points);
        let summaries: Vec<Summary> =
            samples.iter().map(|samples| Summary::from_samples(samples)).collect();
        // Other load on a device makes accesses longer, never shorter.
        let low: Vec<f64> = summaries.iter().map(|time| time.low).collect();
        let times = never_falling(&low);
        let footprints: Vec<f64> = points.iter().map(|point| point.x).collect();
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return Err(NotMeasurable::new("the device has too few footprints to compare"));
        };
        if *last < first * APART {
            return Err(NotMeasurable::new(format!(
                "an access takes the same time in {} as in {}, {first:.3} to {last:.3} ns",
                Unit::Bytes.write(footprints[0]),
                Unit::Bytes.write(footprints[footprints.len() - 1]),
            )));
        }
        let off = low.iter().zip(&times).map(|(low, time)| (low / time - 1.0).abs());
        let spreads = summaries.iter().map(|time| time.spread() / time.median);
        let noise =
            mean(off.collect()).max(Summary::from_samples(&spreads.collect::<Vec<_>>()).median);
        if noise > LOST {
            return Err(NotMeasurable::new(format!(
                "too noisy ({:.0} %) to tell how the access time depends on the footprint",
                noise * 100.0
            )));
        }
        let largest = summaries[summaries.len() - 1];
        Ok(Self { levels: levels(&times), footprints, times, largest, noise })
    }

    /// Returns the size of each cache in bytes: the largest footprint that mostly still fits.
    pub fn cache_sizes(&self) -> MeasureResult<Finding> {
        if self.levels.len() < 2 {
            return Err(NotMeasurable::new(
                "the access time rises with the footprint, without two distinct levels",
            ));
        }
        let sizes: Vec<f64> =
            self.levels.windows(2).map(|pair| self.size(pair[0], pair[1])).collect();
        let largest = *sizes.last().expect("there are two levels");
        let above = self.footprints.iter().find(|footprint| **footprint > largest);
        let clear = self.levels.windows(2).all(|pair| is_clear(pair[0], pair[1]));
        let confidence = match (clear && self.ends_level(), self.noise) {
            (true, noise) if noise < QUIET => Confidence::High,
            (true, noise) if noise < LOUD => Confidence::Medium,
            (false, noise) if noise < QUIET => Confidence::Medium,
            _ => Confidence::Low,
        };
        Ok(Finding {
            value: Value::Numbers(sizes),
            unit: Unit::Bytes,
            spread: above.map_or(0.0, |above| above - largest),
            confidence,
        })
    }

    /// Returns the size in bytes of the most certain cache.
    pub fn smallest_cache(&self) -> Option<f64> {
        let [first, second, ..] = self.levels[..] else { return None };
        Some(self.size(first, second))
    }

    /// Returns the size in bytes of the last cache that was found.
    pub fn largest_cache(&self) -> Option<f64> {
        let [.., before, last] = self.levels[..] else { return None };
        Some(self.size(before, last))
    }

    /// Returns the bytes of the largest footprint.
    pub fn largest_footprint(&self) -> f64 {
        self.footprints[self.footprints.len() - 1]
    }

    /// Returns the nanoseconds of an access behind all caches.
    pub fn latency(&self) -> MeasureResult<Finding> {
        let found = self.largest.finding(Unit::Nanoseconds)?;
        let most = if self.noise < LOUD { Confidence::High } else { Confidence::Low };
        if self.ends_level() && self.levels.len() > 1 {
            return Ok(Finding { confidence: found.confidence.min(most), ..found });
        }
        let last = self.times.len() - 1;
        if self.times[last] > self.times[last.saturating_sub(POINTS - 1)] * APART {
            let largest = Unit::Bytes.write(self.footprints[last]);
            let reason = format!("the access time still rises at the largest footprint, {largest}");
            return Err(NotMeasurable::new(reason));
        }
        Ok(Finding { confidence: Confidence::Low, ..found })
    }

    /// Returns whether the largest footprints are all of one level.
    fn ends_level(&self) -> bool {
        self.levels.last().is_some_and(|level| level.last + 1 == self.times.len())
    }

    /// Returns the size of the cache that has room for the first of two consecutive levels.
    fn size(&self, fits: Level, not: Level) -> f64 {
        /// The share of misses at a little more than the size of a cache that does not evict the oldest
        /// line.
        const MISSES: f64 = 0.4;
        let limit = fits.time + MISSES * (not.time - fits.time);
        let within = (fits.last..not.first).take_while(|point| self.times[*point] <= limit);
        self.footprints[within.last().unwrap_or(fits.last)]
    }
}

/// The noise beyond which some samples, or most of them, contradict the curve.
const QUIET: f64 = 0.05;
const LOUD: f64 = 0.15;
/// The noise beyond which the curve is meaningless.
const LOST: f64 = 0.3;

/// Returns whether two levels are clearly distinct, without another level between them.
fn is_clear(a: Level, b: Level) -> bool {
    /// The time almost doubles.
    const CLEARLY_APART: f64 = 1.8;
    /// The rise ends at a footprint at most four times as large.
    const STEEP: usize = 4;
    b.time > a.time * CLEARLY_APART && b.first - a.last <= STEEP
}

/// Returns the closest curve that never falls: points that would fall are pooled.
fn never_falling(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let (mut sum, mut count) = (*value, 1);
        while let Some((before, number)) =
            pools.pop_if(|(before, number)| *before / *number as f64 > sum / count as f64)
        {
            sum += before;
            count += number;
        }
        pools.push((sum, count));
    }
    pools.into_iter().flat_map(|(sum, count)| vec![sum / count as f64; count]).collect()
}

/// Returns the levels of a curve that never falls.
fn levels(times: &[f64]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut first = 0;
    while first < times.len() {
        let like = times[first..].iter().take_while(|time| **time <= times[first] * LIKE).count();
        if like < POINTS {
            first += 1;
            continue;
        }
        let last = first + like - 1;
        let time = Summary::from_samples(&times[first..=last]).median;
        match levels.last_mut() {
            // A slope, or one level with a dent.
            Some(before) if time < before.time * APART => before.last = last,
            _ => levels.push(Level { first, last, time }),
        }
        first = last + 1;
    }
    levels
}

fn mean(values: Vec<f64>) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, curve};
    use super::*;

    const KIB: u32 = 1 << 10;
    const MIB: u32 = 1 << 20;

    fn footprints() -> Vec<u32> {
        (12..29).flat_map(|power| [1 << power, 3 << (power - 1)]).collect()
    }

    /// Caches by size and time, and the memory's time.
    type Device = (&'static [(u32, f64)], f64);
    const DEVICES: [Device; 6] = [
        (&[(32 * KIB, 1.4)], 80.0),
        (&[(64 * KIB, 30.0)], 400.0),
        (&[(32 * KIB, 1.4), (MIB, 5.0)], 90.0),
        (&[(256 * KIB, 22.0), (48 * MIB, 180.0)], 550.0),
        (&[(48 * KIB, 1.2), (2 * MIB, 4.5), (24 * MIB, 25.0)], 110.0),
        (&[(32 * KIB, 1.4), (512 * KIB, 4.0), (16 * MIB, 14.0)], 95.0),
    ];

    /// Model: beyond the cache size the miss rate rises to 1; `soft` is the width of the transition.
    fn time(device: Device, soft: f64, footprint: u32) -> f64 {
        let (caches, memory) = device;
        let mut time = caches[0].1;
        let slower = caches.iter().skip(1).map(|(_, time)| *time).chain([memory]);
        for ((size, fast), slow) in caches.iter().zip(slower) {
            let over = f64::from(footprint) / f64::from(*size) - 1.0;
            time += (slow - fast) * (over / soft).clamp(0.0, 1.0);
        }
        time
    }

    fn series(device: Device, soft: f64, noise: Noise) -> Vec<Point> {
        curve(&footprints(), |footprint| time(device, soft, footprint), noise)
    }

    /// Returns whether there is one size for each cache, at most one step beside the true one.
    fn is_right(device: Device, found: &Finding) -> bool {
        let Value::Numbers(sizes) = &found.value else { panic!("{found:?}") };
        let close = |size: f64, true_size: u32| {
            let ratio = size / f64::from(true_size);
            (0.66..=1.51).contains(&ratio)
        };
        let caches = device.0;
        let mut pairs = sizes.iter().zip(caches);
        sizes.len() == caches.len() && pairs.all(|(size, cache)| close(*size, cache.0))
    }

    #[test]
    fn caches_are_found() {
        for device in DEVICES {
            for soft in [0.1, 0.5, 1.0] {
                for seed in 0..50 {
                    let outliers = Noise { outliers: 0.1, ..Noise::clean(seed) };
                    let noisy = Noise { width: 0.05, ..Noise::clean(seed) };
                    for noise in [Noise::clean(seed), Noise::drifting(seed), noisy, outliers] {
                        let found = Hierarchy::from_points(&series(device, soft, noise)).unwrap();
                        let caches = found.cache_sizes().unwrap();
                        assert!(is_right(device, &caches), "{device:?} {soft} {noise:?}: {caches}");
                        let Value::Number(memory) = found.latency().unwrap().value else {
                            panic!()
                        };
                        let ratio = memory / device.1;
                        assert!((0.9..1.25).contains(&ratio), "{device:?} {noise:?}: {memory}");
                    }
                }
            }
        }
    }

    #[test]
    fn clean_series_leave_no_doubt() {
        for device in DEVICES {
            let found = Hierarchy::from_points(&series(device, 0.3, Noise::clean(1))).unwrap();
            assert_eq!(found.cache_sizes().unwrap().confidence, Confidence::High, "{device:?}");
            assert_eq!(found.latency().unwrap().confidence, Confidence::High, "{device:?}");
        }
    }

    #[test]
    fn no_noise_makes_a_wrong_answer_sure() {
        for device in DEVICES {
            for seed in 0..500 {
                let noise = Noise::any(seed);
                let Ok(found) = Hierarchy::from_points(&series(device, 0.5, noise)) else {
                    continue;
                };
                let Ok(caches) = found.cache_sizes() else { continue };
                let sure = caches.confidence == Confidence::High;
                assert!(is_right(device, &caches) || !sure, "{device:?} {noise:?}: {caches}");
            }
        }
    }

    #[test]
    fn a_flat_curve_has_no_caches() {
        for seed in 0..500 {
            let flat = |noise| Hierarchy::from_points(&curve(&footprints(), |_| 5000.0, noise));
            for noise in [Noise::clean(seed), Noise::drifting(seed)] {
                assert!(flat(noise).unwrap_err().reason.contains("same time"), "{noise:?}");
            }
            if let Ok(found) = flat(Noise::any(seed)) {
                let caches = found.cache_sizes();
                let sure = caches.is_ok_and(|found| found.confidence == Confidence::High);
                assert!(!sure, "{:?}", Noise::any(seed));
            }
        }
    }

    #[test]
    fn a_slope_is_no_cache() {
        let slope = |footprint: u32| f64::from(footprint).powf(0.5);
        let found = Hierarchy::from_points(&curve(&footprints(), slope, Noise::clean(0))).unwrap();
        let caches = found.cache_sizes();
        assert!(caches.is_err(), "{caches:?}");
        assert!(found.latency().is_err(), "{:?}", found.latency());
    }

    #[test]
    fn what_falls_is_pooled() {
        assert_eq!(never_falling(&[1.0, 3.0, 2.0, 2.5, 4.0]), [1.0, 2.5, 2.5, 2.5, 4.0]);
        assert_eq!(never_falling(&[3.0, 2.0, 1.0]), [2.0; 3]);
        assert!(never_falling(&[]).is_empty());
    }
}
