//! Expected failures do not fail a run. Unexpected passes do.

use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::verdict::{Outcome, Verdict};
use tempfile::TempDir;

use crate::Check;
use crate::cpu;
use crate::support::{COMMAND, LIBTEST, child, log, output, results};

pub const CHECKS: &[Check] = &[
    (
        "expectations::what_is_expected_does_not_fail_the_run",
        what_is_expected_does_not_fail_the_run,
    ),
    ("expectations::an_unexpected_pass_fails_the_run", an_unexpected_pass_fails_the_run),
    (
        "expectations::another_way_of_going_wrong_fails_the_run",
        another_way_of_going_wrong_fails_the_run,
    ),
    ("expectations::a_skip_is_not_run", a_skip_is_not_run),
    (
        "expectations::what_is_skipped_runs_on_demand_and_does_not_fail_the_run",
        what_is_skipped_runs_on_demand_and_does_not_fail_the_run,
    ),
    ("expectations::an_unexpected_pass_can_be_reported", an_unexpected_pass_can_be_reported),
    ("expectations::an_entry_has_a_limit_of_its_own", an_entry_has_a_limit_of_its_own),
    ("expectations::a_run_is_as_expected_after_an_update", a_run_is_as_expected_after_an_update),
    ("expectations::an_update_makes_a_configuration", an_update_makes_a_configuration),
    (
        "expectations::an_entry_of_another_version_is_assumed",
        an_entry_of_another_version_is_assumed,
    ),
    (
        "expectations::entries_without_a_test_are_named_once_on_standard_error",
        entries_without_a_test_are_named_once_on_standard_error,
    ),
];

pub fn expect(test: &str, status: &str) -> String {
    format!("[[expect]]\ntest = \"faulty::{test}\"\nstatus = \"{status}\"\nreason = \"known\"\n")
}

/// A configuration with these expectations in a temporary folder, and the path of its file.
pub fn configuration(expectations: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    std::fs::write(&config, "").expect("the configuration can be written");
    std::fs::create_dir(folder.path().join("expectations")).expect("a folder");
    std::fs::write(folder.path().join("expectations/known.toml"), expectations)
        .expect("the expectations can be written");
    (folder, config)
}

/// Runs tests under these expectations.
fn run(tests: &[&str], expectations: &str) -> (Output, RunLog) {
    run_with("", &[], tests, expectations)
}

/// Runs tests with this configuration, these options and these expectations.
fn run_with(text: &str, options: &[&str], tests: &[&str], expectations: &str) -> (Output, RunLog) {
    let (folder, config) = configuration(expectations);
    std::fs::write(&config, text).expect("the configuration can be written");
    let reports = folder.path().join("reports");
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(&reports).args(options);
    command.args(tests.iter().map(|test| format!("faulty::{test}@")));
    command.env("CLMATRIX_CONFIG", &config);
    let output = output(command);
    (output, log(&reports))
}

fn all(log: &RunLog, test: &str, verdict: Verdict) -> bool {
    results(log, test).iter().all(|result| result.verdict == verdict)
}

fn what_is_expected_does_not_fail_the_run() {
    let known = [
        ("fails_an_assertion", "fail"),
        ("aborts", "crash"),
        ("hangs_and_leaves_a_child", "timeout"),
    ];
    let expectations: String = known.iter().map(|(test, status)| expect(test, status)).collect();
    let (output, log) = run(&known.map(|(test, _)| test), &expectations);
    assert_eq!(output.status.code(), Some(0));
    for (test, _) in known {
        assert!(all(&log, test, Verdict::ExpectedFail), "{test}");
        let is_known =
            |r: &&TestResult| r.expectation.as_ref().is_some_and(|known| known.reason == "known");
        assert!(results(&log, test).iter().all(is_known));
    }
}

fn an_unexpected_pass_fails_the_run() {
    let (output, log) = run(&["passes"], &expect("passes", "fail"));
    assert_eq!(output.status.code(), Some(1));
    assert!(all(&log, "passes", Verdict::UnexpectedPass));
}

fn another_way_of_going_wrong_fails_the_run() {
    let (output, log) = run(&["aborts"], &expect("aborts", "fail"));
    assert_eq!(output.status.code(), Some(1));
    assert!(all(&log, "aborts", Verdict::Crash));
    let (output, log) = run(&["fails_an_assertion"], &expect("fails_an_assertion", "crash"));
    assert_eq!(output.status.code(), Some(1));
    assert!(all(&log, "fails_an_assertion", Verdict::Fail));
    let matrix = String::from_utf8_lossy(&output.stdout);
    assert!(matrix.contains("  expected: crash: known\n"), "{matrix}");
}

fn a_skip_is_not_run() {
    let (output, log) = run(&["aborts"], &expect("aborts", "skip"));
    assert_eq!(output.status.code(), Some(0));
    assert!(all(&log, "aborts", Verdict::Skip));
    let (output, log) = run(&["needs_no_device"], &expect("needs_no_device", "skip"));
    assert_eq!(output.status.code(), Some(0));
    assert!(all(&log, "needs_no_device", Verdict::Skip), "on the host as well");
}

fn what_is_skipped_runs_on_demand_and_does_not_fail_the_run() {
    let expectations = expect("{aborts,passes}", "skip");
    let (output, log) = run_with("", &["--run-skipped"], &["aborts", "passes"], &expectations);
    assert_eq!(output.status.code(), Some(0));
    assert!(all(&log, "aborts", Verdict::ExpectedFail));
    assert!(all(&log, "passes", Verdict::UnexpectedPass));
    let matrix = String::from_utf8_lossy(&output.stdout);
    assert!(matrix.contains("UNEXPECTED PASS faulty::passes@"), "{matrix}");
    assert!(log.header.rerun_command.ends_with(" --run-skipped"));
}

fn an_unexpected_pass_can_be_reported() {
    let text = "[profile.default]\nunexpected-pass = \"report\"\n";
    let (output, log) = run_with(text, &[], &["passes"], &expect("passes", "fail"));
    assert_eq!(output.status.code(), Some(0));
    assert!(all(&log, "passes", Verdict::UnexpectedPass));
}

fn an_entry_has_a_limit_of_its_own() {
    let limit = "timeout = \"500ms\"\n";
    let test = "hangs_and_leaves_a_child";
    let (output, log) = run(&[test], &(expect(test, "timeout") + limit));
    assert_eq!(output.status.code(), Some(0));
    let limit = Duration::from_millis(500);
    let timed_out = Outcome::TimedOut { limit };
    assert!(results(&log, test).iter().all(|result| result.outcome == timed_out));
}

fn a_run_is_as_expected_after_an_update() {
    let kept = "# Kept.\n".to_owned() + &expect("needs_no_device", "pass");
    let (folder, config) = configuration(&(kept + "\n" + &expect("passes", "fail")));
    let reports = folder.path().join("reports").display().to_string();
    let clmatrix = |arguments: &[&str]| {
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_CONFIG", &config).args(["--report-dir", &reports]);
        output(command)
    };
    let run = || {
        let tests = ["passes", "aborts", "needs_no_device"].map(|test| format!("faulty::{test}@"));
        clmatrix(&["run", &tests[0], &tests[1], &tests[2]]).status.code()
    };
    assert_eq!(run(), Some(1));
    let known = folder.path().join("expectations/known.toml");
    let text = || std::fs::read_to_string(&known).expect("it is there");
    let before = text();
    let dry = clmatrix(&["expect", "update", "latest", "--dry-run"]);
    assert_eq!((dry.status.code(), &text()), (Some(0), &before));
    let update = clmatrix(&["expect", "update", "latest"]);
    assert_eq!((update.status.code(), &update.stdout), (Some(0), &dry.stdout));
    let updated = text();
    let exceptions = updated.strip_prefix(&before).expect("the entries of the file are as before");
    assert!(exceptions.contains("status = \"pass\""), "{updated}");
    let entries = || std::fs::read_dir(known.parent().expect("a folder")).expect("it is there");
    assert!(entries().count() > 1, "the crashes have files of their own");
    let again = clmatrix(&["expect", "update", "latest"]);
    assert_eq!((again.status.code(), &*again.stdout), (Some(0), &b""[..]));
    assert_eq!(run(), Some(0));
    let explained = clmatrix(&["expect", "explain", "faulty::aborts@"]);
    let text = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(
        text.contains("faulty::aborts@") && text.contains(": crash, counts: SIGABRT"),
        "{text}"
    );
    // Another driver may need the entry that the exceptions hide here.
    let stale = clmatrix(&["expect", "stale", "latest"]);
    let text = String::from_utf8_lossy(&stale.stdout).into_owned();
    assert_eq!(stale.status.code(), Some(1));
    assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 1, "{text}");
    assert!(text.contains("\"faulty::passes\": it is always hidden"), "{text}");
}

fn an_update_makes_a_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let clmatrix = |arguments: &[&str]| {
        let mut command = child(COMMAND, arguments);
        command.env_remove("CLMATRIX_CONFIG").current_dir(folder.path());
        command.args(["--report-dir", "reports"]);
        output(command)
    };
    let tests = [cpu::test("faulty::aborts"), cpu::test("faulty::fails_an_assertion")];
    let run = || clmatrix(&["run", &tests[0], &tests[1]]).status.code();
    assert_eq!(run(), Some(1));
    let dry = clmatrix(&["expect", "update", "latest", "--dry-run"]);
    let config = folder.path().join("clmatrix.toml");
    assert!(dry.status.success() && !config.exists());
    let update = clmatrix(&["expect", "update", "latest"]);
    let stderr = String::from_utf8_lossy(&update.stderr);
    assert!(update.status.success() && stderr.contains("clmatrix.toml is new"), "{stderr}");
    assert!(config.exists());
    assert_eq!(run(), Some(0));
}

/// The entry names the driver, and a version that there is not.
fn an_entry_of_another_version_is_assumed() {
    let entry = |test, status| {
        let platform = format!("platform = \"{}\"\n", cpu::platform());
        expect(test, status) + &platform + "driver-version = \"0.1\"\n"
    };
    let entries = entry("aborts", "crash") + &entry("passes", "fail");
    let options = ["--devices", cpu::platform()];
    let (output, log) = run_with("", &options, &["aborts", "passes"], &entries);
    assert_eq!(output.status.code(), Some(0));
    assert!(all(&log, "aborts", Verdict::AssumedFail) && all(&log, "passes", Verdict::Pass));
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = &log.header.devices[0].info.driver_version;
    for line in [
        format!("1 result on {}, {version}, as seen at 0.1", cpu::id()),
        format!("(0.1): 1 of 1 pass on {}, {version}", cpu::id()),
    ] {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&line), "{page}");
    }
    let strict = "[profile.default]\nstrict-versions = true\n";
    let (output, log) = run_with(strict, &options, &["aborts", "passes"], &entries);
    assert_eq!(output.status.code(), Some(1));
    assert!(all(&log, "aborts", Verdict::Crash) && all(&log, "passes", Verdict::Pass));
}

fn entries_without_a_test_are_named_once_on_standard_error() {
    let names = ["passes", "pases", "a", "b", "c"];
    let entries: String = names.iter().map(|test| expect(test, "fail")).collect();
    let (folder, config) = configuration(&entries);
    let reports = folder.path().display().to_string();
    let runs = [
        (COMMAND, vec!["run", "--report-dir", &reports, "faulty::needs_no_device@"]),
        (LIBTEST, vec!["--exact", "faulty::needs_no_device@host"]),
        (LIBTEST, vec!["--exact", "faulty::needs_no_device@host", "--list"]),
    ];
    for (role, arguments) in runs {
        let mut command = child(role, &arguments);
        command.env("CLMATRIX_CONFIG", &config);
        let output = output(command);
        assert!(output.status.success(), "{arguments:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = stderr.lines().filter(|line| line.contains("expectation")).collect();
        let mut expected = Vec::new();
        if !arguments.contains(&"--list") {
            expected.push(format!("configuration: {}; expectations: 5", config.display()));
            expected.extend(warnings(role));
        }
        assert_eq!(said, expected, "{arguments:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("pases"), "{arguments:?}");
    }
}

/// The warnings about four expectations without a test: a line each, or one line of a test target.
fn warnings(role: &str) -> Vec<String> {
    if role == LIBTEST {
        return vec![
            "warning: no test of this target matches these expectations (4): \"faulty::pases\", \
             \"faulty::a\", \"faulty::b\", ..."
                .to_owned(),
        ];
    }
    ["pases", "a", "b", "c"]
        .map(|test| {
            format!(
                "warning: no test of this target matches the expectation for \"faulty::{test}\""
            )
        })
        .to_vec()
}
