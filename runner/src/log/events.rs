//! The event log: the only source of a run's results.
//!
//! One JSON object a line, appended as events happen, so that the log of a runner that is killed has all finished
//! tests. The terminal's matrix and the JUnit files are functions of [`RunLog`](super::run_log::RunLog), the sum of
//! the log. `docs/log.md` describes the format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::plan::{PlannedDevice, PlannedTests};
use super::{DeviceRecord, RunHeader};
use crate::config::WrittenExpectation;
use crate::devices::failure::FailedDriver;
use crate::result::not_run_reason::NotRunReason;
use crate::result::test_id::TestId;
use crate::result::test_result::TestResult;
use crate::serde_time::{Nanoseconds, Rfc3339};
use crate::verdict::Outcome;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The first line: the description of the run.
    Run(Box<RunHeader>),
    /// An expectation of the configuration.
    Expectation(Arc<WrittenExpectation>),
    /// A selected device.
    Device(Box<DeviceRecord>),
    /// The next part of the list of tests.
    Plan(PlannedTests),
    /// The tests of the list that are to run on one device, or a part of them.
    PlanDevice(PlannedDevice),
    /// A device that the profile expects was not found.
    DeviceAbsent(DeviceAbsent),
    /// A driver of this machine shows no platform.
    DriverFailed(DriverFailed),
    /// The properties of a device, queried once, before its first test. A device on which no test is run
    /// has none.
    Characterized(Characterized),
    /// The measurements of a device, taken before the first test of the run.
    Measured(DeviceMeasurements),
    /// A worker was started for tests.
    WorkerStarted(WorkerStarted),
    /// A test was handed to a worker.
    Started(Started),
    /// A test ended, in any way. The last line for a test has its result.
    Finished(Box<Finished>),
    /// A device was probed.
    Probed(Probed),
    /// A device no longer works. Its other tests are not run.
    DeviceLost(DeviceLost),
    /// The run is over.
    End(End),
}

impl Event {
    /// Returns the event of the result of a test.
    pub fn finished(result: TestResult) -> Self {
        Self::Finished(Box::new(Finished { result, repeated: false }))
    }

    /// Returns the event of a result of an attempt that runs again.
    pub fn repeated(result: TestResult) -> Self {
        Self::Finished(Box::new(Finished { result, repeated: true }))
    }
}

/// A device that the profile expects was not found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceAbsent {
    /// The id or glob from the profile; with a number, also the devices that were found.
    pub expected: String,
}

/// A driver of this machine shows no platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverFailed {
    /// The driver, and the reason.
    #[serde(flatten)]
    pub failed: FailedDriver,
    /// True if this fails the run (`strict-drivers`).
    pub strict: bool,
}

/// The properties of a device, or the reason why they are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Characterized {
    /// The device's id.
    pub device: String,
    /// The values by their names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub properties: IndexMap<String, String>,
    /// The reason why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The measurements of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceMeasurements {
    /// The device's id.
    pub device: String,
    /// The values with their units and spreads, or the reasons why there are none; without samples.
    pub measured: Vec<Map<String, Value>>,
}

/// A worker was started for tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerStarted {
    /// The id of the device, or `host`.
    pub device: String,
    /// The number of the worker, unless none could be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// The time of the start.
    #[serde(with = "Rfc3339")]
    pub time: SystemTime,
    /// The time until the worker was ready for its first test.
    #[serde(rename = "duration_ns", with = "Nanoseconds")]
    pub duration: Duration,
    /// The reason why no worker could be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The device that a worker found instead with the variable that hides the other devices of the driver
    /// (`visible_by`), if the workers of the device continue without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees_others: Option<String>,
}

/// A test was handed to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// The test: its position in the list of tests, from 0.
    pub test: u32,
    /// The device: its id, `host` or `no-device`.
    pub device: String,
    /// The time.
    #[serde(with = "Rfc3339")]
    pub time: SystemTime,
    /// Counts the executions of this test on this device, from 1.
    pub attempt: u32,
    /// The number of the worker, unique in the run, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// The slot of the device, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// The process id of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// A test ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finished {
    /// The result of the attempt.
    #[serde(flatten)]
    pub result: TestResult,
    /// True if the test runs again, because its result is in doubt or by `retries`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// A device was probed, in a worker of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probed {
    /// The id of the device.
    pub device: String,
    /// The time of the start.
    #[serde(with = "Rfc3339")]
    pub time: SystemTime,
    /// The failure, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The time for the worker and the probe.
    #[serde(rename = "duration_ns", with = "Nanoseconds")]
    pub duration: Duration,
}

/// A device no longer works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceLost {
    /// The id of the device.
    pub device: String,
    /// The reason why the last probe failed.
    pub reason: String,
    /// The id of the test after which the probes failed; absent if the device was lost before its first test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<TestId>,
    /// The ids of the tests that ran and did not pass since the last pass or good probe. The device may be
    /// the cause.
    pub suspects: Vec<TestId>,
}

impl DeviceLost {
    /// Returns the reason why the other tests of the device are not run.
    pub fn not_run(&self) -> NotRunReason {
        NotRunReason::DeviceLost { error: self.reason.clone() }
    }

    /// Returns whether a test was not run since this device was lost.
    pub fn is_reason_of(&self, result: &TestResult) -> bool {
        matches!(
            &result.attempt.outcome,
            Outcome::NotRun { reason: NotRunReason::DeviceLost { .. } }
        ) && result.test.device() == self.device
    }
}

/// The run is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// True if it was cut short: by Ctrl-C, a deadline, or unexpected results.
    pub interrupted: bool,
    /// Wall time of the run, with that of the runs that it resumes.
    #[serde(rename = "duration_ns", with = "Nanoseconds")]
    pub duration: Duration,
    /// The exit status of `clmatrix run`.
    pub exit_status: u8,
    /// The number of results of each verdict.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
}
