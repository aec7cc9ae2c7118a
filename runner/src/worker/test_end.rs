//! The end of a test, as reported by its worker.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::result::attempt::ContextUse;
use crate::verdict::Outcome;

/// The end of a test, as reported by its worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// Wall time of the test itself.
    pub duration: Duration,
    /// The properties that the test recorded.
    pub properties: Vec<(String, String)>,
    /// The changes that the test left behind in the process.
    pub left_behind: Vec<String>,
    /// The objects of the driver that the test left behind, a line each kind.
    pub leaks: Vec<String>,
    /// The resident memory, if it has changed.
    pub resident: Option<u64>,
    /// The context that the test had.
    pub context: ContextUse,
    /// The worker afterwards.
    pub after: WorkerAfter,
}

/// A worker after a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerAfter {
    /// Nothing of a test is left.
    Clean,
    /// It keeps a context that a test has had.
    KeepsUsedContext,
    /// A test has failed in it, and left nothing that the worker has found.
    SurvivedFailure,
    /// It must not run another test.
    Spent,
}

impl WorkerAfter {
    /// Returns the worker after another test. A failure remains the reason for doubt.
    pub fn then(self, next: Self) -> Self {
        match (self, next) {
            (_, Self::Spent) => Self::Spent,
            (Self::SurvivedFailure, _) => Self::SurvivedFailure,
            (_, next) => next,
        }
    }
}
