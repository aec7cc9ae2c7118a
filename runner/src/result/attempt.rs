//! One execution of a test.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::serde_time::{Nanoseconds, Rfc3339, is_default};
use crate::stacks::Stacks;
use crate::verdict::Outcome;

/// One execution of a test, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Wall time of the test itself.
    #[serde(rename = "duration_ns", with = "Nanoseconds")]
    pub duration: Duration,
    /// The number of this execution of the test, from 1.
    #[serde(rename = "attempt")]
    pub number: u32,
    /// The number of the worker that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// The time at which it was started.
    #[serde(with = "Rfc3339")]
    pub started: SystemTime,
    /// The context of the test from the worker.
    #[serde(default, skip_serializing_if = "is_default")]
    pub context: ContextUse,
    /// The properties that the test recorded by [`record_property`](crate::worker::property::record_property).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<(String, String)>,
    /// The changes that the test left behind in its process, and the objects of the driver, a line each:
    /// `RLIMIT_NOFILE 1024 -> 0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// The resident memory of the worker after the test, in bytes. Absent if it differs by less than 1 MiB
    /// from the last one in the log.
    #[serde(rename = "resident_bytes", default, skip_serializing_if = "Option::is_none")]
    pub resident: Option<u64>,
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

/// The context that a test had from its worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ContextUse {
    /// None.
    None,
    /// A context that, as known to the runner, no test had before.
    #[default]
    Fresh,
    /// A context that another test had before.
    Used,
}

impl Attempt {
    /// Creates the first attempt at a test, now, without a worker and a duration.
    pub fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            duration: Duration::ZERO,
            number: 1,
            worker: None,
            started: SystemTime::now(),
            context: ContextUse::Fresh,
            properties: Vec::new(),
            left_behind: Vec::new(),
            resident: None,
            stdout: String::new(),
            stderr: String::new(),
            stacks: None,
        }
    }

    /// Returns the time at which it ended.
    pub fn end(&self) -> SystemTime {
        self.started.checked_add(self.duration).unwrap_or(self.started)
    }
}
