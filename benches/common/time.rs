//! Times and their quantiles.

use std::time::Instant;

pub fn nanoseconds(f: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    f();
    begin.elapsed().as_secs_f64() * 1e9
}

/// Returns the value that `part` of the values are less than. `values` is not empty.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * part) as usize]
}
