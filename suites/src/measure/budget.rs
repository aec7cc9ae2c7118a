//! Measurements end when their time is over, by a clock that the test drives.

use std::cell::Cell;
use std::time::Duration;

use clmatrix::Device;
use clmatrix::characterize::measure::{Clock, Settings, Topic, measure_all};
use clmatrix_harness::device;
use rstest::rstest;

/// Whenever somebody looks at it, so much time has passed.
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

/// All topics' time by this clock, and the names of what was measurable.
fn measurable(device: Device, clock: &Stepping, budget: Duration) -> (Duration, Vec<String>) {
    let settings = Settings::for_device(&device).expect("the driver tells");
    let settings = Settings { budget, clock, ..settings };
    let all = measure_all(&device, &Topic::ALL, &settings, |_| ());
    let measurable = all.into_iter().filter(|measured| measured.answer.is_ok());
    (clock.now.get(), measurable.map(|measured| measured.name).collect())
}

/// Each look at the clock takes a fiftieth of the budget, so that some topics have time for one look:
/// it is a look that ends a loop.
#[rstest]
#[clmatrix_harness::test]
fn no_topic_goes_on_when_it_is_spent(device: Device) {
    /// A topic may look at the clock as it begins and ends, for each of its measurements, and once
    /// within a sample.
    const LOOKS: u32 = 8;
    let step = Duration::from_millis(100);
    let budget = 50 * step;
    let (spent, _) = measurable(device, &Stepping::by(step), budget);
    let measurements = Topic::ALL.iter().map(|topic| 1 + topic.measurements().len()).sum::<usize>();
    let slack = LOOKS * measurements as u32 * step;
    assert!(spent <= budget + slack, "{spent:?} of {budget:?}");
}

/// Without time nothing is timed, but what needs no time is there.
#[rstest]
#[clmatrix_harness::test]
fn without_time_nothing_is_timed(device: Device) {
    let clock = Stepping::by(Duration::ZERO);
    let (_, measurable) = measurable(device, &clock, Duration::ZERO);
    assert!(measurable.iter().all(|name| UNTIMED.contains(&name.as_str())), "{measurable:?}");
}

/// What is tried once, and what some drivers tell.
const UNTIMED: [&str; 2] = ["sub_buffer_alignment_enforced", "get_simd_group_size"];
