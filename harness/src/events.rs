//! The event log: the only truth of a run.
//!
//! One JSON object a line, appended as things happen, so that a runner that is killed loses
//! nothing that had finished. The terminal's matrix and the JUnit files are functions of
//! [`RunLog`](crate::run_log::RunLog), which is what reading the log back gives.

use std::time::{Duration, SystemTime};

use clmatrix::select::DeviceInfo;
use serde::{Deserialize, Serialize};

use crate::characterize::Characterization;
use crate::verdict::{Outcome, Verdict};

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
        /// Whether it was cut short (Ctrl-C).
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

/// A device under test, with the platform that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDevice {
    /// The stable slug, the part after `@` of a test's id.
    pub id: String,
    /// CL_PLATFORM_NAME, CL_PLATFORM_VENDOR and CL_PLATFORM_VERSION.
    pub platform: PlatformName,
    /// All that the device says of itself.
    pub info: DeviceInfo,
}

/// The strings that name a platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatformName {
    /// CL_PLATFORM_NAME.
    pub name: String,
    /// CL_PLATFORM_VENDOR.
    pub vendor: String,
    /// CL_PLATFORM_VERSION.
    pub version: String,
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
    /// Why the configuration expected something else than a pass, if it did.
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
    /// Where the test stands in the source, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<crate::verdict::Location>,
}

impl TestResult {
    /// The parts of the id before and after the last `@`.
    pub fn test_and_device(&self) -> (&str, &str) {
        self.test.rsplit_once('@').unwrap_or((&self.test, "host"))
    }

    /// Verdict and reason in a few lines, the message first.
    pub fn summary(&self) -> String {
        let verdict = self.verdict.name();
        match (&self.outcome, &self.expectation) {
            (Outcome::Passed, None) => verdict.to_owned(),
            (Outcome::Passed, Some(reason)) => {
                format!("{verdict}: it passed, but was expected not to: {reason}")
            }
            (outcome, None) => format!("{verdict}: {outcome}"),
            (outcome, Some(reason)) => format!("{verdict}: {outcome}\n  expected: {reason}"),
        }
    }

    /// The suite: what stands before the first `::`.
    pub fn suite(&self) -> &str {
        let (test, _) = self.test_and_device();
        test.split_once("::").map_or(test, |(suite, _)| suite)
    }
}

/// Times as text that people and other programs read.
mod rfc3339 {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_rfc3339_micros(*time))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        humantime::parse_rfc3339(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Durations as whole nanoseconds.
pub(crate) mod nanoseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}
