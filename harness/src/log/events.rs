//! The event log: the only truth of a run.
//!
//! One JSON object a line, appended as things happen, so that a runner that is killed loses
//! nothing that had finished. The terminal's matrix and the JUnit files are functions of
//! [`RunLog`](super::read::RunLog), which is what reading the log back gives.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::characterize::Characterization;
use crate::devices::failure::FailedDriver;
use crate::devices::run_device::RunDevice;
use crate::serde_time::{nanoseconds, rfc3339};
use crate::verdict::{ExpectedStatus, Outcome, Verdict};

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The first line: what is run, where, and on what.
    Run(RunHeader),
    /// Every test that is to run, so that a log that ends early tells what is missing.
    Plan {
        /// Their ids, `suite::test::case@device`.
        tests: Vec<String>,
    },
    /// A device that the profile expects is not there.
    DeviceAbsent {
        /// The id or glob from the profile.
        expected: String,
    },
    /// A driver of this machine shows no platform.
    DriverFailed {
        /// The driver and the reason.
        #[serde(flatten)]
        failed: FailedDriver,
        /// True if this fails the run (`strict-drivers`).
        strict: bool,
    },
    /// What a device is like; for each device on which a test is run, before its first, as far as the
    /// driver tells without building anything, and again after its last, with what takes a build; once,
    /// with all, where an earlier run has found that. What is said last counts.
    Characterized {
        /// Its id.
        device: String,
        /// What is known.
        #[serde(flatten)]
        characterization: Option<Box<Characterization>>,
        /// Why nothing is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A test was handed to a worker.
    Started {
        /// Its id.
        test: String,
        /// When.
        #[serde(with = "rfc3339")]
        time: SystemTime,
    },
    /// A test ended, in whatever way. A later line for the same test replaces an earlier one.
    Finished(TestResult),
    /// The run is over.
    End {
        /// True if it was cut short (Ctrl-C).
        interrupted: bool,
        /// Wall time of the run.
        #[serde(rename = "duration_ns", with = "nanoseconds")]
        duration: Duration,
    },
}

/// What was run, where, when, and on which devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Version of this format.
    pub format: u32,
    /// Unique per run.
    pub run_id: String,
    /// When the run began.
    #[serde(with = "rfc3339")]
    pub time: SystemTime,
    /// The machine's name.
    pub host: String,
    /// Names and versions of what ran the tests (`clmatrix-harness`, the tests' crate).
    pub versions: Vec<(String, String)>,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    /// How a person reruns one test; its id is appended, quoted.
    pub rerun_command: String,
    /// The selected devices.
    pub devices: Vec<RunDevice>,
}

/// The result of one test on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// `suite::test::case@device`; tests that need no device have the device `host`.
    pub test: String,
    /// What happened.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What that means.
    pub verdict: Verdict,
    /// The status that the configuration expected instead of a pass. Logs of earlier versions have
    /// the reason alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_status: Option<ExpectedStatus>,
    /// The reason that the configuration gives for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expectation: Option<String>,
    /// Wall time of the test itself.
    #[serde(rename = "duration_ns", with = "nanoseconds")]
    pub duration: Duration,
    /// When it was started.
    #[serde(with = "rfc3339")]
    pub started: SystemTime,
    /// What it wrote to standard output, up to the cap.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What it wrote to standard error, up to the cap.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// What it measured or found out, by [`record_property`](crate::record_property).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<(String, String)>,
    /// The changes that the test left behind in its process, a line each: `RLIMIT_NOFILE 1024 -> 0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Where the test stands in the source, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<crate::verdict::Location>,
}

impl TestResult {
    /// The parts of the id before and after the last `@`.
    pub fn test_and_device(&self) -> (&str, &str) {
        self.test.rsplit_once('@').unwrap_or((&self.test, "host"))
    }

    /// The expectation as text, `expected: crash: REASON`, if there is one.
    pub fn expected(&self) -> Option<String> {
        let reason = self.expectation.as_deref()?;
        Some(match self.expected_status {
            Some(status) => format!("expected: {}: {reason}", status.name()),
            None => format!("expected: {reason}"),
        })
    }

    /// The verdict, the outcome, and below them the expectation.
    pub fn summary(&self) -> String {
        let verdict = self.verdict.name();
        let text = match &self.outcome {
            Outcome::Passed if self.verdict == Verdict::Pass => verdict.to_owned(),
            outcome => format!("{verdict}: {outcome}"),
        };
        match self.expected() {
            // An expected skip has the reason as its outcome.
            Some(expected) if self.verdict != Verdict::Skip => format!("{text}\n  {expected}"),
            _ => text,
        }
    }

    /// The suite: what stands before the first `::`.
    pub fn suite(&self) -> &str {
        let (test, _) = self.test_and_device();
        test.split_once("::").map_or(test, |(suite, _)| suite)
    }
}

/// Returns the changes that a test left behind, a line each: `left behind: umask 022 -> 077`.
pub(crate) fn left_behind_text(notes: &[String]) -> String {
    let lines: Vec<_> = notes.iter().map(|note| format!("left behind: {note}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::judged;
    use crate::verdict::Expectation;

    /// `outcome` where `status` was expected.
    fn result(outcome: Outcome, status: ExpectedStatus) -> TestResult {
        judged("s::t@d", outcome, Some(Expectation { status, reason: "bug 7".to_owned() }))
    }

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".to_owned(), location: None }
    }

    #[test]
    fn a_summary_names_the_expected_status_and_its_reason() {
        use ExpectedStatus::{Crash, Fail, Skip, Timeout};
        let crashed = Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let skipped = Outcome::Skipped { reason: "bug 7".to_owned() };
        let cases = [
            (result(failed(), Crash), "fail: no\n  expected: crash: bug 7"),
            (result(failed(), Fail), "expected-fail: no\n  expected: fail: bug 7"),
            (result(crashed, Timeout), "crash: SIGSEGV\n  expected: timeout: bug 7"),
            (result(Outcome::Passed, Fail), "unexpected-pass: passed\n  expected: fail: bug 7"),
            (result(skipped, Skip), "skip: bug 7"),
            (judged("s::t@d", failed(), None), "fail: no"),
            (judged("s::t@d", Outcome::Passed, None), "pass"),
        ];
        for (result, expected) in cases {
            assert_eq!(result.summary(), expected);
        }
    }

    #[test]
    fn a_result_without_the_expected_status_is_read() {
        let new = result(failed(), ExpectedStatus::Crash);
        let mut json = serde_json::to_value(&new).unwrap();
        assert_eq!(serde_json::from_value::<TestResult>(json.clone()).unwrap(), new);
        json.as_object_mut().unwrap().remove("expected_status").unwrap();
        let old: TestResult = serde_json::from_value(json).unwrap();
        assert_eq!(old.summary(), "fail: no\n  expected: bug 7");
    }
}
