//! What is known to go wrong does not fail a run; what has stopped going wrong does.

use std::process::Output;

use clmatrix_harness::run_log::RunLog;
use clmatrix_harness::verdict::Verdict;

use crate::Check;
use crate::support::{COMMAND, child, log, output, results};

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
];

fn expect(test: &str, status: &str) -> String {
    format!("[[expect]]\ntest = \"faulty::{test}\"\nstatus = \"{status}\"\nreason = \"known\"\n")
}

/// Runs tests under these expectations.
fn run(tests: &[&str], expectations: &str) -> (Output, RunLog) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    std::fs::write(&config, "").expect("the configuration can be written");
    std::fs::create_dir(folder.path().join("expectations")).expect("a folder");
    std::fs::write(folder.path().join("expectations/known.toml"), expectations)
        .expect("the expectations can be written");
    let reports = folder.path().join("reports");
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(&reports).args(tests.iter().map(|test| format!("faulty::{test}@")));
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
        assert!(results(&log, test).iter().all(|r| r.expectation.as_deref() == Some("known")));
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
