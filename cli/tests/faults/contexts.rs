//! Contexts that tests reuse.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::Command;

use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::verdict::Verdict;
use tempfile::TempDir;

use crate::Check;
use crate::cpu;
use crate::support::{
    COMMAND, LIBTEST, child, context_layer, events, log, output, reports, results,
};

pub const CHECKS: &[Check] = &[
    ("contexts::tests_that_reuse_make_no_context", tests_that_reuse_make_no_context),
    ("contexts::a_test_gets_the_contexts_of_another", a_test_gets_the_contexts_of_another),
    ("contexts::a_worker_keeps_few_contexts", a_worker_keeps_few_contexts),
    ("contexts::the_log_says_which_contexts_tests_have", the_log_says_which_contexts_tests_have),
    ("contexts::a_result_in_a_fresh_context_counts", a_result_in_a_fresh_context_counts),
    ("contexts::equal_results_have_no_note", equal_results_have_no_note),
    ("contexts::a_worker_outlives_expected_failures", a_worker_outlives_expected_failures),
    ("contexts::a_crash_in_each_context_is_one_alone", a_crash_in_each_context_is_one_alone),
    ("contexts::a_failure_after_a_failure_is_repeated", a_failure_after_a_failure_is_repeated),
    ("contexts::a_test_has_its_own_worker", a_test_has_its_own_worker),
    ("contexts::libtest_counts_different_results", libtest_counts_different_results),
];

/// A run of tests of `faulty::contexts`.
struct ContextsRun {
    folder: TempDir,
    command: Command,
}

impl ContextsRun {
    /// A run with `--contexts`.
    fn new(contexts: &str, tests: &[impl Display], options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = child(COMMAND, &["run", "--contexts", contexts, "--report-dir"]);
        command.arg(folder.path()).args(options);
        command.args(tests.iter().map(|test| format!("faulty::contexts::{test}")));
        Self { folder, command }
    }

    /// A run with contexts that are reused.
    fn of_reuse(tests: &[&str], options: &[&str]) -> Self {
        let mut run = Self::new("reuse", tests, options);
        run.command.args(["--devices", cpu::platform()]);
        run
    }

    /// Expects failures of a test.
    fn expect_failures(&mut self, test: &str) {
        let expectations = self.folder.path().join("expectations");
        fs::create_dir(&expectations).expect("a folder");
        let entry = format!(
            "[[expect]]\ntest = \"*::{test}\"\nid = \"*\"\nstatus = \"fail\"\nreason = \"bug 7\"\n"
        );
        fs::write(expectations.join("all.toml"), entry).expect("it is written");
        let config = self.folder.path().join("clmatrix.toml");
        fs::write(&config, "").expect("it is written");
        self.command.env("CLMATRIX_CONFIG", config);
    }

    /// Runs the tests. Returns the exit status and the page.
    fn end(&mut self) -> (Option<i32>, String) {
        let ended = output(std::mem::replace(&mut self.command, Command::new("true")));
        (ended.status.code(), String::from_utf8(ended.stdout).expect("text"))
    }

    /// The results of a test, one for each device.
    fn results(&self, test: &str) -> Vec<TestResult> {
        let log = log(self.folder.path());
        results(&log, &format!("contexts::{test}")).into_iter().cloned().collect()
    }

    /// The result of a test on the only device.
    fn result(&self, test: &str) -> TestResult {
        let [result] = &self.results(test)[..] else { panic!("one device") };
        result.clone()
    }
}

/// The number of contexts that the driver makes in a run.
fn contexts_made(contexts: &str, test: &str) -> u64 {
    let mut run = ContextsRun::new(contexts, &[test], &["--devices", cpu::platform()]);
    let count = context_layer(&mut run.command, run.folder.path(), "error", "0-0");
    let (status, page) = run.end();
    assert_eq!(status, Some(0), "{page}");
    count.metadata().expect("a count").len()
}

fn tests_that_reuse_make_no_context() {
    let [one, twelve] = ["fills_a_buffer::number_01_1@", "fills_a_buffer"]
        .map(|test| ["fresh", "reuse"].map(|contexts| contexts_made(contexts, test)));
    assert_eq!(twelve[0], one[0] + 11, "fresh contexts");
    assert_eq!(twelve[1], one[1], "reused contexts");
    // One is the worker's, which is also the first of a test that reuses; two are those of its first and its
    // last probe.
    assert_eq!(one, [4, 3]);
}

fn a_worker_keeps_few_contexts() {
    // The second test reuses 4 of the 8 contexts of the first. Two are those of the probes.
    assert_eq!(contexts_made("reuse", "has_many_contexts"), 8 + 4 + 2);
}

/// Also on a driver that does not count references.
fn a_test_gets_the_contexts_of_another() {
    for counts in [true, false] {
        gets_the_contexts_of_another(counts);
    }
}

fn gets_the_contexts_of_another(counts: bool) {
    let tests = [
        "has_a_context@",
        "has_two_contexts@",
        "has_a_fresh_context@",
        "leaves_a_queue@",
        "follows_a_queue@",
    ];
    let mut run = ContextsRun::new("reuse", &tests, &[]);
    if !counts {
        run.command.args(["--devices", cpu::platform()]);
        context_layer(&mut run.command, run.folder.path(), "uncounted", "0-0");
    }
    let (status, page) = run.end();
    assert_eq!(status, Some(0), "{page}");
    let devices = log(run.folder.path()).header.devices.len();
    let [one, two, fresh, leaving, following] = tests.map(|test| {
        let printed = run.results(test.trim_end_matches('@'));
        assert_eq!(printed.len(), devices);
        printed.into_iter().map(|result| {
            let device = result.test_and_device().1.to_owned();
            (device, result.stdout.lines().map(str::to_owned).collect::<Vec<_>>())
        })
    });
    for ((((one, two), fresh), leaving), following) in
        one.zip(two).zip(fresh).zip(leaving).zip(following)
    {
        let (device, one) = one;
        let [first, second] = &two.1[..] else { panic!("{device}: {two:?}") };
        assert_eq!(*first, one[0], "{device}: the context is reused");
        assert_ne!(first, second, "{device}: each call gives another context");
        assert!(!two.1.contains(&fresh.1[0]), "{device}: the context is fresh");
        assert!(two.1.contains(&leaving.1[0]), "{device}: the context is reused");
        assert_ne!(leaving.1, following.1, "{device}: a context with a queue is not reused");
        assert!(two.1.contains(&following.1[0]), "{device}: the other context is reused");
    }
}

/// The `contexts` of the device lines of a run.
fn logged(folder: &Path) -> Vec<String> {
    let lines = events(folder).into_iter().filter(|line| line["event"] == "device");
    let contexts =
        |line: serde_json::Value| line["settings"]["contexts"].as_str().map(str::to_owned);
    lines.map(|line| contexts(line).expect("it is there")).collect()
}

fn the_log_says_which_contexts_tests_have() {
    let mut run = ContextsRun::of_reuse(&["has_a_context@"], &[]);
    run.end();
    assert_eq!(logged(run.folder.path()), ["reuse"]);
    let folder = tempfile::tempdir().expect("a folder");
    // `child` may add `--contexts` to its arguments.
    let mut command = child(COMMAND, &[]);
    command.args(["run", "faulty::contexts::has_a_context@", "--report-dir"]).arg(folder.path());
    output(command);
    // All devices of these tests are CPUs.
    let devices = log(folder.path()).header.devices.len();
    assert_eq!(logged(folder.path()), vec!["fresh"; devices]);
}

/// Checks a test whose results in a reused and in a fresh context differ.
fn differs(test: &str, before: Verdict, after: Verdict, note: &str) {
    let mut run = ContextsRun::of_reuse(&["marks_its_context@", &format!("{test}@")], &[]);
    run.expect_failures("needs_a_marked_context");
    let (status, page) = run.end();
    assert_eq!(status, Some(0), "{page}");
    let result = run.result(test);
    assert_eq!((result.verdict, result.reused_context), (after, Some(before)), "{page}");
    let [first] = &result.earlier[..] else { panic!("{:?}", result.earlier) };
    assert_eq!((first.verdict, first.reused_context), (before, Some(before)));
    assert_eq!((first.number, result.number), (1, 2));
    assert_ne!(first.worker, result.worker, "the repeat is in a fresh worker");
    let stdouts = [first, &result].map(|attempt| attempt.stdout.lines().last());
    assert_eq!(stdouts, [Some("marked: true"), Some("marked: false")]);
    assert!(page.contains(&format!("  reused-context: {note}\n")), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 different in a reused context"), "{page}");
    let junit = reports(run.folder.path()).join("junit").join(cpu::id() + ".xml");
    let junit = fs::read_to_string(junit).expect("a report");
    assert!(junit.contains(&format!("reused-context: {note}")), "{junit}");
    assert_eq!(junit.contains("<flaky"), before != Verdict::UnexpectedPass, "{junit}");
    let folder = run.folder.path().to_str().expect("text");
    let report = output(child(COMMAND, &["report", "--report-dir", folder]));
    assert_eq!((report.status.code(), &*String::from_utf8_lossy(&report.stdout)), (status, &*page));
}

fn a_result_in_a_fresh_context_counts() {
    use Verdict::{Crash, ExpectedFail, Fail, Pass, Timeout, UnexpectedPass};
    differs("fails_in_a_marked_context", Fail, Pass, "failed");
    differs("aborts_in_a_marked_context", Crash, Pass, "crashed");
    differs("hangs_in_a_marked_context", Timeout, Pass, "timed out");
    differs("needs_a_marked_context", UnexpectedPass, ExpectedFail, "passed");
}

fn equal_results_have_no_note() {
    let mut run = ContextsRun::of_reuse(&["marks_its_context@", "fails_in_every_context@"], &[]);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("fails_in_every_context");
    assert_eq!((result.verdict, result.reused_context), (Verdict::Fail, None));
    assert_eq!(result.earlier.len(), 1);
    assert!(!page.contains("reused"), "{page}");
}

fn a_crash_in_each_context_is_one_alone() {
    let mut run = ContextsRun::of_reuse(&["marks_its_context@", "aborts_in_every_context@"], &[]);
    let (status, page) = run.end();
    assert_eq!(status, Some(1), "{page}");
    let result = run.result("aborts_in_every_context");
    assert_eq!((result.verdict, result.number), (Verdict::Crash, 2));
    assert_eq!(result.earlier[0].reused_context, Some(Verdict::Crash));
    assert!(page.contains("crashes alone, too"), "{page}");
}

/// If nothing of the test is left.
fn a_worker_outlives_expected_failures() {
    let tests = ["precedes_failures", "fails_and_leaves_nothing", "follows_failures"];
    for (contexts, expected, outlives) in [
        ("reuse", "fails_and_leaves_*", [true, true]),
        ("fresh", "fails_and_leaves_*", [true, true]),
        // The repeat of an unexpected failure is in a fresh worker, too.
        ("reuse", "nothing", [false, false]),
    ] {
        let mut run = ContextsRun::new(contexts, &tests.map(|test| format!("{test}@")), &[]);
        run.command.args(["--devices", cpu::platform()]);
        run.expect_failures(expected);
        let (_, page) = run.end();
        let [before, failed, after] =
            tests.map(|test| run.result(test).worker.expect("it has run"));
        assert_eq!([before == failed, failed == after], outlives, "{page}");
    }
    let tests = ["precedes_failures", "fails_and_leaves_a_queue", "follows_failures"];
    for contexts in ["reuse", "fresh"] {
        let mut run = ContextsRun::new(contexts, &tests.map(|test| format!("{test}@")), &[]);
        run.command.args(["--devices", cpu::platform()]);
        run.expect_failures("fails_and_leaves_*");
        let (status, page) = run.end();
        assert_eq!(status, Some(0), "{page}");
        let [before, failed, after] =
            tests.map(|test| run.result(test).worker.expect("it has run"));
        assert_eq!([before == failed, failed == after], [true, false], "{page}");
    }
}

/// Where contexts are reused, only if it is expected to go wrong.
fn a_test_has_its_own_worker() {
    for (contexts, entry, is_apart) in
        [("fresh", "", true), ("reuse", "", false), ("reuse", "[\"pass\", \"fail\"]", true)]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("clmatrix.toml");
        fs::write(&config, "").expect("it is written");
        fs::create_dir(folder.path().join("expectations")).expect("a folder");
        let entry = match entry {
            "" => String::new(),
            status => format!(
                "[[expect]]\ntest = \"*::is_apart\"\nstatus = {status}\nreason = \"known\"\n"
            ),
        };
        fs::write(folder.path().join("expectations/a.toml"), entry).expect("it is written");
        let device = cpu::platform();
        let mut command = child(COMMAND, &["run", "--contexts", contexts, "--devices", device]);
        command.args(["faulty::own_worker::", "--report-dir"]).arg(folder.path());
        command.env("CLMATRIX_CONFIG", &config);
        assert!(output(command).status.success());
        let workers: Vec<_> = log(folder.path()).results.iter().map(|r| r.worker).collect();
        let [before, own, after] = workers[..] else { panic!("{workers:?}") };
        let all_differ = before != own && own != after && before != after;
        assert_eq!(all_differ, is_apart, "{contexts}: {workers:?}");
    }
}

fn a_failure_after_a_failure_is_repeated() {
    let mut run =
        ContextsRun::of_reuse(&["fails_and_leaves_nothing@", "needs_the_process_only@"], &[]);
    run.expect_failures("fails_and_leaves_*");
    let (status, page) = run.end();
    assert_eq!(status, Some(0), "{page}");
    let result = run.result("needs_the_process_only");
    assert_eq!(
        (result.verdict, result.reused_context),
        (Verdict::Pass, Some(Verdict::Fail)),
        "{page}"
    );
}

fn libtest_counts_different_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    fs::write(&config, "[profile.default]\nslots = 1\ncontexts = \"reuse\"\n")
        .expect("it is written");
    let tests = ["contexts::marks_its_context", "contexts::fails_in_a_marked_context"];
    let mut command = child(LIBTEST, &tests);
    command.env("CLMATRIX_CONFIG", config).env("CLMATRIX_TEST", cpu::platform());
    command.env("CLMATRIX_REPORT_DIR", folder.path());
    let ended = output(command);
    assert_eq!(ended.status.code(), Some(0));
    let errors = String::from_utf8(ended.stderr).expect("text");
    assert!(errors.contains("tests with another result in a reused context: 1 "), "{errors}");
}
