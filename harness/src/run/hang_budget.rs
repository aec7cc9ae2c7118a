//! The time that a device may cost a run without a result.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    crashes: usize,
    /// The processes that did not end after their tests.
    ends: usize,
}

impl HangBudget {
    pub fn new(limit: Duration) -> Self {
        Self { limit, spent: Mutex::default() }
    }

    /// Adds the time of a test that did not end.
    pub fn add_timeout(&self, test: String, time: Duration) {
        let mut spent = self.spent();
        spent.time += time;
        *spent.tests.entry(test).or_default() += time;
    }

    /// Adds a crash after which the test runs again.
    pub fn add_crash(&self) {
        self.spent().crashes += 1;
    }

    /// Adds a process that did not end within a limit after its last test.
    pub fn add_end(&self, limit: Duration) {
        let mut spent = self.spent();
        spent.time += limit;
        spent.ends += 1;
    }

    /// Adds the time of a probe, or of a worker that did not start or leave.
    pub fn add(&self, time: Duration) {
        self.spent().time += time;
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
        let spent = self.spent();
        (spent.time >= self.limit).then(|| {
            let Spent { tests, crashes, ends, .. } = &*spent;
            let mut tests: Vec<_> = tests.iter().collect();
            tests.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
            let named = tests.iter().take(NAMED);
            let time = |time: Duration| format!("{:.0} s", time.as_secs_f64());
            let mut causes: Vec<_> =
                named.map(|(test, spent)| format!("{test} ({})", time(**spent))).collect();
            let others = [
                ("more tests", tests.len().saturating_sub(NAMED)),
                ("crashes looked into", *crashes),
                ("processes that did not end after their tests", *ends),
            ];
            let others = others.into_iter().filter(|(_, count)| *count > 0);
            causes.extend(others.map(|(what, count)| format!("{what}: {count}")));
            if tests.is_empty() {
                causes.push("probes and workers that do not start or leave".to_owned());
            }
            let causes = causes.join(", ");
            let limit = humantime::format_duration(self.limit);
            if tests.is_empty() {
                return format!("hang budget of {limit} spent ({causes}): `hang-budget` may be larger");
            }
            format!(
                "hang budget of {limit} spent ({causes}): an expectation with a short `timeout` helps \
                 (`expect update` writes it), or a larger `hang-budget`"
            )
        })
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
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
        budget.add_crash();
        budget.add(Duration::from_millis(6999));
        assert_eq!(budget.is_spent(), None);
        budget.add_end(Duration::from_millis(1));
        let others = HangBudget::new(Duration::from_secs(1));
        others.add(Duration::from_secs(1));
        assert_eq!(
            others.is_spent().as_deref(),
            Some(
                "hang budget of 1s spent (probes and workers that do not start or leave): \
                 `hang-budget` may be larger"
            )
        );
        assert_eq!(
            budget.is_spent().as_deref(),
            Some(
                "hang budget of 20s spent (s::b (5 s), s::c (4 s), s::a (3 s), more tests: 1, \
                 crashes looked into: 1, processes that did not end after their tests: 1): an \
                 expectation with a short `timeout` helps (`expect update` writes it), or a larger \
                 `hang-budget`"
            )
        );
    }
}
