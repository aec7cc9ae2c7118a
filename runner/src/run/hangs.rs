//! The tests of a device that do not end: those of functions with cases that hang, and the time that they take of a run.
//!
//! After the second case of a function that does not end, the others get a short limit, since each may take the whole
//! limit.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::config::short_limit;
use crate::registry::FunctionId;
use crate::result::{SpentBudget, TestId};
use crate::run::entry::Entry;
use crate::verdict::Outcome;

/// The cases of a function that must hang before the limit is short.
const CASES: usize = 2;

/// The test functions of a device whose cases have passed or hung.
#[derive(Default)]
pub(super) struct Hangs(Mutex<HashMap<FunctionId, Cases, RandomState>>);

#[derive(Default)]
struct Cases {
    longest_pass: Duration,
    /// The cases that did not end, by their positions in the plan.
    hung: HashSet<Entry>,
}

impl Hangs {
    /// Records the end of a case.
    pub fn note(&self, function: FunctionId, position: Entry, outcome: &Outcome, time: Duration) {
        let mut functions = self.0.lock();
        let cases = functions.entry(function).or_default();
        match outcome {
            Outcome::Passed => cases.longest_pass = cases.longest_pass.max(time),
            Outcome::TimedOut { .. } => _ = cases.hung.insert(position),
            Outcome::Failed { .. }
            | Outcome::Crashed { .. }
            | Outcome::Skipped { .. }
            | Outcome::Ignored { .. }
            | Outcome::NotRun { .. } => {}
        }
    }

    /// Returns the short limit, if enough other cases have hung.
    pub fn limit(&self, function: FunctionId, position: Entry) -> Option<Duration> {
        let functions = self.0.lock();
        let cases = functions.get(&function)?;
        let others = cases.hung.iter().filter(|hung| **hung != position).count();
        (others >= CASES).then(|| short_limit(cases.longest_pass))
    }
}

/// The tests that the reason names.
const NAMED: usize = 3;

/// The time that was spent on tests that did not end, on probes, and on processes that did not start or end.
pub(super) struct HangBudget {
    limit: Duration,
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    /// The time that no test has taken.
    rest: Duration,
    /// The times of the tests that did not end, by their ids.
    tests: BTreeMap<TestId, Duration>,
}

impl HangBudget {
    pub fn new(limit: Duration) -> Self {
        Self { limit, spent: Mutex::default() }
    }

    /// Adds the time of a test that did not end.
    pub fn add_timeout(&self, test: TestId, time: Duration) {
        *self.spent.lock().tests.entry(test).or_default() += time;
    }

    /// Adds the time of a probe, or of a process that did not start or end.
    pub fn add(&self, time: Duration) {
        self.spent.lock().rest += time;
    }

    /// Returns the use of the budget, if it is spent.
    pub fn spent(&self) -> Option<SpentBudget> {
        let spent = self.spent.lock();
        if spent.rest + spent.tests.values().sum::<Duration>() < self.limit {
            return None;
        }
        let mut tests: Vec<_> = spent.tests.iter().collect();
        tests.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
        let named = tests.iter().take(NAMED);
        Some(SpentBudget {
            limit: self.limit,
            tests: named.map(|(test, time)| ((*test).clone(), time.as_nanos() as u64)).collect(),
            others: tests.len().saturating_sub(NAMED),
            rest: spent.rest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_by_what_was_added() {
        let budget = HangBudget::new(Duration::from_secs(20));
        for (test, seconds) in [("s::a", 3), ("s::b", 1), ("s::c", 4), ("s::d", 1), ("s::b", 4)] {
            budget.add_timeout(test.into(), Duration::from_secs(seconds));
        }
        budget.add(Duration::from_millis(6999));
        assert_eq!(budget.spent(), None);
        budget.add(Duration::from_millis(1));
        let others = HangBudget::new(Duration::from_secs(1));
        others.add(Duration::from_secs(1));
        assert_eq!(
            others.spent().map(|spent| spent.to_string()).as_deref(),
            Some(
                "hang budget of 1s spent (probes, and workers that do not start or end (1 s)): \
                 `hang-budget` may be larger"
            )
        );
        assert_eq!(
            budget.spent().map(|spent| spent.to_string()).as_deref(),
            Some(
                "hang budget of 20s spent (s::b (5 s), s::c (4 s), s::a (3 s), more tests: 1, \
                 probes, and workers that do not start or end (7 s)): an expectation with a short \
                 `timeout` helps (`expect update` writes it), or a larger `hang-budget`"
            )
        );
    }
}
