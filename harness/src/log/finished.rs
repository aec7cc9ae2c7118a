//! The line of a `finished` event as it is read: flat, and with names that later versions may have added.

use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Deserialize;

use super::test_result::{TestResult, first};
use crate::expected_statuses::ExpectedStatuses;
use crate::serde_time::{nanoseconds, rfc3339};
use crate::stacks::Stacks;
use crate::verdict::{Location, Outcome, Verdict};

/// A test ended: the result of one execution on one device.
#[derive(Deserialize, JsonSchema)]
pub(super) struct FinishedLine {
    /// `suite::test::case@device`; tests that need no device have the device `host`.
    test: String,
    /// The outcome: `passed`, `failed`, `crashed`, `timed-out`, `skipped`, `ignored` or `not-run`.
    outcome: String,
    /// The message of a failure.
    message: Option<String>,
    /// The place of a failure.
    location: Option<Location>,
    /// The signal or the exit status of a crash.
    how: Option<String>,
    /// The time limit that was reached.
    limit_ns: Option<u64>,
    /// The reason why a test was skipped, ignored or not run.
    reason: Option<String>,
    /// The verdict: the outcome in the light of the expectation.
    verdict: Verdict,
    /// The status, or several, that the configuration expected.
    expected_status: Option<ExpectedStatuses>,
    /// The reason that the configuration gives for it.
    expectation: Option<String>,
    /// The number of the expectation.
    expectation_number: Option<u32>,
    /// True if the run may succeed with this result, although it is flaky or an unexpected pass.
    #[serde(default)]
    tolerated: bool,
    /// True if it is a crash that may have another cause than the test.
    #[serde(default)]
    doubtful: bool,
    /// The verdict of this attempt, or of the one that it repeats, in a context that another test had before.
    /// Absent if it was as expected.
    reused_context: Option<Verdict>,
    /// Counts the executions of this test on this device, from 1.
    #[serde(default = "first")]
    attempt: u32,
    /// True if the test runs again in this round: the result is not its last.
    #[serde(default)]
    repeated: bool,
    /// The round of the device over its tests, from 1.
    #[serde(default = "first")]
    round: u32,
    /// The name of the machine that ran the test. Absent if it is that of the run.
    host: Option<Box<str>>,
    /// The number of the worker.
    worker: Option<u32>,
    /// The slot of the device.
    slot: Option<u32>,
    /// Wall time of the test.
    #[serde(rename = "duration_ns", with = "nanoseconds")]
    #[schemars(with = "u64")]
    duration: Duration,
    /// The time of the start.
    #[serde(with = "rfc3339")]
    #[schemars(with = "String")]
    started: SystemTime,
    /// The captured standard output.
    #[serde(default)]
    stdout: String,
    /// The captured standard error.
    #[serde(default)]
    stderr: String,
    /// Names and values that the test recorded.
    #[serde(default)]
    properties: Vec<(String, String)>,
    /// The changes that the test left behind in its process, and the objects of the driver.
    #[serde(default)]
    left_behind: Vec<String>,
    /// The resident memory of the worker after the test, if it has changed by 1 MiB.
    resident_bytes: Option<u64>,
    /// The native stacks of the worker, if it crashed or reached the time limit.
    stacks: Option<Box<Stacks>>,
}

impl FinishedLine {
    fn outcome(&mut self) -> Outcome {
        let reason = self.reason.take();
        match self.outcome.as_str() {
            "passed" => Outcome::Passed,
            "failed" => Outcome::Failed {
                message: self.message.take().unwrap_or_default(),
                location: self.location.take(),
            },
            "crashed" => Outcome::Crashed { how: self.how.take().unwrap_or_default() },
            "timed-out" => {
                let limit = Duration::from_nanos(self.limit_ns.unwrap_or_default());
                Outcome::TimedOut { limit }
            }
            "skipped" => Outcome::Skipped { reason: reason.unwrap_or_default() },
            "ignored" => Outcome::Ignored { reason },
            "not-run" => Outcome::NotRun { reason: reason.unwrap_or_default() },
            name => Outcome::Unknown { name: name.to_owned() },
        }
    }
}

impl From<FinishedLine> for TestResult {
    fn from(mut line: FinishedLine) -> Self {
        let outcome = line.outcome();
        let is_known = !matches!(outcome, Outcome::Unknown { .. });
        Self {
            test: line.test,
            outcome,
            verdict: if is_known { line.verdict } else { Verdict::Unknown },
            expected_status: line.expected_status,
            expectation: line.expectation,
            expectation_number: line.expectation_number,
            tolerated: line.tolerated,
            doubtful: line.doubtful,
            reused_context: line.reused_context,
            attempt: line.attempt,
            repeated: line.repeated,
            round: line.round,
            host: line.host,
            worker: line.worker,
            slot: line.slot,
            duration: line.duration,
            started: line.started,
            stdout: line.stdout,
            stderr: line.stderr,
            properties: line.properties,
            left_behind: line.left_behind,
            resident: line.resident_bytes,
            stacks: line.stacks,
            source: None,
            earlier: Vec::new(),
            rounds: None,
            output_at: None,
        }
    }
}
