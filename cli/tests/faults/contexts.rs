//! Contexts that tests reuse.

use std::fmt::Display;
use std::process::Command;

use clmatrix_runner::result::blame::Blame;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::Verdict;

use crate::support::{Ended, Folder, LIBTEST, child, context_layer, output, results};
use crate::{check, cpu};

/// A run of tests of `faulty::contexts`.
struct ContextsRun {
    folder: Folder,
    command: Command,
}

impl ContextsRun {
    /// A run with `--contexts`.
    fn new(contexts: &str, tests: &[impl Display], options: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = folder.run(&["--contexts", contexts]);
        command.args(options);
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
        let entry = format!(
            "[[expect]]\ntest = \"*::{test}\"\nid = \"*\"\nstatus = \"fail\"\nreason = \"bug 7\"\n"
        );
        self.folder.write("expectations/all.toml", &entry);
        self.folder.configure(&mut self.command, "");
    }

    /// Runs the tests. Returns the exit status and the page.
    fn end(&mut self) -> (Option<i32>, String) {
        let ended = output(&mut self.command);
        (ended.status.code(), ended.stdout)
    }

    /// The results of a test, one for each device.
    fn results(&self, test: &str) -> Vec<TestResult> {
        let log = self.folder.log();
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

check!(tests_that_reuse_make_no_context, {
    let [one, twelve] = ["fills_a_buffer::number_01_1@", "fills_a_buffer"]
        .map(|test| ["fresh", "reuse"].map(|contexts| contexts_made(contexts, test)));
    assert_eq!(twelve[0], one[0] + 11, "fresh contexts");
    assert_eq!(twelve[1], one[1], "reused contexts");
    // One is the worker's, which is also the first of a test that reuses; two are those of its first and its
    // last probe.
    assert_eq!(one, [4, 3]);
});

check!(a_worker_keeps_few_contexts, {
    // The second test reuses 4 of the 8 contexts of the first. Two are those of the probes.
    assert_eq!(contexts_made("reuse", "has_many_contexts"), 8 + 4 + 2);
});

// Also on a driver that does not count references.
check!(a_test_gets_the_contexts_of_another, {
    for counts in [true, false] {
        gets_the_contexts_of_another(counts);
    }
});

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
    let devices = run.folder.log().header.devices.len();
    let [one, two, fresh, leaving, following] = tests.map(|test| {
        let printed = run.results(test.trim_end_matches('@'));
        assert_eq!(printed.len(), devices);
        printed.into_iter().map(|result| {
            let device = result.test.device().to_owned();
            (device, result.attempt.stdout.lines().map(str::to_owned).collect::<Vec<_>>())
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

/// Checks a test whose results in a reused and in a fresh context differ.
fn differs(test: &str, before: Verdict, after: Verdict, note: &str) {
    let mut run = ContextsRun::of_reuse(&["marks_its_context@", &format!("{test}@")], &[]);
    run.expect_failures("needs_a_marked_context");
    let (status, page) = run.end();
    assert_eq!(status, Some(0), "{page}");
    let result = run.result(test);
    assert_eq!(result.verdict, after, "{page}");
    let [first] = &result.earlier[..] else { panic!("{:?}", result.earlier) };
    assert_eq!((first.verdict, first.blame), (before, Blame::UsedContext));
    assert_eq!((first.attempt.number, result.attempt.number), (1, 2));
    assert_ne!(first.attempt.worker, result.attempt.worker, "the repeat is in a fresh worker");
    let stdouts = [first, &result].map(|attempt| attempt.attempt.stdout.lines().last());
    assert_eq!(stdouts, [Some("marked: true"), Some("marked: false")]);
    assert!(page.contains(&format!("  {note} in a used context\n")), "{page}");
    let report = output(run.folder.command(&["report"]));
    assert_eq!((report.status.code(), &*report.stdout), (status, &*page));
}

check!(a_result_in_a_fresh_context_counts, {
    use Verdict::{ExpectedFail, Fail, Pass, UnexpectedPass};
    differs("fails_in_a_marked_context", Fail, Pass, "failed");
    differs("needs_a_marked_context", UnexpectedPass, ExpectedFail, "passed");
});

// If nothing of the test is left.
check!(a_worker_outlives_expected_failures, {
    for (contexts, leaves, expected, outlives) in [
        ("reuse", "nothing", "fails_and_leaves_*", [true, true]),
        ("fresh", "nothing", "fails_and_leaves_*", [true, true]),
        ("reuse", "a_queue", "fails_and_leaves_*", [true, false]),
        ("fresh", "a_queue", "fails_and_leaves_*", [true, false]),
        // The repeat of an unexpected failure is in a fresh worker, too.
        ("reuse", "nothing", "nothing", [false, false]),
    ] {
        let failing = format!("fails_and_leaves_{leaves}");
        let tests = ["precedes_failures", &failing, "follows_failures"];
        let mut run = ContextsRun::new(contexts, &tests.map(|test| format!("{test}@")), &[]);
        run.command.args(["--devices", cpu::platform()]);
        run.expect_failures(expected);
        let (status, page) = run.end();
        assert_eq!(status, Some(i32::from(expected == "nothing")), "{page}");
        let [before, failed, after] =
            tests.map(|test| run.result(test).attempt.worker.expect("it has run"));
        assert_eq!([before == failed, failed == after], outlives, "{page}");
    }
});

// Where contexts are reused, only if it is expected to go wrong.
check!(a_test_has_its_own_worker, {
    for (contexts, entry, is_apart) in
        [("fresh", "", true), ("reuse", "", false), ("reuse", "[\"pass\", \"fail\"]", true)]
    {
        let folder = Folder::new();
        if !entry.is_empty() {
            let entry = format!(
                "[[expect]]\ntest = \"*::is_apart\"\nstatus = {entry}\nreason = \"known\"\n"
            );
            folder.write("expectations/a.toml", &entry);
        }
        let options = ["--contexts", contexts, "--devices", cpu::platform()];
        let mut command = folder.run(&[&options[..], &["faulty::own_worker::"]].concat());
        folder.configure(&mut command, "");
        assert!(output(command).status.success());
        let workers: Vec<_> = folder.log().results.iter().map(|r| r.attempt.worker).collect();
        let [before, own, after] = workers[..] else { panic!("{workers:?}") };
        let all_differ = before != own && own != after && before != after;
        assert_eq!(all_differ, is_apart, "{contexts}: {workers:?}");
    }
});

check!(libtest_counts_different_results, {
    let folder = Folder::new();
    let tests = ["contexts::marks_its_context", "contexts::fails_in_a_marked_context"];
    let mut command = child(LIBTEST, &tests);
    folder.configure(&mut command, "[profile.default]\nslots = 1\ncontexts = \"reuse\"\n");
    command.env("CLMATRIX_TEST", cpu::platform()).env("CLMATRIX_REPORT_DIR", folder.path());
    let Ended { status, stderr: errors, .. } = output(command);
    assert_eq!(status.code(), Some(0));
    assert!(errors.contains("tests with another result alone: 1 "), "{errors}");
});
