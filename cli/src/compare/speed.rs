//! The rule by which a test is slower or faster.
//!
//! The times come from busy machines, so the rule compares their order: if both sides are alike, each order of all
//! times is as likely as any other. Every time of one side is above every time of the other in 2 of 252 orders of
//! five and five.

use indexmap::IndexMap;
use serde::Serialize;

use super::difference::Change;

/// The fewest times of a test on each side.
pub(crate) const FEWEST_TIMES: usize = 5;

/// The least ratio of the medians.
const LEAST_RATIO: f64 = 1.25;

/// The least difference of the medians, in seconds.
const LEAST_DIFFERENCE: f64 = 0.02;

/// The fewest tests whose ratios determine the ratio of their device.
const FEWEST_TESTS: usize = 5;

/// The time of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// The number of the run on its side.
    pub(crate) run: usize,
    /// The time.
    pub(crate) seconds: f64,
}

/// The times of a test on both sides.
pub(crate) struct Times<'a> {
    /// The test's path.
    pub(crate) test: &'a str,
    /// The times of the first side.
    pub(crate) a: &'a [Time],
    /// The times of the second side.
    pub(crate) b: &'a [Time],
}

/// The tests of a device that are slower or faster.
#[derive(Debug, Serialize)]
pub(crate) struct Speeds {
    /// The median of the ratios of the tests.
    pub(crate) ratio: f64,
    /// The number of tests with enough times that can differ enough.
    pub(crate) tests: usize,
    /// The number of tests that the rule names by chance, at most.
    pub(crate) by_chance: f64,
    /// The slower tests.
    pub(crate) slower: Vec<SpeedChange>,
    /// The faster tests.
    pub(crate) faster: Vec<SpeedChange>,
}

/// A test that is slower or faster: the median of each side, in seconds, without the speed of its runs.
pub(crate) type SpeedChange = Change<f64>;

/// A side, and the number of a run on it.
type Run = (bool, usize);

impl Speeds {
    /// Applies the rule to the tests of a device. Returns none if no test has enough times.
    pub(crate) fn new(tests: &[Times<'_>]) -> Option<Self> {
        let are_enough = |times: &&Times<'_>| times.a.len().min(times.b.len()) >= FEWEST_TIMES;
        let mut judged: Vec<&Times<'_>> = tests.iter().filter(are_enough).collect();
        if judged.is_empty() {
            return None;
        }
        // The largest of all times does not depend on the side that it is on.
        judged.retain(|times| times.all().any(|(_, seconds)| seconds >= LEAST_DIFFERENCE));
        let factors = run_factors(&judged);
        let by_chance = judged.iter().map(|times| 2.0 / orders(times.a.len(), times.b.len())).sum();
        let (mut slower, mut faster) = (Vec::new(), Vec::new());
        for times in &judged {
            let [a, b] = [false, true].map(|is_b| times.scaled(is_b, &factors));
            let [median_a, median_b] = [&a, &b].map(|times| median(times.iter().copied()));
            let change = Change { test: times.test.to_owned(), a: median_a, b: median_b };
            if is_above(&b, &a) {
                slower.push(change);
            } else if is_above(&a, &b) {
                faster.push(change);
            }
        }
        let ratio = ratio(&factors);
        Some(Self { ratio, tests: judged.len(), by_chance, slower, faster })
    }
}

impl Times<'_> {
    /// Returns the times with their runs.
    fn all(&self) -> impl Iterator<Item = (Run, f64)> {
        let a = self.a.iter().map(|time| ((false, time.run), time.seconds));
        a.chain(self.b.iter().map(|time| ((true, time.run), time.seconds)))
    }

    /// Returns the times of a side, each divided by the factor of its run.
    fn scaled(&self, is_b: bool, factors: &IndexMap<Run, f64>) -> Vec<f64> {
        let side = self.all().filter(|((side, _), _)| *side == is_b);
        side.map(|(run, seconds)| seconds / factors[&run]).collect()
    }
}

/// Returns the factor of each run: the median of the ratios of its times to those of all runs. A machine that was
/// busy during one of the runs makes all its times longer. A few tests have no such median: their factors
/// are 1.
fn run_factors(tests: &[&Times<'_>]) -> IndexMap<Run, f64> {
    let mut ratios: IndexMap<Run, Vec<f64>> = IndexMap::new();
    for times in tests {
        let reference = median(times.all().map(|(_, seconds)| seconds));
        for (run, seconds) in times.all() {
            ratios.entry(run).or_default().push(seconds / reference);
        }
    }
    let factor = |ratios: Vec<f64>| {
        let median = median(ratios.into_iter());
        let is_known = tests.len() >= FEWEST_TESTS && median.is_finite() && median > 0.0;
        if is_known { median } else { 1.0 }
    };
    ratios.into_iter().map(|(run, ratios)| (run, factor(ratios))).collect()
}

/// Returns the ratio of the medians of the factors of both sides.
fn ratio(factors: &IndexMap<Run, f64>) -> f64 {
    let side = |is_b: bool| {
        let factors = factors.iter().filter(|((side, _), _)| *side == is_b);
        median(factors.map(|(_, factor)| *factor))
    };
    if factors.is_empty() { 1.0 } else { side(true) / side(false) }
}

/// Returns whether every time of `slow` is above every time of `fast`, and the medians differ enough.
fn is_above(slow: &[f64], fast: &[f64]) -> bool {
    let [slow_median, fast_median] = [slow, fast].map(|times| median(times.iter().copied()));
    slow_median >= LEAST_RATIO * fast_median
        && slow_median - fast_median >= LEAST_DIFFERENCE
        && slow.iter().all(|slow| fast.iter().all(|fast| slow > fast))
}

/// Returns the number of ways to choose the places of `a` times among `a + b`.
fn orders(a: usize, b: usize) -> f64 {
    (1..=a).map(|place| (b + place) as f64 / place as f64).product()
}

/// Returns the median of at least one number.
pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    // The middle one of an odd number is on both sides of the middle.
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: u64 = 1000;

    /// Ten kept runs of the suites buffer, copy and fill on PoCL, on two cores that other programs used as
    /// well: the median factor of each run.
    const RUN_FACTORS: [f64; 10] = [1.07, 1.01, 1.0, 1.0, 0.93, 0.9, 0.93, 0.99, 1.54, 2.76];

    /// The quantiles of the logarithms of their times, without the factor of the run, at equal distances from 1 %
    /// to 99 %.
    const NOISE: [f64; 9] = [-0.98, -0.37, -0.17, -0.07, 0.0, 0.05, 0.12, 0.34, 1.29];

    /// The standard deviation of the logarithms of the times of one of their tests, without the factor of the
    /// run. A third of the tests have less. With 10 %, the rule misses 12 of 1,000 tests that are 60 % slower.
    const QUIET: f64 = 0.08;

    /// The times of `tests` tests in five runs: `usual(test)` seconds, with this noise.
    fn side(
        rng: &mut fastrand::Rng,
        tests: usize,
        usual: impl Fn(usize) -> f64,
        noise: fn(&mut fastrand::Rng) -> f64,
    ) -> Vec<Vec<Time>> {
        let mut times = vec![Vec::new(); tests];
        for run in 0..FEWEST_TIMES {
            let factor = RUN_FACTORS[rng.usize(..RUN_FACTORS.len())];
            for (test, times) in times.iter_mut().enumerate() {
                times.push(Time { run, seconds: usual(test) * factor * noise(rng).exp() });
            }
        }
        times
    }

    fn busy(rng: &mut fastrand::Rng) -> f64 {
        let place = rng.f64() * (NOISE.len() - 1) as f64;
        let below = place as usize;
        NOISE[below] + (NOISE[below + 1] - NOISE[below]) * place.fract()
    }

    /// The sum of twelve numbers is nearly normal.
    fn quiet(rng: &mut fastrand::Rng) -> f64 {
        QUIET * ((0..12).map(|_| rng.f64()).sum::<f64>() - 6.0)
    }

    fn compare(a: &[Vec<Time>], b: &[Vec<Time>]) -> Speeds {
        let names: Vec<String> = (0..a.len()).map(|test| test.to_string()).collect();
        let times = names.iter().zip(a.iter().zip(b)).map(|(test, (a, b))| Times { test, a, b });
        Speeds::new(&times.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn chance_names_no_more_tests_than_expected() {
        let usual = |test: usize| 0.01 * (1 + test) as f64;
        let (mut named, mut expected) = (0, 0.0);
        for seed in 0..PAIRS {
            let rng = &mut fastrand::Rng::with_seed(seed);
            let (a, b) = (side(rng, 60, usual, busy), side(rng, 60, usual, busy));
            let speeds = compare(&a, &b);
            named += speeds.slower.len() + speeds.faster.len();
            expected += speeds.by_chance;
        }
        assert!(named > 0 && named as f64 <= expected, "{named} of {expected}");
    }

    #[test]
    fn a_test_that_is_60_percent_slower_is_always_named() {
        let usual = |test: usize| 0.1 + 0.05 * test as f64;
        for seed in 0..PAIRS {
            let rng = &mut fastrand::Rng::with_seed(seed);
            let slow = rng.usize(..20);
            let a = side(rng, 20, usual, quiet);
            let now = |test| if test == slow { 1.6 * usual(test) } else { usual(test) };
            let b = side(rng, 20, now, quiet);
            let has_slow = |changes: &[SpeedChange]| {
                changes.iter().any(|change| change.test == slow.to_string())
            };
            assert!(has_slow(&compare(&a, &b).slower), "seed {seed}");
            assert!(has_slow(&compare(&b, &a).faster), "seed {seed}");
        }
    }

    #[test]
    fn the_medians_must_differ_by_a_quarter_and_20_ms() {
        let times = |seconds: f64| {
            let time = |run| Time { run, seconds: seconds + 1e-6 * run as f64 };
            vec![(0..FEWEST_TIMES).map(time).collect::<Vec<_>>()]
        };
        for (a, b, is_named) in
            [(0.2, 0.26, true), (0.2, 0.24, false), (0.05, 0.068, false), (0.05, 0.071, true)]
        {
            let speeds = compare(&times(a), &times(b));
            assert_eq!(speeds.slower.len(), usize::from(is_named), "{a} {b}");
            assert!(speeds.faster.is_empty() && speeds.by_chance == 2.0 / 252.0);
        }
        let times = times(0.2);
        let few = Times { test: "t", a: &times[0], b: &times[0][..4] };
        assert!(Speeds::new(&[few]).is_none());
    }
}
