//! One execution of a test.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::ended::Ended;
use super::findings::Findings;
use crate::serde_time::Rfc3339;
use crate::stacks::Stacks;
use crate::verdict::{Outcome, Verdict};

/// One execution of a test, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// The end.
    #[serde(flatten)]
    pub ended: Ended,
    /// The number of this execution of the test, from 1.
    #[serde(rename = "attempt")]
    pub number: u32,
    /// The number of the worker that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// The time at which it was started.
    #[serde(with = "Rfc3339")]
    pub started: SystemTime,
    /// The verdict of this attempt, or of the one that it repeats, in a context that another test had before, or in
    /// a worker that has outlived an expected failure, if that was unexpected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_context: Option<Verdict>,
    /// Its standard output, up to the cap.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Its standard error, up to the cap.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The native stacks of the worker, if it crashed or reached the time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Box<Stacks>>,
}

impl Attempt {
    /// Makes the first attempt at a test, now, without a worker and a duration.
    pub fn new(outcome: Outcome) -> Self {
        Self {
            ended: Ended { outcome, duration: Duration::ZERO, findings: Findings::default() },
            number: 1,
            worker: None,
            started: SystemTime::now(),
            reused_context: None,
            stdout: String::new(),
            stderr: String::new(),
            stacks: None,
        }
    }

    /// The time at which it ended.
    pub fn end(&self) -> SystemTime {
        self.started.checked_add(self.duration).unwrap_or(self.started)
    }
}

// An attempt reads as its end.
impl Deref for Attempt {
    type Target = Ended;

    fn deref(&self) -> &Ended {
        &self.ended
    }
}

impl DerefMut for Attempt {
    fn deref_mut(&mut self) -> &mut Ended {
        &mut self.ended
    }
}
