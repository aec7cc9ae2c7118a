//! Devices and results for the tests of this crate and of clmatrix-cli.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clmatrix::select::{DeviceInfo, DeviceType, Svm, Version};
use indexmap::IndexMap;

use crate::config::{
    Contexts, DeviceSettings, Diagnostics, Expectation, JunitOptions, Leaks, Leftovers, Retries,
    Slots, TimeoutFactor, WrittenExpectation,
};
use crate::devices::failure::{DriverFailure, FailedDriver, FailureKind};
use crate::devices::run_device::{PlatformName, RunDevice};
use crate::log::device_record::DeviceRecord;
use crate::log::events::Event;
use crate::log::plan::PlannedTest;
use crate::log::read_error::LogError;
use crate::log::run_header::RunHeader;
use crate::log::run_log::RunLog;
use crate::log::sum::Sum;
use crate::result::attempt::Attempt;
use crate::result::test_result::TestResult;
use crate::verdict::{ExpectedStatus, Outcome, Verdict};

/// 2026-01-02T03:04:05Z.
pub const TIME: Duration = Duration::from_secs(1_767_323_045);

/// A driver whose library is not there.
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
        info: DeviceInfo {
            name: format!("{platform} device"),
            vendor: "GenuineSilicon".to_owned(),
            device_type: DeviceType(2),
            driver_version: "3.1".to_owned(),
            version: "OpenCL 1.2 sample".to_owned(),
            opencl: Version { major: 1, minor: 2 },
            extensions: Default::default(),
            fp64: true,
            fp16: false,
            images: true,
            pipes: false,
            svm: Svm(0),
            global_mem_size: 1 << 30,
            max_mem_alloc_size: 1 << 28,
            local_mem_size: 1 << 15,
            sub_groups: false,
            sub_group_sizes: Vec::new(),
            pci_address: None,
            uuid: None,
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
            test_timeout: None,
            alone: false,
            group: None,
            timeout_factor: TimeoutFactor::default(),
            slots: Slots::Count(1),
            tests_per_worker: None,
            retries: Retries::default(),
            memory: None,
            leftovers: Leftovers::Note,
            leaks: Leaks::default(),
            contexts: Contexts::default(),
            diagnostics: Diagnostics::default(),
            hang_budget: Duration::ZERO,
            exit_check: false,
        },
    }
}

/// The first line of a log.
pub fn header(devices: Vec<RunDevice>) -> RunHeader {
    RunHeader {
        format: crate::log::format::FORMAT,
        run_id: "run-1".to_owned(),
        time: SystemTime::UNIX_EPOCH + TIME,
        host: "bench".to_owned(),
        versions: vec![("clmatrix-harness".to_owned(), "0.1.0".to_owned())],
        target: "matrix".to_owned(),
        command_line: vec!["clmatrix".to_owned(), "run".to_owned()],
        rerun_command: "clmatrix run --exact".to_owned(),
        devices,
        profile: Some("default".to_owned()),
        configuration: None,
        added_drivers: Vec::new(),
        host_settings: None,
        junit: JunitOptions::default(),
        source_url: None,
        environment: std::collections::BTreeMap::new(),
        kernel: None,
        cpu: None,
        cpus: None,
        memory: None,
        build_id: None,
        programs: Vec::new(),
        filter: Vec::new(),
        selected_tests: None,
        include_ignored: false,
        run_skipped: false,
        seed: None,
        shard: None,
        parent: None,
        resumes: None,
        merged: Vec::new(),
    }
}

/// Returns the sum of a whole run with these results.
pub fn run_log(devices: Vec<RunDevice>, results: Vec<TestResult>, duration: Duration) -> RunLog {
    RunLog {
        header: header(devices),
        records: IndexMap::new(),
        expectations: Vec::new(),
        absent: Vec::new(),
        failed_drivers: Vec::new(),
        strict_drivers: false,
        properties: IndexMap::new(),
        measured: IndexMap::new(),
        results,
        rounds: HashMap::default(),
        tests: IndexMap::default(),
        slots: HashMap::default(),
        lost: Vec::new(),
        interrupted: false,
        has_ended: true,
        recorded_status: None,
        duration,
        resumed: Vec::new(),
        files: Vec::new(),
    }
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

/// Returns the result of a test whose first attempt ended so, and that passed at its second attempt.
pub fn flaky(test: &str, outcome: Outcome) -> TestResult {
    TestResult {
        verdict: Verdict::Flaky,
        earlier: vec![result(test, outcome)],
        ..changed(result(test, Outcome::Passed), |r| r.number = 2)
    }
}

/// Returns the result of a test that passed in a fresh context, after a first attempt in a reused context that
/// ended so.
pub fn differing(test: &str, outcome: Outcome) -> TestResult {
    let mut first = result(test, outcome);
    let mut second = changed(result(test, Outcome::Passed), |r| r.number = 2);
    first.reused_context = Some(first.verdict);
    second.reused_context = first.reused_context;
    TestResult { earlier: vec![first], ..second }
}

/// Returns the result of a test that has crashed after others, and passes alone.
pub fn passes_alone(test: &str) -> TestResult {
    let passed = changed(result(test, Outcome::Passed), |r| r.number = 2);
    let crashed = Outcome::Crashed { how: "SIGSEGV".to_owned() };
    TestResult { doubtful: true, earlier: vec![passed], ..result(test, crashed) }
}

/// Returns the result of `test` with an expectation.
pub fn judged(test: &str, outcome: Outcome, expectation: Option<Expectation>) -> TestResult {
    let started = SystemTime::UNIX_EPOCH + TIME;
    let mut attempt = Attempt { worker: Some(1), started, ..Attempt::new(outcome) };
    attempt.duration = Duration::from_millis(250);
    TestResult::new(test.to_owned(), attempt, expectation.as_ref())
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
