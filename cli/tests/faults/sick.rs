//! Devices that stop working in the middle of a run.

use std::process::Command;

use clmatrix_characterize::measure::Measured;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{Outcome, Verdict};
use serde_json::Value;

use crate::support::{
    COMMAND, Folder, LIBTEST, ROLE, child, context_layer, events, output, results,
};
use crate::{check, cpu};

/// The tests of `faulty::sick` on one device, under a layer that makes contexts go wrong.
///
/// Contexts count from the one after the probe before the first test: the first is that of the worker before
/// its first test. With one worker, each test then makes one more.
struct SickRun {
    folder: Folder,
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
        Self::of(&["run", "faulty::sick::", "--contexts", "fresh"], mode, contexts)
    }

    /// A command on one device under the layer.
    fn of(arguments: &[&str], mode: &str, contexts: &str) -> Self {
        let folder = Folder::new();
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_TEST", cpu::platform()).env("CLMATRIX_REPORT_DIR", folder.path());
        context_layer(&mut command, folder.path(), mode, contexts);
        Self { folder, command }
    }

    /// Runs the tests. Returns the exit status, the lines on the terminal and the log.
    fn end(&mut self) -> (Option<i32>, String, RunLog) {
        let ended = output(&mut self.command);
        (ended.status.code(), ended.stderr + &ended.stdout, self.folder.log())
    }

    /// The number of contexts that were made or tried after the probe.
    fn contexts(&self) -> u64 {
        self.folder.at("count").metadata().expect("a count").len() - 1
    }
}

fn count(log: &RunLog, verdict: Verdict) -> usize {
    log.results.iter().filter(|result| result.verdict == verdict).count()
}

// At the sixth context, after some unexpected results.
check!(a_device_without_contexts_is_lost, {
    for (mode, verdict, unexpected) in [
        ("error", Verdict::Fail, 3),
        ("crash", Verdict::Crash, 1),
        ("exit", Verdict::Crash, 1),
        ("hang", Verdict::Timeout, 1),
    ] {
        let mut run = SickRun::new(mode, "6-1000");
        let (status, page, log) = run.end();
        assert_eq!(status, Some(1));
        assert!(page.lines().count() <= 40, "{page}");
        let not_run = TESTS - 4 - unexpected;
        let counts = [Verdict::Pass, verdict, Verdict::NotRun].map(|verdict| count(&log, verdict));
        assert_eq!(counts, [4, unexpected, not_run], "{page}");
        // One for each worker and test, and two for the probes.
        assert_eq!(run.contexts(), 1 + 5 + 2 * unexpected as u64);
        let [lost] = &log.lost[..] else { panic!("{:?}", log.lost) };
        assert_eq!(lost.suspects.len(), unexpected);
        assert_eq!(log.results.iter().filter(|result| log.is_suspect(result)).count(), unexpected);
        let title = format!("DEVICE LOST {}, {not_run} tests not run", lost.device);
        assert!(page.contains(&title), "{page}");
        let junit = run.folder.junit(&lost.device);
        assert!(junit.contains(&format!(" name=\"device@{}\"", lost.device)));
        assert_eq!(junit.matches("type=\"device-lost\"").count(), 1);
        assert_eq!(junit.matches("type=\"not-run\"").count(), not_run);
        assert!(!junit.contains("<error type=\"not-run\""));
    }
});

check!(a_device_that_recovers_is_tested_on, {
    let mut run = SickRun::new("hang", "6-7");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1));
    assert_eq!(
        (count(&log, Verdict::Timeout), count(&log, Verdict::Pass)),
        (1, TESTS - 1),
        "{page}"
    );
    assert!(log.lost.is_empty() && !log.results.iter().any(|result| log.is_suspect(result)));
});

// The 14th context is that of the worker that leaves.
check!(a_driver_that_crashes_at_the_end_is_lost, {
    let mut run = SickRun::new("crash", "14-1000");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1), "{page}");
    assert_eq!((count(&log, Verdict::Pass), log.lost.len()), (TESTS, 1), "{page}");
    let last = log.results.last().expect("results");
    assert!(last.test.starts_with("worker::crash@"), "{}", last.test);
    assert!(page.contains("after the last test"), "{page}");
    assert!(page.contains("makes_a_context::_number_12_12@"), "{page}");
});

// The first context is that of the first worker, the second that of the first test.
check!(a_worker_that_cannot_be_prepared_leaves_the_fault_to_a_test, {
    let mut run = SickRun::new("crash", "1-1000");
    let (status, page, log) = run.end();
    assert_eq!(status, Some(1), "{page}");
    assert_eq!(run.contexts(), 4, "one for the worker, one for the test, two for the probes");
    let counts = (count(&log, Verdict::Crash), count(&log, Verdict::NotRun));
    assert_eq!((counts, log.lost.len()), ((1, TESTS - 1), 1), "{page}");
});

check!(a_device_that_fails_before_its_first_test_is_not_tested_on, {
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
        assert!(run.folder.junit(&lost.device).contains("before its first test"));

        let mut target = SickRun::of(&["faulty::sick::"], mode, "1-1000");
        // A run before may have found that the device works.
        target.command.env(ROLE, LIBTEST).env("CLMATRIX_CACHE", "0");
        let ended = output(target.command);
        assert_eq!(ended.status.code(), Some(101));
        let lines = ended.stdout + &ended.stderr;
        assert!(lines.lines().count() <= 25, "{lines}");
        assert_eq!(lines.matches(" ... FAILED").count(), 1, "{lines}");
        assert!(lines.contains("lost before its first test"), "{lines}");
        assert!(lines.contains(reason), "{lines}");
    }
});

/// Runs tests that hang, with this budget, this limit and these expectations.
fn hang(budget: &str, timeout: &str, expectations: &str) -> (Option<i32>, RunLog) {
    let folder = Folder::new();
    folder.write("expectations/a.toml", expectations);
    let mut command =
        folder.run(&["faulty::hangs::never_ends", "--include-ignored", "--timeout", timeout]);
    folder.configure(&mut command, &format!("[profile.default]\nhang-budget = \"{budget}\"\n"));
    command.env("CLMATRIX_TEST", cpu::platform());
    (output(command).status.code(), folder.log())
}

check!(tests_that_do_not_end_spend_a_budget, {
    let (status, log) = hang("3s", "1s", "");
    assert_eq!(status, Some(1));
    let (ended, not_run): (Vec<_>, Vec<_>) =
        log.results.iter().partition(|result| result.verdict == Verdict::Timeout);
    assert!((1..=3).contains(&ended.len()), "{:?}", log.results);
    for result in not_run {
        let reason = result.attempt.outcome.to_string();
        assert!(reason.starts_with("hang budget of 3s spent ("), "{reason}");
        assert!(ended.iter().any(|hung| reason.contains(&*hung.test)), "{reason}");
    }
    assert!(log.lost.is_empty());
});

// After two cases of a test have hung, the others get a short limit.
check!(expected_hangs_are_short_and_spend_none, {
    let entry =
        "[[expect]]\ntest = 'faulty::hangs::never_ends*'\nstatus = 'timeout'\nreason = 'x'\n";
    let (status, log) = hang("4s", "3s", entry);
    assert_eq!(status, Some(0));
    let limits = log.results.into_iter().map(|result| {
        assert_eq!(result.verdict, Verdict::ExpectedFail, "{result:?}");
        let Outcome::TimedOut { limit } = result.attempt.outcome else { panic!() };
        limit.as_secs()
    });
    assert_eq!(limits.collect::<Vec<_>>(), [3, 3, 2, 2, 2, 2]);
});

check!(other_devices_go_on, {
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
});

check!(recent_probes_count_on_request, {
    let probes = |cache| {
        let folder = Folder::new();
        let mut command = folder.run(&["faulty::meets_one"]);
        command.env("CLMATRIX_TEST", cpu::platform()).env("CLMATRIX_CACHE", cache);
        assert!(output(command).status.success());
        events(folder.path()).iter().filter(|event| event["event"] == "probed").count()
    };
    assert_eq!(probes("0"), 1);
    // This one may be the first that keeps its answers.
    probes("1");
    assert_eq!((probes("1"), probes("0")), (0, 1));
});

check!(devices_are_probed_on_demand, {
    let arguments = ["devices", "--probe", "--format", "json"];
    for (contexts, status) in [("2-1000", 0), ("1-1000", 1)] {
        let SickRun { folder: _folder, command } = SickRun::of(&arguments, "crash", contexts);
        let probe = output(command);
        assert_eq!(probe.status.code(), Some(status));
        let devices: Value = serde_json::from_str(&probe.stdout).expect("JSON");
        let [device] = &devices.as_array().expect("an array")[..] else { panic!("{devices}") };
        assert!(device["duration_ns"].as_u64() > Some(0), "{device}");
        let error = device["error"].as_str().unwrap_or_default();
        assert_eq!(error.contains("SIGABRT"), status == 1, "{device}");
    }
    let none = output(child(COMMAND, &["devices", "--probe", "--devices", "no-such-platform"]));
    assert_eq!(none.status.code(), Some(2));
});

check!(a_run_has_the_measurements_of_its_devices, {
    let arguments = ["run", "faulty::passes@", "--characterize=measure"];
    // Without contexts, measurements take no time.
    let mut sick = SickRun::of(&arguments, "error", "1-1000");
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
});

// PoCL's device `basic` ends no command behind a user event. After the first test, the others take a second each.
check!(tests_that_wait_in_vain_have_a_short_limit, {
    if !cpu::can_be_several() {
        return;
    }
    let folder = Folder::new();
    let config = folder.write("clmatrix.toml", "[profile.default]\ntimeout = \"8s\"\n");
    let clmatrix = |arguments: &[&str]| {
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_CONFIG", &config).env("CLMATRIX_REPORT_DIR", folder.path());
        command.env("POCL_DEVICES", "basic").env("CLMATRIX_TEST", "Portable");
        output(command)
    };
    let run =
        || clmatrix(&["run", "hangs::waits_for_a_gate", "hangs::works_for_long", "--slots", "1"]);
    let first = run();
    let log = folder.log();
    let limit = |result: &TestResult| match result.attempt.outcome {
        Outcome::TimedOut { limit } => Some(limit.as_secs()),
        _ => None,
    };
    let limits: Vec<_> = log.results.iter().filter_map(limit).collect();
    assert_eq!(limits, [8, 1, 1, 1, 1, 1, 1, 1], "{}", first.stderr);
    assert_eq!(results(&log, "hangs::works_for_long")[0].verdict, Verdict::Pass);
    assert!(first.stderr.contains("does not end commands behind user events"), "{}", first.stderr);
    assert_eq!(clmatrix(&["expect", "update", "latest"]).status.code(), Some(0));
    let again = run();
    assert_eq!(again.status.code(), Some(0), "{}", again.stdout);
});
