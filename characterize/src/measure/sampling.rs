//! Samples, taken in rounds over all points: a device that warms up, or another program, affects all points alike.

use super::clock::Budget;
use super::finding::{MeasureResult, NotMeasurable};
use super::series::Point;

/// The number of rounds that are taken.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    /// The fewest rounds for an answer.
    pub least: usize,
    /// The most rounds.
    pub most: usize,
}

/// The rounds of most measurements: the median of fewer than 5 samples rests on a single one.
pub(super) const ROUNDS: Rounds = Rounds { least: 5, most: 31 };

/// Takes one sample of each point in each round, in an order that changes each time, until there are enough
/// or the budget is spent. Drops the first round, which warms up, and an unfinished last one.
pub(super) fn sample<X: Copy + Into<f64>>(
    budget: &Budget,
    rounds: Rounds,
    points: &[X],
    mut take: impl FnMut(X) -> MeasureResult<f64>,
) -> MeasureResult<Vec<Point>> {
    let mut taken: Vec<Point> =
        points.iter().map(|x| Point { x: (*x).into(), samples: Vec::new() }).collect();
    let mut order: Vec<usize> = (0..points.len()).collect();
    let mut random = fastrand::Rng::with_seed(ORDER_SEED);
    for round in 0..=rounds.most {
        random.shuffle(&mut order);
        for &number in &order {
            if budget.is_spent() {
                return finished(taken, round.saturating_sub(1), rounds, budget);
            }
            let sample = take(points[number])?;
            if round > 0 {
                taken[number].samples.push(sample);
            }
        }
    }
    Ok(taken)
}

/// The order of the points is the same in each run.
const ORDER_SEED: u64 = 1;

fn finished(
    mut taken: Vec<Point>,
    whole: usize,
    rounds: Rounds,
    budget: &Budget,
) -> MeasureResult<Vec<Point>> {
    if whole < rounds.least {
        return Err(NotMeasurable::new(format!(
            "the budget of {:.1} s ended after {whole} of at least {} rounds; increase it",
            budget.whole().as_secs_f64(),
            rounds.least
        )));
    }
    for point in &mut taken {
        point.samples.truncate(whole);
    }
    Ok(taken)
}

/// Returns the number of steps that make a sample of about `target` nanoseconds, at most `most`. Takes samples of
/// growing numbers of steps, and none that should take much longer than that.
pub(super) fn steps_for(
    budget: &Budget,
    target: f64,
    most: u32,
    mut take: impl FnMut(u32) -> MeasureResult<f64>,
) -> MeasureResult<u32> {
    /// The largest growth from one sample to the next: the first one may have woken the device up.
    const GROWTH: f64 = 8.0;
    let mut steps = 1_u32;
    loop {
        if budget.is_spent() {
            let spent = budget.whole().as_secs_f64();
            return Err(NotMeasurable::new(format!(
                "the budget ended after {spent:.1} s, before a sample was long enough; increase it"
            )));
        }
        let mut time = take(steps)?;
        if time >= target / 2.0 && !budget.is_spent() {
            // Other load may have delayed the sample.
            time = time.min(take(steps)?);
        }
        let time = time.max(1.0);
        if time >= target / 2.0 || steps == most {
            return Ok(steps);
        }
        let growth = (target / time).min(GROWTH);
        steps = ((f64::from(steps) * growth).ceil() as u32).clamp(steps + 1, most);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::super::clock::Clock;
    use super::*;

    /// A clock that the test moves.
    #[derive(Default)]
    struct Driven(Cell<Duration>);

    impl Driven {
        fn pass(&self, seconds: f64) {
            self.0.set(self.0.get() + Duration::from_secs_f64(seconds));
        }
    }

    impl Clock for Driven {
        fn now(&self) -> Duration {
            self.0.get()
        }
    }

    const FEW: Rounds = Rounds { least: 2, most: 4 };

    #[test]
    fn each_point_has_a_sample_of_each_round() {
        let clock = Driven::default();
        let budget = Budget::new(&clock, Duration::from_secs(1));
        let points = sample(&budget, FEW, &[1_u32, 2, 4], |x| Ok(f64::from(x) * 10.0)).unwrap();
        let expected = |x: f64| Point { x, samples: vec![x * 10.0; 4] };
        assert_eq!(points, [1.0, 2.0, 4.0].map(expected));
    }

    #[test]
    fn rounds_that_the_budget_cuts_off_are_dropped() {
        // A sample takes a second, and a warm-up of three comes first.
        for (seconds, whole) in [(8.0, None), (8.5, Some(2)), (11.0, Some(2)), (11.5, Some(3))] {
            let clock = Driven::default();
            let budget = Budget::new(&clock, Duration::from_secs_f64(seconds));
            let taken = sample(&budget, FEW, &[1_u32, 2, 3], |_| {
                clock.pass(1.0);
                Ok(1.0)
            });
            let rounds = |point: &Point| point.samples.len();
            let rounds = taken.map(|points| points.iter().map(rounds).collect::<Vec<_>>());
            assert_eq!(rounds.ok(), whole.map(|whole| vec![whole; 3]), "{seconds}");
            // One sample at most begins before the budget's end and ends after it.
            assert!(budget.spent() <= Duration::from_secs_f64(seconds + 1.0));
        }
    }

    #[test]
    fn samples_grow_until_they_are_long_enough() {
        let clock = Driven::default();
        let budget = Budget::new(&clock, Duration::from_secs(1));
        let mut asked = Vec::new();
        let steps = steps_for(&budget, 1000.0, 1 << 20, |steps| {
            asked.push(steps);
            Ok(f64::from(steps))
        });
        assert_eq!(steps, Ok(512));
        assert_eq!(asked, [1, 8, 64, 512, 512]);
        assert_eq!(steps_for(&budget, 1e9, 100, |steps| Ok(f64::from(steps))), Ok(100));
        let slow = |_| {
            clock.pass(2.0);
            Ok(0.0)
        };
        assert!(steps_for(&budget, 1e9, u32::MAX, slow).unwrap_err().reason.contains("budget"));
    }

    #[test]
    fn a_budget_without_end_has_shares() {
        let clock = Driven::default();
        clock.pass(5.0);
        let budget = Budget::new(&clock, Duration::MAX);
        assert!(budget.share(0.5).left() > Duration::from_secs(1 << 30) && !budget.is_spent());
    }

    #[test]
    fn shares_of_a_budget_inherit_what_is_left_and_end_with_it() {
        let clock = Driven::default();
        let budget = Budget::new(&clock, Duration::from_secs(10));
        let first = budget.share(0.5);
        assert_eq!(first.whole(), Duration::from_secs(5));
        clock.pass(1.0);
        assert_eq!(budget.share(0.25).whole(), Duration::from_secs_f64(4.5));
        clock.pass(8.0);
        assert_eq!(budget.share(0.25).whole(), Duration::from_secs(1));
        clock.pass(2.0);
        assert!(budget.is_spent() && budget.share(0.25).is_spent());
    }
}
