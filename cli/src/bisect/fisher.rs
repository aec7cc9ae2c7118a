//! Fisher's exact test.

/// Trials that went wrong, and all trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub wrong: u32,
    pub all: u32,
}

impl Count {
    /// Adds a trial.
    pub fn add(&mut self, is_wrong: bool) {
        self.wrong += u32::from(is_wrong);
        self.all += 1;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.wrong, self.all)
    }
}

/// Returns the probability that chance alone gives `with` as many wrong trials, or more, if both go wrong equally
/// often.
pub(super) fn p_value(with: Count, without: Count) -> f64 {
    let (wrong, all) = (with.wrong + without.wrong, with.all + without.all);
    let log_all = log_choose(all, wrong);
    let of = |count: u32| {
        let log = log_choose(with.all, count) + log_choose(without.all, wrong - count);
        (log - log_all).exp()
    };
    (with.wrong..=wrong.min(with.all)).map(of).sum()
}

/// Returns the logarithm of the number of ways to choose `k` of `n`.
fn log_choose(n: u32, k: u32) -> f64 {
    let log = |number: u32| f64::from(number).ln();
    (0..k).map(|step| log(n - step) - log(step + 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (with, without, expected) in [
            ((5, 5), (0, 5), 1.0 / 252.0),
            ((4, 4), (0, 4), 1.0 / 70.0),
            ((3, 4), (1, 4), 17.0 / 70.0),
            ((9, 10), (0, 10), 10.0 / 167_960.0),
            ((0, 5), (0, 5), 1.0),
            ((5, 5), (5, 5), 1.0),
            ((0, 0), (0, 0), 1.0),
        ] {
            let count = |(wrong, all)| Count { wrong, all };
            let found = p_value(count(with), count(without));
            assert!((found - expected).abs() < 1e-9, "{with:?}, {without:?}: {found}");
        }
    }
}
