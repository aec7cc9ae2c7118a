//! How finely the device tells the time of commands.

use super::clock::Budget;
use super::finding::{Attempt, Confidence, Finding, NotMeasurable, Taken, Unit, Value};
use super::sampling::{Rounds, sample};
use super::series::Series;
use super::workbench::Workbench;
use super::{Recipe, each};
use crate::memory::enqueue_fill;

pub(super) const RECIPE: Recipe = Recipe {
    name: "timer",
    measurements: &["profiling_timer_resolution"],
    weight: 1.0,
    take: |bench| each(bench, [resolution]),
};

/// Times that a timer tells are multiples of its step. That those of so many commands have a common
/// divisor beside it is as good as impossible.
const COMMANDS: Rounds = Rounds { least: 16, most: 128 };

/// What all times of commands are multiples of.
fn resolution(bench: &Workbench, budget: &Budget) -> Attempt<Taken> {
    let buffer = bench.buffer(64)?;
    let mut first = None;
    let mut step = 0;
    let points = sample(budget, COMMANDS, &[1_u32], |_| {
        let event = enqueue_fill(&bench.queue, &buffer, &0_u32, .., [])?;
        let time = bench.device_time(&event)?;
        for told in [event.profiling_command_start()?, event.profiling_command_end()?] {
            step = common_divisor(step, told.abs_diff(*first.get_or_insert(told)));
        }
        Ok(time)
    })?;
    let series =
        Series::new(("commands", Unit::Count), ("time of a fill", Unit::Nanoseconds), points);
    let answer = match step {
        0 => Err(NotMeasurable::new("all commands have the same times")),
        step => {
            let value = Value::Number(step as f64);
            Ok(Finding::exact(value, Unit::Nanoseconds, Confidence::High))
        }
    };
    Ok(Taken::new(answer, [series]))
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_divides_all_times() {
        assert_eq!([96, 160, 0, 64].into_iter().fold(0, common_divisor), 32);
        assert_eq!(common_divisor(7, 3), 1);
        assert_eq!(common_divisor(0, 0), 0);
    }
}
