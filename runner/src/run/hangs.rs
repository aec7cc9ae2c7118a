//! The test functions of a device with cases that hang.
//!
//! After the second case of a function that does not end, the others get a short limit, since each may take the whole
//! limit.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use parking_lot::Mutex;

use crate::config::short_limit;
use crate::registry::FunctionId;
use crate::run::entry::Entry;
use crate::verdict::Outcome;

/// The cases of a function that must hang before the limit is short.
const CASES: usize = 2;

/// The test functions of a device whose cases have passed or hung.
#[derive(Default)]
pub(super) struct Hangs(Mutex<HashMap<FunctionId, Cases>>);

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
