//! The time that a device may cost a run without a result.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::verdict::Outcome;

/// The time that was spent on tests that did not end, on probes, and on reruns after crashes.
pub(super) struct HangBudget {
    limit: Duration,
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    time: Duration,
    /// The tests that did not end, by their positions in the plan.
    timeouts: HashSet<usize>,
    crashes: usize,
    /// The processes that did not end after their tests.
    ends: usize,
}

impl HangBudget {
    pub fn new(limit: Duration) -> Self {
        Self { limit, spent: Mutex::default() }
    }

    /// Adds the time of a test that did not end. The test counts once.
    pub fn add_timeout(&self, position: usize, time: Duration) {
        let mut spent = self.spent();
        spent.time += time;
        spent.timeouts.insert(position);
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

    /// Returns the reason why no more tests are run, if the budget is spent.
    pub fn is_spent(&self) -> Option<String> {
        let spent = self.spent();
        (spent.time >= self.limit).then(|| {
            format!(
                "hang budget spent (tests that did not end: {}, crashes looked into: {}, \
                 processes that did not end after their tests: {})",
                spent.timeouts.len(),
                spent.crashes,
                spent.ends
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
        [0, 1, 2, 1, 0]
            .into_iter()
            .for_each(|position| budget.add_timeout(position, Duration::ZERO));
        budget.add(Duration::from_secs(18));
        budget.add_crash();
        budget.add(Duration::from_millis(1999));
        assert_eq!(budget.is_spent(), None);
        budget.add(Duration::from_millis(1));
        let reason = |ends: usize| {
            format!(
                "hang budget spent (tests that did not end: 3, crashes looked into: 1, \
                 processes that did not end after their tests: {ends})"
            )
        };
        assert_eq!(budget.is_spent(), Some(reason(0)));
        budget.add_end(Duration::ZERO);
        assert_eq!(budget.is_spent(), Some(reason(1)));
    }
}
