//! Devices and results for the tests of this crate and of clmatrix-cli.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clmatrix::select::{DeviceInfo, DeviceType, Version};

use crate::config::{DeviceSettings, Expectation, Slots, WrittenExpectation};
use crate::devices::failure::{DriverFailure, FailedDriver, FailureKind};
use crate::devices::run_device::{PlatformName, RunDevice};
use crate::log::run_header::Parent;
use crate::log::{DeviceRecord, Event, FORMAT, LogError, PlannedTest, RunHeader, RunLog, Sum};
use crate::result::attempt::Attempt;
use crate::result::blame::Blame;
use crate::result::crash_cause::CrashCause;
use crate::result::not_run_reason::NotRunReason;
use crate::result::test_result::TestResult;
use crate::verdict::{ExpectedStatus, Location, Outcome, Verdict};

/// 2026-01-02T03:04:05Z.
pub const TIME: Duration = Duration::from_secs(1_767_323_045);

/// Returns a driver whose library does not exist.
pub fn failed_driver() -> FailedDriver {
    let reason = "no such file: libx.so: cannot open shared object file: No such file or directory";
    FailedDriver {
        driver: "/etc/OpenCL/vendors/x.icd".to_owned(),
        named: false,
        failure: DriverFailure::new(FailureKind::NoSuchFile, reason),
    }
}

/// A device of the platform `platform`.
pub fn device(id: &str, platform: &str) -> RunDevice {
    RunDevice {
        id: id.to_owned(),
        platform: PlatformName {
            name: platform.to_owned(),
            vendor: format!("{platform} people"),
            version: "OpenCL 1.2".to_owned(),
        },
        info: {
            let mut info = DeviceInfo::default();
            info.name = format!("{platform} device");
            info.vendor = "GenuineSilicon".to_owned();
            info.device_type = DeviceType::CPU;
            info.driver_version = "3.1".to_owned();
            info.version = "OpenCL 1.2 sample".to_owned();
            info.opencl = Version { major: 1, minor: 2 };
            info.fp64 = true;
            info.images = true;
            info.global_mem_size = 1 << 30;
            info.max_mem_alloc_size = 1 << 28;
            info.local_mem_size = 1 << 15;
            info
        },
    }
}

/// A device of a host as the log has it.
pub fn device_record(device: RunDevice, host: &str) -> DeviceRecord {
    DeviceRecord {
        key: format!("{host}/{}", device.id),
        device,
        driver: None,
        visible_by: None,
        settings: DeviceSettings {
            timeout: Duration::from_secs(60),
            slots: Slots::Count(1),
            ..DeviceSettings::default()
        },
    }
}

/// The first line of a log.
pub fn header(devices: Vec<RunDevice>) -> RunHeader {
    let header = serde_json::json!({
        "format": FORMAT,
        "run_id": "run-1",
        "time": "2026-01-02T03:04:05Z",
        "host": "bench",
        "versions": [["clmatrix-runner", "0.1.0"]],
        "target": "matrix",
        "command_line": ["clmatrix", "run"],
        "rerun_command": "clmatrix run --exact",
        "profile": "default",
    });
    let header: RunHeader = serde_json::from_value(header).expect("it has what a header needs");
    RunHeader { devices, ..header }
}

/// Returns the parent of a run that resumes the run of this id.
pub fn goes_on_with(run_id: &str) -> Parent {
    Parent { run_id: run_id.to_owned(), goes_on: true, difference: None }
}

/// Returns the sum of a whole run with these results.
pub fn run_log(devices: Vec<RunDevice>, results: Vec<TestResult>, duration: Duration) -> RunLog {
    let new = RunLog::new(header(devices));
    RunLog { results, interrupted: false, has_ended: true, duration, ..new }
}

/// Returns the sum of these events, if they make a log.
pub fn log_of(events: impl IntoIterator<Item = Event>) -> Result<RunLog, LogError> {
    let mut sum = Sum::default();
    for event in events {
        sum.add(event, None)?;
    }
    sum.log().ok_or(LogError::NoHeader)?;
    Ok(sum.finish())
}

/// Gives the test of this path its place in the source.
pub fn plan_at(log: &mut RunLog, path: &str, file: &str, line: u32) {
    let known =
        PlannedTest { file: Some(file.into()), line: Some(line), ..PlannedTest::unplanned(path) };
    log.tests.insert(path.to_owned(), known);
}

/// Returns the result of `test` without an expectation.
pub fn result(test: &str, outcome: Outcome) -> TestResult {
    judged(test, outcome, None)
}

impl Outcome {
    /// Returns the outcome of a crash by a signal of this name.
    pub fn signal(name: &str) -> Self {
        Self::Crashed { cause: CrashCause::Signal { signal: name.to_owned() } }
    }

    /// Returns the outcome of a test that another program did not run.
    pub fn not_run(error: &str) -> Self {
        Self::NotRun { reason: NotRunReason::Program { error: error.to_owned() } }
    }
}

/// Returns the outcome of a failed assertion at line 41 of `suites/src/pool.rs`.
pub fn failed(message: &str) -> Outcome {
    let location = Some(Location { file: "suites/src/pool.rs".into(), line: 41 });
    Outcome::Failed { message: message.to_owned(), location }
}

/// Returns the result of a test whose first attempt had this outcome, and that passed at its second attempt.
pub fn flaky(test: &str, outcome: Outcome) -> TestResult {
    TestResult { verdict: Verdict::Flaky, ..passed_after(result(test, outcome)) }
}

/// Returns the result of a test that passed in a fresh context, after a first attempt in a used context with this
/// outcome.
pub fn differing(test: &str, outcome: Outcome) -> TestResult {
    passed_after(TestResult { blame: Blame::UsedContext, ..result(test, outcome) })
}

/// Returns the result of a test that has crashed after others, and passes alone.
pub fn passes_alone(test: &str) -> TestResult {
    let crashed = result(test, Outcome::signal("SIGSEGV"));
    passed_after(TestResult { blame: Blame::OtherTests, ..crashed })
}

/// Returns the result of a second attempt that passed.
fn passed_after(first: TestResult) -> TestResult {
    let second = changed(result(&first.test, Outcome::Passed), |r| r.attempt.number = 2);
    TestResult { earlier: vec![first], ..second }
}

/// Returns the result of `test` with an expectation.
pub fn judged(test: &str, outcome: Outcome, expectation: Option<Expectation>) -> TestResult {
    let started = SystemTime::UNIX_EPOCH + TIME;
    let mut attempt = Attempt { worker: Some(1), started, ..Attempt::new(outcome) };
    attempt.duration = Duration::from_millis(250);
    TestResult::new(test.into(), attempt, expectation.as_ref())
}

/// Returns a result with changes.
pub fn changed(mut result: TestResult, change: impl FnOnce(&mut TestResult)) -> TestResult {
    change(&mut result);
    result
}

/// Returns an expectation of one status.
pub fn expectation(status: ExpectedStatus, reason: &str) -> Expectation {
    Expectation {
        written: Arc::new(WrittenExpectation {
            number: 1,
            status: status.into(),
            reason: reason.to_owned(),
            ..WrittenExpectation::default()
        }),
        is_assumed: false,
        message: None,
        timeout: None,
    }
}
