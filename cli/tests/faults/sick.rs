//! Devices that stop working in the middle of a run.

use std::path::PathBuf;
use std::process::Command;

use clmatrix_characterize::measure::Measured;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::verdict::{Outcome, Verdict};
use serde_json::Value;
use tempfile::TempDir;

use crate::Check;
use crate::cpu;
use crate::support::{COMMAND, LIBTEST, ROLE, child, context_layer, events, log, output, reports};

pub const CHECKS: &[Check] = &[
    ("sick::a_device_without_contexts_is_lost", a_device_without_contexts_is_lost),
    ("sick::a_driver_that_crashes_is_lost", a_driver_that_crashes_is_lost),
    ("sick::a_driver_that_exits_is_lost", a_driver_that_exits_is_lost),
    ("sick::a_driver_that_hangs_is_lost", a_driver_that_hangs_is_lost),
    ("sick::a_driver_that_crashes_at_the_end_is_lost", a_driver_that_crashes_at_the_end_is_lost),
    ("sick::a_device_that_recovers_is_tested_on", a_device_that_recovers_is_tested_on),
    ("sick::two_failures_need_no_probe", two_failures_need_no_probe),
    ("sick::other_devices_go_on", other_devices_go_on),
    (
        "sick::a_worker_that_cannot_be_prepared_leaves_the_fault_to_a_test",
        a_worker_that_cannot_be_prepared_leaves_the_fault_to_a_test,
    ),
    (
        "sick::a_device_that_fails_before_its_first_test_is_not_tested_on",
        a_device_that_fails_before_its_first_test_is_not_tested_on,
    ),
    ("sick::tests_that_do_not_end_spend_a_budget", tests_that_do_not_end_spend_a_budget),
    ("sick::expected_hangs_are_short_and_spend_none", expected_hangs_are_short_and_spend_none),
    ("sick::devices_are_probed_on_demand", devices_are_probed_on_demand),
    ("sick::recent_probes_count_on_request", recent_probes_count_on_request),
    ("sick::a_run_has_the_measurements_of_its_devices", a_run_has_the_measurements_of_its_devices),
];

/// The tests of `faulty::sick` on one device, under a layer that makes contexts go wrong.
///
/// Contexts count from the one after the probe before the first test: the first is that of the worker before
/// its first test. With one worker, each test then makes one more.
struct SickRun {
    folder: TempDir,
    command: Command,
}

/// The number of tests in `faulty::sick`.
const TESTS: usize = 12;

impl SickRun {
    fn new(mode: &str, contexts: &str) -> Self {
        let (first, last) = contexts.split_once('-').expect("two numbers");
        let after_probe = [first, last].map(|number| 1 + number.parse::<u32>().expect("a number"));
        Self::with_all(mode, &after_probe.map(|number| number.to_string()).join("-"))
    }

    /// The same, and the context of the probe counts.
    fn with_all(mode: &str, contexts: &str) -> Self {
        let arguments = ["run", "faulty::sick::", "--contexts", "fresh", "--report-dir"];
        let mut sick = Self::of(&arguments, mode, contexts);
        sick.command.arg(sick.folder.path());
        sick
    }

    /// A command on one device under the layer.
    fn of(arguments: &[&str], mode: &str, contexts: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_TEST", cpu::platform());
        context_layer(&mut command, folder.path(), mode, contexts);
        Self { folder, command }
    }

    /// Runs the tests. Returns the exit status, the lines on the terminal and the log.
    fn end(&mut self) -> (Option<i32>, String, RunLog) {
        let ended = output(std::mem::replace(&mut self.command, Command::new("true")));
        let terminal = [ended.stderr, ended.stdout].concat();
        let terminal = String::from_utf8(terminal).expect("text");
        (ended.status.code(), terminal, log(self.folder.path()))
    }

    /// The number of contexts that were made or tried after the probe.
    fn contexts(&self) -> u64 {
        self.folder.path().join("count").metadata().expect("a count").len() - 1
    }

    fn junit(&self, device: &str) -> String {
        let path: PathBuf = reports(self.folder.path()).join("junit").join(format!("{device}.xml"));
        std::fs::read_to_string(path).expect("a report")
    }
}

fn count(log: &RunLog, verdict: Verdict) -> usize {
    log.results.iter().filter(|result| result.verdict == verdict).count()
}

/// Checks that the device was lost at the sixth context, after `unexpected` results of `verdict`, of which `of_tests`
/// are results of tests.
fn is_lost(mode: &str, verdict: Verdict, unexpected: usize, of_tests: usize) {
    let mut run = SickRun::new(mode, "6-1000");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1));
    assert!(page.lines().count() <= 40, "{page}");
    assert_eq!(count(&log, Verdict::Pass), 4, "{page}");
    assert_eq!(count(&log, verdict), unexpected, "{page}");
    let not_run = TESTS - 4 - of_tests;
    assert_eq!(count(&log, Verdict::NotRun), not_run, "{page}");
    // One for each worker and test, and two for the probes.
    assert_eq!(run.contexts(), 1 + 5 + 2 * unexpected as u64);
    let [lost] = &log.lost[..] else { panic!("{:?}", log.lost) };
    assert_eq!(lost.suspects.len(), unexpected);
    assert_eq!(log.results.iter().filter(|result| log.is_suspect(result)).count(), unexpected);
    let title = format!("DEVICE LOST {}, {not_run} tests not run", lost.device);
    assert!(page.contains(&title), "{page}");
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(words.join(" ").contains(" not run, 1 device lost"), "{page}");
    let junit = run.junit(&lost.device);
    assert!(junit.contains(&format!(" name=\"device@{}\"", lost.device)));
    assert_eq!(junit.matches("type=\"device-lost\"").count(), 1);
    assert_eq!(junit.matches("type=\"not-run\"").count(), not_run);
    assert!(!junit.contains("<error type=\"not-run\""));
}

fn a_device_without_contexts_is_lost() {
    is_lost("error", Verdict::Fail, 3, 3);
}

fn a_driver_that_crashes_is_lost() {
    is_lost("crash", Verdict::Crash, 1, 1);
}

fn a_driver_that_exits_is_lost() {
    // The exit is no test's; it could not be seen whether it comes again.
    is_lost("exit", Verdict::Crash, 1, 0);
    let mut run = SickRun::new("exit", "6-1000");
    run.command.args(["--retries", "2"]);
    let (_, page, log) = run.end();
    let counts = (count(&log, Verdict::Crash), count(&log, Verdict::Flaky));
    assert_eq!(counts, (1, 0), "the rerun was not run: {page}");
}

fn a_driver_that_hangs_is_lost() {
    is_lost("hang", Verdict::Timeout, 1, 1);
}

fn a_device_that_recovers_is_tested_on() {
    let mut run = SickRun::new("hang", "6-7");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1));
    assert_eq!(
        (count(&log, Verdict::Timeout), count(&log, Verdict::Pass)),
        (1, TESTS - 1),
        "{page}"
    );
    assert!(log.lost.is_empty() && !log.results.iter().any(|result| log.is_suspect(result)));
}

/// The seventh context is that of the worker after the first failure, whose error is no result. The last
/// worker makes one when it leaves.
fn two_failures_need_no_probe() {
    for (contexts, failed) in [("6-7", 1), ("6-8", 2)] {
        let mut run = SickRun::new("error", contexts);
        let (status, page, log) = run.end();
        assert_eq!(status, Some(1));
        let counts = (count(&log, Verdict::Fail), count(&log, Verdict::Pass));
        assert_eq!(counts, (failed, TESTS - failed), "{page}");
        let workers = 1 + failed;
        assert_eq!(run.contexts(), (workers + TESTS + 1) as u64, "one for each worker and test");
    }
}

/// The 14th context is that of the worker that leaves.
fn a_driver_that_crashes_at_the_end_is_lost() {
    let mut run = SickRun::new("crash", "14-1000");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1), "{page}");
    assert_eq!((count(&log, Verdict::Pass), log.lost.len()), (TESTS, 1), "{page}");
    let last = log.results.last().expect("results");
    assert!(last.test.starts_with("worker::crash@"), "{}", last.test);
    assert!(page.contains("after the last test"), "{page}");
    assert!(page.contains("makes_a_context::_number_12_12@"), "{page}");
}

/// The first context is that of the first worker, the second that of the first test.
fn a_worker_that_cannot_be_prepared_leaves_the_fault_to_a_test() {
    let mut run = SickRun::new("crash", "1-1000");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1), "{page}");
    assert_eq!(run.contexts(), 4, "one for the worker, one for the test, two for the probes");
    let counts = (count(&log, Verdict::Crash), count(&log, Verdict::NotRun));
    assert_eq!((counts, log.lost.len()), ((1, TESTS - 1), 1), "{page}");
}

fn a_device_that_fails_before_its_first_test_is_not_tested_on() {
    for (mode, reason) in
        [("error", "CL_OUT_OF_RESOURCES"), ("crash", "SIGABRT"), ("exit", "exited with status 0")]
    {
        let mut run = SickRun::with_all(mode, "1-1000");
        let (status, page, log) = run.end();
        assert_eq!(status, Some(3), "{page}");
        assert!(page.lines().count() <= 20, "{page}");
        assert_eq!(run.contexts(), 0, "one probe is enough");
        assert_eq!(count(&log, Verdict::NotRun), TESTS, "{page}");
        let [lost] = &log.lost[..] else { panic!("{:?}", log.lost) };
        assert!(lost.after.is_none() && lost.reason.contains(reason), "{lost:?}");
        assert!(page.contains("before its first test"), "{page}");
        assert!(run.junit(&lost.device).contains("before its first test"));

        let mut target = SickRun::of(&["faulty::sick::"], mode, "1-1000");
        // A run before may have found that the device works.
        target.command.env(ROLE, LIBTEST).env("CLMATRIX_CACHE", "0");
        target.command.env("CLMATRIX_REPORT_DIR", target.folder.path());
        let ended = output(target.command);
        assert_eq!(ended.status.code(), Some(101));
        let lines = [ended.stdout, ended.stderr].concat();
        let lines = String::from_utf8(lines).expect("text");
        assert!(lines.lines().count() <= 25, "{lines}");
        assert_eq!(lines.matches(" ... FAILED").count(), 1, "{lines}");
        assert!(lines.contains("lost before its first test"), "{lines}");
        assert!(lines.contains(reason), "{lines}");
    }
}

fn tests_that_do_not_end_spend_a_budget() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    std::fs::write(&config, "[profile.default]\nhang-budget = \"3s\"\n").expect("it is written");
    let tests = ["run", "faulty::hangs::", "--include-ignored", "--timeout", "1s"];
    let mut command = child(COMMAND, &tests);
    command.arg("--report-dir").arg(folder.path());
    command.env("CLMATRIX_CONFIG", config).env("CLMATRIX_TEST", cpu::platform());
    assert_eq!(output(command).status.code(), Some(1));
    let log = log(folder.path());
    let (ended, not_run): (Vec<_>, Vec<_>) =
        log.results.iter().partition(|result| result.verdict == Verdict::Timeout);
    assert!((1..=3).contains(&ended.len()), "{:?}", log.results);
    for result in not_run {
        let Outcome::NotRun { reason } = &result.outcome else { panic!("{result:?}") };
        assert!(reason.starts_with("hang budget of 3s spent ("), "{reason}");
        assert!(ended.iter().any(|hung| reason.contains(&*hung.test)), "{reason}");
    }
    assert!(log.lost.is_empty());
}

/// After two cases of a test have hung, the others get a short limit.
fn expected_hangs_are_short_and_spend_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    let expectations = folder.path().join("expectations");
    std::fs::create_dir(&expectations).expect("a folder");
    std::fs::write(&config, "[profile.default]\nhang-budget = \"4s\"\n").expect("it is written");
    let entry = "[[expect]]\ntest = 'faulty::hangs::*'\nstatus = 'timeout'\nreason = 'x'\n";
    std::fs::write(expectations.join("a.toml"), entry).expect("it is written");
    let tests = ["run", "faulty::hangs::", "--include-ignored", "--timeout", "3s", "--slots", "1"];
    let mut command = child(COMMAND, &tests);
    command.arg("--report-dir").arg(folder.path());
    command.env("CLMATRIX_CONFIG", config).env("CLMATRIX_TEST", cpu::platform());
    assert_eq!(output(command).status.code(), Some(0));
    let limits = log(folder.path()).results.into_iter().map(|result| {
        assert_eq!(result.verdict, Verdict::ExpectedFail, "{result:?}");
        let Outcome::TimedOut { limit } = result.attempt.ended.outcome else { panic!() };
        limit.as_secs()
    });
    assert_eq!(limits.collect::<Vec<_>>(), [3, 3, 2, 2, 2, 2]);
}

fn other_devices_go_on() {
    if !cpu::can_be_several() {
        return;
    }
    let mut run = SickRun::new("crash", "6-1000");
    run.command.env("POCL_DEVICES", "pthread pthread pthread pthread").env("FAULTS_POSITION", "2");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1));
    assert_eq!(log.header.devices.len(), 4, "{page}");
    let [lost] = &log.lost[..] else { panic!("{:?}", log.lost) };
    assert_eq!(lost.device, log.header.devices[2].id);
    assert_eq!(count(&log, Verdict::Pass), 4 + 3 * TESTS, "{page}");
}

fn recent_probes_count_on_request() {
    let probes = |cache| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = child(COMMAND, &["run", "faulty::meets_one", "--report-dir"]);
        command.arg(folder.path()).env("CLMATRIX_TEST", cpu::platform());
        command.env("CLMATRIX_CACHE", cache);
        assert!(output(command).status.success());
        events(folder.path()).iter().filter(|event| event["event"] == "probed").count()
    };
    assert_eq!(probes("0"), 1);
    // This one may be the first that keeps its answers.
    probes("1");
    assert_eq!((probes("1"), probes("0")), (0, 1));
}

fn devices_are_probed_on_demand() {
    let arguments = ["devices", "--probe", "--format", "json"];
    for (contexts, status) in [("2-1000", 0), ("1-1000", 1)] {
        let SickRun { folder: _folder, command } = SickRun::of(&arguments, "crash", contexts);
        let probe = output(command);
        assert_eq!(probe.status.code(), Some(status));
        let devices: Value = serde_json::from_slice(&probe.stdout).expect("JSON");
        let [device] = &devices.as_array().expect("an array")[..] else { panic!("{devices}") };
        assert!(device["duration_ns"].as_u64() > Some(0), "{device}");
        let error = device["error"].as_str().unwrap_or_default();
        assert_eq!(error.contains("SIGABRT"), status == 1, "{device}");
    }
    let none = output(child(COMMAND, &["devices", "--probe", "--devices", "no-such-platform"]));
    assert_eq!(none.status.code(), Some(2));
}

fn a_run_has_the_measurements_of_its_devices() {
    let arguments = ["run", "faulty::passes@", "--characterize=measure", "--report-dir"];
    // Without contexts, measurements take no time.
    let mut sick = SickRun::of(&arguments, "error", "1-1000");
    sick.command.arg(sick.folder.path());
    let (_, _, log) = sick.end();
    let [(device, measured)] = &log.measured.iter().collect::<Vec<_>>()[..] else {
        panic!("{:?}", log.measured)
    };
    assert_eq!(**device, cpu::id());
    let measured = measured.iter().cloned().map(|fields| serde_json::from_value(fields.into()));
    let measured: Vec<Measured> = measured.collect::<Result<_, _>>().expect("measurements");
    let reason = |name: &str| {
        let measured = measured.iter().find(|measured| measured.name == name).expect("a topic's");
        measured.answer.clone().expect_err("there is no context").reason
    };
    for name in ["launch_latency", "total_memory"] {
        assert!(reason(name).contains("CL_OUT_OF_RESOURCES"), "{}", reason(name));
    }
    let events = events(sick.folder.path());
    let first = |event: &str| events.iter().position(|line| line["event"] == event);
    assert!(first("measured") < first("probed") && first("probed").is_some());
}
