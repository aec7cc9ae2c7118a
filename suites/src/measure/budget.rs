//! Measurements end when their time is over, by a clock that the test drives.

use std::cell::Cell;

use clmatrix_characterize::measure::Clock;

use super::*;

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
fn measured(context: &Context, topic: Topic, clock: &Stepping, budget: Duration) -> Vec<Measured> {
    let settings = Settings::for_device(context.default_device()).expect("the driver tells");
    measure(context, topic, &Settings { budget, clock, ..settings })
}

topics!(keeps_its_budget: a_topic_keeps_its_budget, exhaustion_keeps_its_budget);

fn keeps_its_budget(context: &Context, topic: Topic) {
    measures_nothing_without_time(context, topic);
    does_not_continue_after_its_time(context, topic);
}

/// Without time nothing is timed, but what needs no time is there.
fn measures_nothing_without_time(context: &Context, topic: Topic) {
    let clock = Stepping::by(Duration::ZERO);
    for measured in measured(context, topic, &clock, Duration::ZERO) {
        let is_untimed = UNTIMED.contains(&measured.name.as_str());
        assert!(measured.answer.is_err() || is_untimed, "{measured:?}");
    }
}

/// Each look at the clock takes a 25th of the budget, so that some topics have time for few
/// samples: it is a look that ends a loop.
fn does_not_continue_after_its_time(context: &Context, topic: Topic) {
    /// A topic looks at the clock as it begins and ends, and in the sample that is the last;
    const LOOKS: u32 = 4;
    /// and for each of its measurements, which have no time then.
    const LOOKS_OF_EACH: u32 = 3;
    let step = Duration::from_millis(100);
    let budget = 25 * step;
    let clock = Stepping::by(step);
    let count = measured(context, topic, &clock, budget).len() as u32;
    let over = clock.now.get().saturating_sub(budget).div_duration_f64(step);
    assert!(over <= f64::from(LOOKS + LOOKS_OF_EACH * count), "{over}");
}

/// Measurements without repetition, and answers that some drivers give.
const UNTIMED: [&str; 2] = ["sub_buffer_alignment_enforced", "get_simd_group_size"];
