//! Tests that are repeated: flaky ones, ones that depend on the order, and ones that always fail.

use std::process::Command;

use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{Outcome, Verdict};

use crate::faulty::flakes::COUNTS;
use crate::support::{Folder, LIBTEST, child, output, results};
use crate::{check, cpu};

/// Tests of `faulty::flakes` on one device.
struct FlakyRun {
    folder: Folder,
    command: Command,
}

impl FlakyRun {
    fn new(tests: &[&str], options: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = folder.run(&["--devices", cpu::platform()]);
        command.args(options).env(COUNTS, folder.path());
        command.args(tests.iter().map(|test| format!("faulty::flakes::{test}")));
        Self { folder, command }
    }

    /// Uses this configuration.
    fn configured(mut self, configuration: &str) -> Self {
        self.folder.configure(&mut self.command, configuration);
        self
    }

    /// Runs the tests. Returns the exit status and the page.
    fn end(&mut self) -> (Option<i32>, String) {
        let ended = output(&mut self.command);
        (ended.status.code(), ended.stdout)
    }

    fn result(&self, test: &str) -> TestResult {
        let log = self.folder.log();
        let [result] = results(&log, &format!("flakes::{test}"))[..] else { panic!("one device") };
        result.clone()
    }

    /// The status and the page of `clmatrix report` on the log.
    fn report(&self) -> (Option<i32>, String) {
        let report = output(self.folder.command(&["report"]).env_remove("CLMATRIX_CONFIG"));
        (report.status.code(), report.stdout)
    }
}

check!(a_test_that_fails_once_is_flaky, {
    // There is a test before it in its worker.
    let tests = ["breaks_a_later_test@", "fails_at_first@"];
    let mut run = FlakyRun::new(&tests, &["--retries", "1"]);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("fails_at_first");
    assert_eq!((result.verdict, &result.attempt.outcome), (Verdict::Flaky, &Outcome::Passed));
    let [first] = &result.earlier[..] else { panic!("{:?}", result.earlier) };
    assert_eq!((first.verdict, first.attempt.number, result.attempt.number), (Verdict::Fail, 1, 2));
    assert_ne!(first.attempt.worker, result.attempt.worker, "the repeat is in a fresh worker");
    let stdouts = [first, &result].map(|attempt| &*attempt.attempt.stdout);
    assert_eq!(stdouts, ["execution 1\n", "execution 2\n"]);
    assert!(page.contains("  fail at attempt 1 of 2\n") && page.contains("execution 1"), "{page}");
    assert_eq!(run.report(), (status, page));
});

check!(a_flaky_result_may_pass, {
    let config = "[profile.default]\nretries = 1\nflaky-result = \"pass\"\n";
    let options = ["--max-fail", "1"];
    let mut run =
        FlakyRun::new(&["fails_at_first@", "runs_in_between"], &options).configured(config);
    let (status, page) = run.end();
    assert_eq!(status, Some(0), "{page}");
    let result = run.result("fails_at_first");
    assert_eq!((result.verdict, result.is_as_expected()), (Verdict::Flaky, true));
    assert!(page.contains("PASSED: ") && page.contains("4 passed, 1 flaky"), "{page}");
    assert_eq!(run.report(), (status, page));

    let mut command = child(LIBTEST, &["--exact", "faulty::flakes::fails_at_first"]);
    let folder = Folder::new();
    folder.configure(&mut command, "[profile.default]\nretries = 1\n");
    command.env("CLMATRIX_TEST", cpu::platform()).env(COUNTS, folder.path());
    let ended = output(command.env("CLMATRIX_REPORT_DIR", folder.path()));
    assert_eq!(ended.status.code(), Some(101), "{ended:?}");
    for said in ["flaky: fail at attempt 1 of 2: ", "execution 1"] {
        assert!(ended.stdout.contains(said), "{ended:?}");
    }
});
