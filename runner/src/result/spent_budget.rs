//! A hang budget that is spent.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::test_id::TestId;
use crate::serde_time::Nanoseconds;

/// A hang budget that is spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpentBudget {
    /// The key `hang-budget`.
    #[serde(rename = "limit_ns", with = "Nanoseconds")]
    pub limit: Duration,
    /// The tests that took the most time, by their ids, with their times in nanoseconds.
    pub tests: Vec<(TestId, u64)>,
    /// The number of other tests that did not end.
    pub others: usize,
    /// The time that no test has taken.
    #[serde(rename = "rest_ns", with = "Nanoseconds")]
    pub rest: Duration,
}

impl fmt::Display for SpentBudget {
    /// Writes the tests that took the most time, and the keys that help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{:.0} s", time.as_secs_f64());
        let named = self.tests.iter().map(|(test, time)| (test, Duration::from_nanos(*time)));
        let named = named.map(|(test, time)| format!("{test} ({})", seconds(time)));
        let mut causes: Vec<_> = named.collect();
        if self.others > 0 {
            causes.push(format!("more tests: {}", self.others));
        }
        if !self.rest.is_zero() {
            let rest = seconds(self.rest);
            causes.push(format!("probes, and workers that do not start or end ({rest})"));
        }
        let help = match self.tests.is_empty() {
            true => "`hang-budget` may be larger",
            false => {
                "an expectation with a short `timeout` helps (`expect update` writes it), or a larger `hang-budget`"
            }
        };
        let limit = humantime::format_duration(self.limit);
        write!(f, "hang budget of {limit} spent ({}): {help}", causes.join(", "))
    }
}
