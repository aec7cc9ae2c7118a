//! A check that repeated work is faster the second time.

use super::Summary;

/// Returns whether `warm` times are those of a cached result; `None` if that is unclear.
pub fn is_cached(cold: Summary, warm: Summary) -> Option<bool> {
    /// A cached result takes less than this share of the time.
    const FASTER: f64 = 0.5;
    if warm.high < FASTER * cold.low {
        Some(true)
    } else if warm.median >= cold.low && warm.low > FASTER * cold.median {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_difference_is_a_cache() {
        let about = |median: f64| Summary { low: 0.9 * median, median, high: 1.1 * median };
        assert_eq!(is_cached(about(100.0), about(10.0)), Some(true));
        assert_eq!(is_cached(about(100.0), about(98.0)), Some(false));
        assert_eq!(is_cached(about(100.0), about(130.0)), Some(false));
        assert_eq!(is_cached(about(100.0), about(60.0)), None);
    }

    #[test]
    fn noise_that_hides_the_difference_is_no_answer() {
        let cold = Summary { low: 50.0, median: 100.0, high: 300.0 };
        let warm = Summary { low: 5.0, median: 30.0, high: 90.0 };
        assert_eq!(is_cached(cold, warm), None);
    }
}
