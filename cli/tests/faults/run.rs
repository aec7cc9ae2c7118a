//! One run of all faulty tests on all devices, and what it reported of each.

use std::sync::LazyLock;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::verdict::{Outcome, Verdict};

use crate::check;
use crate::support::{COMMAND, Ended, Folder, child, is_running, output, results};

struct Finished {
    log: RunLog,
    output: Ended,
    /// Holds the outputs of the tests.
    _folder: Folder,
}

static RUN: LazyLock<Finished> = LazyLock::new(|| {
    let folder = Folder::new();
    let output = output(folder.run(&[]));
    Finished { log: folder.log(), output, _folder: folder }
});

/// Checks the outcome of a test on each device.
fn each(test: &str, verdict: Verdict, check: impl Fn(&Outcome) -> bool) {
    for result in results(&RUN.log, test) {
        assert_eq!(result.verdict, verdict, "{result:?}");
        assert!(check(&result.attempt.outcome), "{result:?}");
    }
}

check!(exits_with_1_and_names_what_failed, {
    assert_eq!(RUN.output.status.code(), Some(1));
    let stdout = &RUN.output.stdout;
    assert!(stdout.contains("faulty::writes_to_null@"), "{stdout}");
    // Text to be copied may be wider.
    let is_to_copy =
        |line: &str| line.contains("faulty::") || line.starts_with("  all:   clmatrix ");
    assert!(stdout.lines().all(|line| line.chars().count() <= 80 || is_to_copy(line)));
});

check!(the_variable_of_workers_is_refused, {
    for value in ["", "{}", "\"Host\"", "\"Program\""] {
        let mut command = child(COMMAND, &["devices"]);
        let ended = output(command.env("CLMATRIX_WORKER", value));
        assert_eq!(ended.status.code(), Some(2), "{value}");
        let stderr = ended.stderr;
        assert!(stderr.starts_with("error: CLMATRIX_WORKER is set"), "{value}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{value}: {stderr}");
    }
});

check!(each_fault_has_its_verdict_and_reason, {
    use Verdict::{Crash, Fail, Ignored, Pass, Skip};
    for (test, verdict, reasons) in [
        ("passes", Pass, &["passed"][..]),
        // A driver's own handler may turn one into the other.
        ("writes_to_null", Crash, &["SIGSEGV", "SIGABRT"]),
        ("overflows_its_stack", Crash, &["SIGABRT", "SIGSEGV"]),
        ("aborts", Crash, &["SIGABRT"]),
        ("leaves_with_status_0", Crash, &["exited with status 0 in the middle of the test"]),
        ("fails_an_assertion", Fail, &["assertion `left == right` failed: the answer\n  left: 41"]),
        ("returns_an_error", Fail, &["Error: \"the device is on fire\"\n  at "]),
        ("panics_as_announced", Pass, &["passed"]),
        ("panics_otherwise", Fail, &["by mistake"]),
        ("does_not_panic", Fail, &[""]),
        ("skips_itself", Skip, &["found something wanting"]),
        (
            "skips_on_another_thread",
            Fail,
            &["on another thread and ended that thread alone: found by"],
        ),
        ("throws_the_skip_of_a_thread", Skip, &["found by a thread"]),
        ("returns_the_skip_of_a_thread", Skip, &["found by a thread"]),
        ("requires_too_much", Skip, &["needs OpenCL 9.9, the device has "]),
        ("is_ignored", Ignored, &["takes long"]),
        ("reads_standard_input", Pass, &["passed"]),
        ("speaks_no_utf8", Pass, &["passed"]),
        ("run", Pass, &["passed"]),
        ("closes_standard_output", Pass, &["passed"]),
        ("writes_to_the_runners_connection", Pass, &["passed"]),
        ("forks_and_both_return", Pass, &["passed"]),
        ("fails_after_the_fork", Fail, &["not what the fork's child answered"]),
        ("aborts_while_a_forked_child_lives", Crash, &["SIGABRT"]),
        // The test before it has changed its folder.
        (
            "fails_where_it_began",
            Fail,
            &["assertion `left == right` failed: the folder of the run"],
        ),
    ] {
        each(test, verdict, |outcome| {
            let text = outcome.to_string();
            reasons.iter().any(|reason| text.contains(reason))
        });
    }
    for test in ["fails_an_assertion", "fails_where_it_began"] {
        each(test, Fail, |outcome| outcome.to_string().contains("faulty.rs:"));
    }
});

check!(a_test_keeps_its_own_output, {
    for (test, stdout, stderr) in [
        ("passes", "said on standard output\n", "said on standard error\n"),
        ("writes_to_null", "last words before the crash", ""),
        ("speaks_no_utf8", "bad \u{fffd}\u{fffd} bytes", ""),
        ("prints_after_the_one_that_closed_it", "said on standard output\n", ""),
    ] {
        for result in results(&RUN.log, test) {
            assert!(result.attempt.stdout.starts_with(stdout), "{result:?}");
            assert!(result.attempt.stderr.contains(stderr), "{result:?}");
        }
    }
});

check!(a_hang_takes_its_whole_process_group_along, {
    each(
        "hangs_and_leaves_a_child",
        Verdict::Timeout,
        |outcome| matches!(outcome, Outcome::TimedOut { limit } if limit.as_secs() == 2),
    );
    for result in results(&RUN.log, "hangs_and_leaves_a_child") {
        let child =
            result.attempt.stdout.trim().strip_prefix("child ").expect("it named its child");
        assert!(!is_running(child.parse().expect("a process id")), "{}", result.test);
    }
});

check!(a_flood_is_cut_and_does_not_fail, {
    for result in results(&RUN.log, "floods") {
        let result = RUN.log.with_output(result);
        assert_eq!(result.verdict, Verdict::Pass, "{result:?}");
        for text in [&result.attempt.stdout, &result.attempt.stderr] {
            assert!(text.len() < 1 << 20, "{}: {} bytes are kept", result.test, text.len());
            assert!(text.contains("bytes cut ...]"), "{}", result.test);
        }
        assert!(result.attempt.stdout.ends_with("the end of the flood\n"), "{}", result.test);
    }
});

check!(what_a_driver_says_is_wrong_fails_the_test, {
    for (test, complaint) in [
        ("writes_past_a_buffer", "the driver reports: Invalid write of size 4"),
        ("diverges_at_a_barrier", "the driver reports: Work-group divergence detected"),
    ] {
        for result in results(&RUN.log, test) {
            if !result.test.contains("@oclgrind") {
                assert_eq!(result.verdict, Verdict::Skip, "{}", result.test);
                continue;
            }
            assert_eq!(result.verdict, Verdict::Fail, "{}", result.test);
            let summary = result.summary();
            assert!(summary.contains(complaint), "{summary}");
        }
    }
});

check!(a_test_without_device_runs_once, {
    let results = results(&RUN.log, "needs_no_device");
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].test, "faulty::needs_no_device@host");
    assert_eq!(results[0].attempt.stdout, "on the host\n");
});

check!(a_crash_on_a_thread_of_the_driver_is_no_test_s, {
    each("is_the_victim_of_the_bomb", Verdict::Pass, |outcome| *outcome == Outcome::Passed);
    each("leaves_a_time_bomb", Verdict::Pass, |outcome| *outcome == Outcome::Passed);
    for device in &RUN.log.header.devices {
        let id = format!("worker::crash@{}", device.id);
        let crashes = RUN.log.results.iter().find(|result| result.test == *id).expect("a result");
        assert_eq!(crashes.verdict, Verdict::Crash);
        let victim = format!("running test: faulty::is_the_victim_of_the_bomb@{}\n", device.id);
        let mut attempts = crashes.earlier.iter().chain([crashes]);
        assert!(attempts.any(|attempt| attempt.attempt.stdout.contains(&victim)), "{crashes:?}");
    }
});

// The bomb goes with its worker, before the next test.
check!(a_worker_has_as_many_tests_as_it_may, {
    let folder = Folder::new();
    let mut command = folder.run(&["bomb"]);
    folder.configure(&mut command, "[profile.default]\ntests-per-worker = 1\n");
    assert!(output(command).status.success());
    assert_eq!(results(&folder.log(), "leaves_a_time_bomb")[0].verdict, Verdict::Pass);
});

check!(a_huge_message_is_cut, {
    each("panics_with_a_hundred_megabytes", Verdict::Fail, |outcome| {
        matches!(outcome, Outcome::Failed { message, .. }
            if message.len() < 1 << 20 && message.ends_with("bytes cut]"))
    });
});

// libtest shows two frames below a test: a closure and `FnOnce::call_once`.
check!(a_backtrace_ends_at_the_test, {
    let folder = Folder::new();
    let mut command = folder.run(&["faulty::fails_an_assertion@"]);
    command.env("RUST_BACKTRACE", "1");
    assert_eq!(output(command).status.code(), Some(1));
    for result in results(&folder.log(), "fails_an_assertion") {
        let is_frame = |line: &&str| {
            line.trim_start()
                .split_once(": ")
                .is_some_and(|(number, _)| number.parse::<u32>().is_ok())
        };
        let frames: Vec<&str> = result.attempt.stderr.lines().filter(is_frame).collect();
        let test = frames.iter().position(|frame| frame.ends_with("::fails_an_assertion"));
        let test =
            test.unwrap_or_else(|| panic!("no frame of the test: {}", result.attempt.stderr));
        assert!(frames.len() - test - 1 <= 2, "{result:?}");
        assert!(!result.attempt.stderr.contains("clmatrix_runner::"), "{result:?}");
    }
});
