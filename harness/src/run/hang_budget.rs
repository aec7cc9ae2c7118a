//! The time that a device may cost a run without a result.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::verdict::Outcome;

/// The tests that the reason names.
const NAMED: usize = 3;

/// The time that was spent on tests that did not end, on probes, and on reruns after crashes.
pub(super) struct HangBudget {
    limit: Duration,
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    time: Duration,
    /// The tests that did not end, by their ids.
    tests: BTreeMap<String, Duration>,
}

impl HangBudget {
    pub fn new(limit: Duration) -> Self {
        Self { limit, spent: Mutex::default() }
    }

    /// Adds the time of a test that did not end.
    pub fn add_timeout(&self, test: String, time: Duration) {
        let mut spent = self.spent.lock();
        spent.time += time;
        *spent.tests.entry(test).or_default() += time;
    }

    /// Adds the time of a probe, or of a process that did not start or end.
    pub fn add(&self, time: Duration) {
        self.spent.lock().time += time;
    }

    /// Adds the time of a test that was run again, unless it did not end, which [`add_timeout`](Self::add_timeout)
    /// counts.
    pub fn add_rerun(&self, outcome: &Outcome, time: Duration) {
        if !matches!(outcome, Outcome::TimedOut { .. }) {
            self.add(time);
        }
    }

    /// Returns the reason why no more tests are run, if the budget is spent: the tests that cost most, and the keys
    /// that help.
    pub fn is_spent(&self) -> Option<String> {
        let spent = self.spent.lock();
        if spent.time < self.limit {
            return None;
        }
        let mut tests: Vec<_> = spent.tests.iter().collect();
        tests.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
        let time = |time: &Duration| format!("{:.0} s", time.as_secs_f64());
        let named =
            tests.iter().take(NAMED).map(|(test, spent)| format!("{test} ({})", time(spent)));
        let mut causes = named.collect::<Vec<_>>();
        if let others @ 1.. = tests.len().saturating_sub(NAMED) {
            causes.push(format!("more tests: {others}"));
        }
        let of_tests: Duration = spent.tests.values().sum();
        let rest = spent.time.saturating_sub(of_tests);
        if !rest.is_zero() {
            causes.push(format!(
                "probes, reruns, and workers that do not start or end ({})",
                time(&rest)
            ));
        }
        let help = match tests.is_empty() {
            true => "`hang-budget` may be larger",
            false => {
                "an expectation with a short `timeout` helps (`expect update` writes it), or a larger `hang-budget`"
            }
        };
        let limit = humantime::format_duration(self.limit);
        Some(format!("hang budget of {limit} spent ({}): {help}", causes.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_by_what_was_added() {
        let budget = HangBudget::new(Duration::from_secs(20));
        for (test, seconds) in [("s::a", 3), ("s::b", 1), ("s::c", 4), ("s::d", 1), ("s::b", 4)] {
            budget.add_timeout(test.to_owned(), Duration::from_secs(seconds));
        }
        budget.add(Duration::from_millis(6999));
        assert_eq!(budget.is_spent(), None);
        budget.add(Duration::from_millis(1));
        let others = HangBudget::new(Duration::from_secs(1));
        others.add(Duration::from_secs(1));
        assert_eq!(
            others.is_spent().as_deref(),
            Some(
                "hang budget of 1s spent (probes, reruns, and workers that do not start or end (1 s)): \
                 `hang-budget` may be larger"
            )
        );
        assert_eq!(
            budget.is_spent().as_deref(),
            Some(
                "hang budget of 20s spent (s::b (5 s), s::c (4 s), s::a (3 s), more tests: 1, \
                 probes, reruns, and workers that do not start or end (7 s)): an expectation with a short \
                 `timeout` helps (`expect update` writes it), or a larger `hang-budget`"
            )
        );
    }
}
