//! The resolution of the device's times of commands.

use super::clock::Budget;
use super::estimate::common_divisor;
use super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::measured::Sampled;
use super::sampling::{Rounds, sample};
use super::series::{Point, Series};
use super::topic_spec::{TopicSpec, run_each};
use super::workbench::Workbench;
use clmatrix::memory::enqueue_fill;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "timer",
    measurements: &["profiling_timer_resolution"],
    weight: 1.0,
    take: |bench| Ok(run_each(bench, [resolution])),
};

/// Timestamps are multiples of the timer's resolution. With 16 commands a larger common divisor by
/// chance is practically impossible.
const COMMANDS: Rounds = Rounds { least: 16, most: 128 };

/// Measures the greatest common divisor of the times of all commands.
fn resolution(bench: &Workbench, budget: &Budget) -> MeasureResult<Sampled> {
    let buffer = bench.buffer(64)?;
    let mut told = Vec::new();
    let points = sample(budget, COMMANDS, &[1_u32], |_| {
        let event = enqueue_fill(&bench.queue, &buffer, &0_u32, ..)?;
        let time = bench.device_time(&event)?;
        let profile = event.profile()?;
        told.extend([profile.started, profile.ended]);
        Ok(time)
    })?;
    let between = differences(told);
    let commands = ("commands", Unit::Count);
    let mut series = vec![Series::new(commands, ("time of a fill", Unit::Nanoseconds), points)];
    if !between.is_empty() {
        let samples = between.iter().map(|between| *between as f64).collect();
        let y = ("time between instants", Unit::Nanoseconds);
        series.push(Series::new(commands, y, vec![Point { x: 1.0, samples }]));
    }
    Ok(Sampled::new(step(&between), series))
}

/// Returns the times between instants that differ, in their order.
fn differences(mut told: Vec<u64>) -> Vec<u64> {
    told.sort_unstable();
    told.dedup();
    told.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the common divisor. A step that is far smaller than all differences may come from rounding: the
/// ticks of a timer of 19.2 MHz have no common divisor in nanoseconds but 1.
fn step(between: &[u64]) -> MeasureResult<Finding> {
    /// The most steps of the least difference.
    const NEAR: u64 = 8;
    let step = between.iter().copied().fold(0, common_divisor);
    let Some(least) = between.iter().min() else {
        return Err(NotMeasurable::new("all commands have the same times"));
    };
    let confidence = if *least <= NEAR * step { Confidence::High } else { Confidence::Low };
    Ok(Finding::exact(Value::Number(step as f64), Unit::Nanoseconds, confidence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_divides_all_times() {
        assert_eq!(differences(vec![160, 64, 256, 64]), [96, 96]);
        let found = step(&[96, 160, 64]).unwrap();
        assert_eq!((found.value, found.confidence), (Value::Number(32.0), Confidence::High));
        assert!(step(&differences(vec![5, 5])).is_err());
    }

    #[test]
    fn a_rounded_tick_is_no_sure_step() {
        let ticks =
            [0, 20, 47, 71, 110, 131, 190].map(|tick| (f64::from(tick) * 1e3 / 19.2) as u64);
        let found = step(&differences(ticks.to_vec())).unwrap();
        assert_eq!((found.value, found.confidence), (Value::Number(1.0), Confidence::Low));
    }
}
