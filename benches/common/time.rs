//! How long something takes.

use std::time::Instant;

pub fn nanoseconds(f: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    f();
    begin.elapsed().as_secs_f64() * 1e9
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 2)
}

/// One of so many of the values are less.
pub fn quantile(values: &[f64], of: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / of]
}
