//! Tests that are repeated: flaky ones, ones that depend on the order, and ones that always fail.

use std::path::Path;
use std::process::Command;

use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::verdict::{Outcome, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::Check;
use crate::cpu;
use crate::faulty::flakes::COUNTS;
use crate::support::{
    COMMAND, LIBTEST, child, log, output, planned_and_begun, reports, results, start,
    wait_while_running,
};

pub const CHECKS: &[Check] = &[
    ("flakes::a_test_that_fails_once_is_flaky", a_test_that_fails_once_is_flaky),
    ("flakes::a_flaky_result_may_pass", a_flaky_result_may_pass),
    ("flakes::a_crash_may_be_flaky", a_crash_may_be_flaky),
    (
        "flakes::a_crash_that_may_come_or_not_is_that_of_its_test",
        a_crash_that_may_come_or_not_is_that_of_its_test,
    ),
    ("flakes::a_test_that_another_breaks_is_flaky", a_test_that_another_breaks_is_flaky),
    ("flakes::a_test_that_always_fails_is_no_flake", a_test_that_always_fails_is_no_flake),
    ("flakes::a_worker_is_not_used_after_leftovers", a_worker_is_not_used_after_leftovers),
    ("flakes::an_unexpected_pass_is_not_repeated", an_unexpected_pass_is_not_repeated),
    ("flakes::an_expected_failure_is_not_repeated", an_expected_failure_is_not_repeated),
    ("flakes::a_stop_keeps_the_first_attempt", a_stop_keeps_the_first_attempt),
];

/// Tests of `faulty::flakes` on one device.
struct FlakyRun {
    folder: TempDir,
    command: Command,
}

impl FlakyRun {
    fn new(tests: &[&str], options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = child(COMMAND, &["run", "--devices", cpu::platform(), "--report-dir"]);
        command.arg(folder.path()).args(options).env(COUNTS, folder.path());
        command.args(tests.iter().map(|test| format!("faulty::flakes::{test}")));
        Self { folder, command }
    }

    /// Uses this configuration.
    fn configured(mut self, configuration: &str) -> Self {
        let config = self.folder.path().join("clmatrix.toml");
        std::fs::write(&config, configuration).expect("it is written");
        self.command.env("CLMATRIX_CONFIG", config);
        self
    }

    /// Runs the tests. Returns the exit status and the page.
    fn end(&mut self) -> (Option<i32>, String) {
        let ended = output(std::mem::replace(&mut self.command, Command::new("true")));
        (ended.status.code(), String::from_utf8(ended.stdout).expect("text"))
    }

    fn result(&self, test: &str) -> TestResult {
        let log = log(self.folder.path());
        let [result] = results(&log, &format!("flakes::{test}"))[..] else { panic!("one device") };
        result.clone()
    }

    fn junit(&self, device: &str) -> String {
        let path = reports(self.folder.path()).join("junit").join(format!("{device}.xml"));
        std::fs::read_to_string(path).expect("a report")
    }

    /// The status and the page of `clmatrix report` on the log.
    fn report(&self) -> (Option<i32>, String) {
        let folder = self.folder.path().to_str().expect("text");
        let mut command = child(COMMAND, &["report", "--report-dir", folder]);
        command.env_remove("CLMATRIX_CONFIG");
        let report = output(command);
        (report.status.code(), String::from_utf8(report.stdout).expect("text"))
    }
}

fn device(result: &TestResult) -> &str {
    result.test_and_device().1
}

fn a_test_that_fails_once_is_flaky() {
    // There is a test before it in its worker.
    let tests = ["breaks_a_later_test@", "fails_at_first@"];
    let mut run = FlakyRun::new(&tests, &["--retries", "1"]);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("fails_at_first");
    assert_eq!((result.verdict, &result.outcome), (Verdict::Flaky, &Outcome::Passed));
    let [first] = &result.earlier[..] else { panic!("{:?}", result.earlier) };
    assert_eq!((first.verdict, first.number, result.number), (Verdict::Fail, 1, 2));
    assert_ne!(first.worker, result.worker, "the second attempt is in a fresh worker");
    assert_eq!((&*first.stdout, &*result.stdout), ("execution 1\n", "execution 2\n"));
    assert!(page.contains("1 flaky"), "{page}");
    assert!(page.contains("  fail at attempt 1 of 2\n") && page.contains("execution 1"), "{page}");
    let junit = run.junit(device(&result));
    assert!(junit.contains("<failure type=\"flaky\""), "{junit}");
    let attempt = junit.split_once("<flakyFailure type=\"fail\"").expect("an attempt").1;
    let (attempt, last) = attempt.split_once("</flakyFailure>").expect("its end");
    assert!(attempt.contains("execution 1") && last.contains("execution 2"), "{junit}");
    let report = run.report();
    assert_eq!(report, (status, page));
}

fn a_flaky_result_may_pass() {
    let config = "[profile.default]\nretries = 1\nflaky-result = \"pass\"\n";
    let options = ["--max-fail", "1"];
    let mut run =
        FlakyRun::new(&["fails_at_first@", "runs_in_between"], &options).configured(config);
    let (status, page) = run.end();
    assert_eq!(status, Some(0), "{page}");
    let result = run.result("fails_at_first");
    assert_eq!((result.verdict, result.is_as_expected()), (Verdict::Flaky, true));
    assert!(page.contains("PASSED: ") && page.contains("4 passed, 1 flaky"), "{page}");
    let junit = run.junit(device(&result));
    assert!(!junit.contains("<failure") && junit.contains("<flakyFailure"), "{junit}");
    let report = run.report();
    assert_eq!(report, (status, page));

    for (flaky_result, status) in [("pass", 0), ("fail", 101)] {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("clmatrix.toml");
        let profile = format!("[profile.default]\nretries = 1\nflaky-result = {flaky_result:?}\n");
        std::fs::write(&config, profile).expect("it is written");
        let mut command = child(LIBTEST, &["--exact", "faulty::flakes::fails_at_first"]);
        command.env("CLMATRIX_CONFIG", config).env("CLMATRIX_TEST", cpu::platform());
        command.env(COUNTS, folder.path()).env("CLMATRIX_REPORT_DIR", folder.path());
        let ended = output(command);
        let page = String::from_utf8(ended.stdout).expect("text");
        assert_eq!(ended.status.code(), Some(status), "{page}");
        let says_it = page.contains("flaky: fail at attempt 1 of 2: ");
        assert_eq!(says_it && page.contains("execution 1"), status == 101, "{page}");
    }
}

fn a_crash_may_be_flaky() {
    let mut run = FlakyRun::new(&["aborts_at_first@"], &["--retries", "3"]);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("aborts_at_first");
    assert_eq!((result.verdict, result.number), (Verdict::Flaky, 2), "{page}");
    assert_eq!(executions(run.folder.path(), "aborts_at_first"), 2);
    assert!(run.junit(device(&result)).contains("<flakyError type=\"crash\" message=\"SIGABRT"));
}

fn a_test_that_another_breaks_is_flaky() {
    let tests = ["breaks_a_later_test@", "runs_in_between", "needs_order@"];
    let mut run = FlakyRun::new(&tests, &["--retries", "1"]);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("needs_order");
    assert_eq!((result.verdict, result.number), (Verdict::Flaky, 2), "{page}");
    let others = log(run.folder.path()).results;
    let others = others.iter().filter(|other| other.test != result.test);
    let others: Vec<_> = others.map(|other| (other.verdict, other.number)).collect();
    assert_eq!(others, [(Verdict::Pass, 1); 5]);
}

fn a_worker_is_not_used_after_leftovers() {
    let config = "[profile.default]\nleftovers = \"fail\"\nretries = 1\n";
    let mut run = FlakyRun::new(&["changes_its_folder@"], &[]).configured(config);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("changes_its_folder");
    let [first] = &result.earlier[..] else { panic!("{result:?}") };
    assert_eq!((first.verdict, result.verdict), (Verdict::Fail, Verdict::Fail));
    assert_ne!(first.worker, result.worker);
}

fn a_test_that_always_fails_is_no_flake() {
    let tests = ["runs_in_between", "fails_always@"];
    let mut run = FlakyRun::new(&tests, &["--retries", "2"]);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("fails_always");
    assert_eq!((result.verdict, result.number), (Verdict::Fail, 3));
    let workers: Vec<_> =
        result.earlier.iter().chain([&result]).map(|attempt| attempt.worker).collect();
    assert_eq!(workers, [Some(1), Some(2), Some(3)]);
    let junit = run.junit(device(&result));
    assert_eq!(junit.matches("<failure type=\"fail\"").count(), 1, "{junit}");
    assert_eq!(junit.matches("<rerunFailure type=\"fail\"").count(), 2, "{junit}");
    for execution in 1..=3 {
        assert!(junit.contains(&format!("message=\"execution {execution}\"")), "{junit}");
    }
}

/// Runs a test with this expected status after others.
fn run_with_expectation(test: &str, status: &str, others: &[&str]) -> FlakyRun {
    let options = [&["--retries", "1"], others].concat();
    let mut run = FlakyRun::new(&[&format!("{test}@")], &options).configured("");
    let expectations = run.folder.path().join("expectations");
    std::fs::create_dir(&expectations).expect("a folder");
    let expected = format!("[[expect]]\ntest = \"*\"\nstatus = {status:?}\nreason = \"bug 7\"\n");
    std::fs::write(expectations.join("all.toml"), expected).expect("it is written");
    run.end();
    run
}

fn a_crash_that_may_come_or_not_is_that_of_its_test() {
    let run = run_with_expectation("aborts_at_first", "flaky", &["faulty::passes@"]);
    let crash = run.result("aborts_at_first");
    let log = log(run.folder.path());
    let [before] = results(&log, "passes")[..] else { panic!("one device") };
    assert_eq!(before.worker, crash.worker, "the other test may be the cause");
    assert_eq!((crash.verdict, crash.number), (Verdict::ExpectedFail, 1));
    assert_eq!(log.status(), 0);
}

/// Runs a test with retries that is expected to fail. Returns its only attempt.
fn attempt_that_is_expected_to_fail(test: &str) -> TestResult {
    let run = run_with_expectation(test, "fail", &[]);
    assert_eq!(executions(run.folder.path(), test), 1);
    run.result(test)
}

fn an_expected_failure_is_not_repeated() {
    let result = attempt_that_is_expected_to_fail("fails_always");
    assert_eq!((result.verdict, result.number), (Verdict::ExpectedFail, 1));
}

fn an_unexpected_pass_is_not_repeated() {
    let result = attempt_that_is_expected_to_fail("needs_order");
    assert_eq!((result.verdict, result.number), (Verdict::UnexpectedPass, 1));
}

fn executions(folder: &Path, test: &str) -> u64 {
    folder.join(test).metadata().expect("a count").len()
}

fn a_stop_keeps_the_first_attempt() {
    let test = "fails_at_first_and_then_hangs";
    let run = FlakyRun::new(&[&format!("{test}@")], &["--retries", "1"]);
    let FlakyRun { folder, command } = run;
    let mut child = start(command);
    wait_while_running(&mut child, "the second attempt", || {
        let (_, begun) = planned_and_begun(folder.path(), &format!("faulty::flakes::{test}"))?;
        (begun == 2).then_some(())
    });
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it can be signalled");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let log = log(folder.path());
    let [result] = results(&log, &format!("flakes::{test}"))[..] else { panic!("one device") };
    assert_eq!((result.verdict, result.number), (Verdict::Fail, 1));
    assert!(result.earlier.is_empty());
}
