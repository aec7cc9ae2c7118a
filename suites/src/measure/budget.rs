//! Measurements end when their time is over, by a clock that the test drives.

use std::cell::Cell;
use std::time::Duration;

use clmatrix::Device;
use clmatrix_characterize::measure::{Clock, Measured, Settings, Topic, measure};
use clmatrix_harness::device;
use rstest::rstest;

/// A clock by which `step` passes between two readings.
struct Stepping {
    now: Cell<Duration>,
    step: Duration,
}

impl Stepping {
    fn by(step: Duration) -> Self {
        Self { now: Cell::default(), step }
    }
}

impl Clock for Stepping {
    fn now(&self) -> Duration {
        self.now.replace(self.now.get() + self.step)
    }
}

/// A topic's measurements by this clock.
fn measured(device: Device, topic: Topic, clock: &Stepping, budget: Duration) -> Vec<Measured> {
    let settings = Settings::for_device(&device).expect("the driver tells");
    measure(&device, topic, &Settings { budget, clock, ..settings })
}

/// Each look at the clock takes a 25th of the budget, so that some topics have time for few
/// samples: it is a look that ends a loop.
#[rstest]
#[clmatrix_harness::test(alone)]
fn no_topic_continues_after_the_budget(device: Device) {
    /// A topic looks at the clock as it begins and ends, and in the sample that is the last;
    const LOOKS: u32 = 4;
    /// and for each of its measurements, which have no time then.
    const LOOKS_OF_EACH: u32 = 3;
    let step = Duration::from_millis(100);
    let budget = 25 * step;
    for topic in Topic::ALL {
        let clock = Stepping::by(step);
        let count = measured(device, topic, &clock, budget).len() as u32;
        let over = clock.now.get().saturating_sub(budget).div_duration_f64(step);
        assert!(over <= f64::from(LOOKS + LOOKS_OF_EACH * count), "{}: {over}", topic.name());
    }
}

/// Without time nothing is timed, but what needs no time is there.
#[rstest]
#[clmatrix_harness::test(alone)]
fn a_budget_of_zero_measures_nothing(device: Device) {
    let clock = Stepping::by(Duration::ZERO);
    for topic in Topic::ALL {
        for measured in measured(device, topic, &clock, Duration::ZERO) {
            let is_untimed = UNTIMED.contains(&measured.name.as_str());
            assert!(measured.answer.is_err() || is_untimed, "{measured:?}");
        }
    }
}

/// Measurements without repetition, and answers that some drivers give.
const UNTIMED: [&str; 2] = ["sub_buffer_alignment_enforced", "get_simd_group_size"];
