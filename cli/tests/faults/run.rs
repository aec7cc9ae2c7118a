//! One run of all faulty tests on all devices, and what it reported of each.

use std::process::Output;
use std::sync::LazyLock;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::verdict::{Outcome, Verdict};

use crate::Check;
use crate::support::{COMMAND, child, is_running, log, output, results};

pub const CHECKS: &[Check] = &[
    ("run::exits_with_1_and_names_what_failed", exits_with_1_and_names_what_failed),
    ("run::a_test_that_passes_keeps_its_own_output", a_test_that_passes_keeps_its_own_output),
    ("run::crashes_are_named", crashes_are_named),
    ("run::a_hang_takes_its_whole_process_group_along", a_hang_takes_its_whole_process_group_along),
    ("run::a_flood_is_cut_and_does_not_fail", a_flood_is_cut_and_does_not_fail),
    ("run::odd_bytes_do_not_fail", odd_bytes_do_not_fail),
    ("run::failures_have_message_and_place", failures_have_message_and_place),
    ("run::what_a_driver_says_is_wrong_fails_the_test", what_a_driver_says_is_wrong_fails_the_test),
    ("run::should_panic_is_kept", should_panic_is_kept),
    ("run::skips_say_why", skips_say_why),
    ("run::a_test_without_device_runs_once", a_test_without_device_runs_once),
    ("run::a_crash_on_a_thread_of_the_driver_is_no_test_s", a_crash_on_a_thread_of_the_driver),
    ("run::a_worker_has_as_many_tests_as_it_may", a_worker_has_as_many_tests_as_it_may),
    ("run::what_a_test_closes_is_open_for_the_next", what_a_test_closes_is_open_for_the_next),
    ("run::a_fork_answers_for_nobody_else", a_fork_answers_for_nobody_else),
    ("run::garbage_on_the_connection_is_passed_over", garbage_on_the_connection_is_passed_over),
    ("run::what_a_test_changes_is_changed_back", what_a_test_changes_is_changed_back),
    ("run::a_huge_message_is_cut", a_huge_message_is_cut),
    ("run::a_backtrace_ends_at_the_test", a_backtrace_ends_at_the_test),
    ("run::junit_files_are_well_formed", junit_files_are_well_formed),
];

struct Finished {
    log: RunLog,
    output: Output,
    folder: tempfile::TempDir,
}

static RUN: LazyLock<Finished> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let report_dir = folder.path().to_str().expect("a path in UTF-8").to_owned();
    let output = output(child(COMMAND, &["run", "--report-dir", &report_dir]));
    Finished { log: log(folder.path()), output, folder }
});

/// Checks the outcome of a test on each device.
fn each(test: &str, verdict: Verdict, check: impl Fn(&Outcome) -> bool) {
    for result in results(&RUN.log, test) {
        assert_eq!(result.verdict, verdict, "{}: {:?}", result.test, result.outcome);
        assert!(check(&result.outcome), "{}: {:?}", result.test, result.outcome);
    }
}

fn exits_with_1_and_names_what_failed() {
    assert_eq!(RUN.output.status.code(), Some(1));
    let stdout = String::from_utf8_lossy(&RUN.output.stdout);
    assert!(stdout.contains("faulty::writes_to_null@"), "{stdout}");
    // Text to be copied may be wider.
    let is_to_copy =
        |line: &str| line.contains("faulty::") || line.starts_with("  all:   clmatrix ");
    assert!(stdout.lines().all(|line| line.chars().count() <= 80 || is_to_copy(line)));
}

fn a_test_that_passes_keeps_its_own_output() {
    for result in results(&RUN.log, "passes") {
        assert_eq!(result.verdict, Verdict::Pass, "{}", result.test);
        assert_eq!(result.stdout, "said on standard output\n");
        assert!(result.stderr.contains("said on standard error\n"), "{}", result.stderr);
    }
}

fn crashes_are_named() {
    let how = |names: &'static [&str]| move |outcome: &Outcome| matches!(outcome, Outcome::Crashed { how } if names.contains(&how.as_str()));
    // A driver's own handler may turn one into the other.
    each("writes_to_null", Verdict::Crash, how(&["SIGSEGV", "SIGABRT"]));
    each("aborts", Verdict::Crash, how(&["SIGABRT"]));
    each("overflows_its_stack", Verdict::Crash, how(&["SIGABRT", "SIGSEGV"]));
    each(
        "leaves_with_status_0",
        Verdict::Crash,
        how(&["exited with status 0 in the middle of the test"]),
    );
    for result in results(&RUN.log, "writes_to_null") {
        assert!(result.stdout.contains("last words before the crash"), "{}", result.test);
    }
}

fn a_hang_takes_its_whole_process_group_along() {
    each(
        "hangs_and_leaves_a_child",
        Verdict::Timeout,
        |outcome| matches!(outcome, Outcome::TimedOut { limit } if limit.as_secs() == 2),
    );
    for result in results(&RUN.log, "hangs_and_leaves_a_child") {
        let child = result.stdout.trim().strip_prefix("child ").expect("it named its child");
        assert!(!is_running(child.parse().expect("a process id")), "{}", result.test);
    }
}

fn a_flood_is_cut_and_does_not_fail() {
    for result in results(&RUN.log, "floods") {
        let result = RUN.log.with_output(result);
        assert_eq!(result.verdict, Verdict::Pass, "{}: {:?}", result.test, result.outcome);
        for text in [&result.stdout, &result.stderr] {
            assert!(text.len() < 1 << 20, "{}: {} bytes are kept", result.test, text.len());
            assert!(text.contains("bytes cut ...]"), "{}", result.test);
        }
        assert!(result.stdout.ends_with("the end of the flood\n"), "{}", result.test);
    }
}

fn odd_bytes_do_not_fail() {
    for result in results(&RUN.log, "speaks_no_utf8") {
        assert_eq!(result.verdict, Verdict::Pass, "{}", result.test);
        assert!(result.stdout.contains("bad \u{fffd}\u{fffd} bytes"), "{:?}", result.stdout);
    }
    each("reads_standard_input", Verdict::Pass, |_| true);
}

fn failures_have_message_and_place() {
    each("fails_an_assertion", Verdict::Fail, |outcome| {
        let Outcome::Failed { message, location: Some(location) } = outcome else { return false };
        message.contains("the answer")
            && message.contains("41")
            && location.file.ends_with("faulty.rs")
    });
    each("returns_an_error", Verdict::Fail, |outcome| {
        matches!(outcome, Outcome::Failed { message, location: Some(_) }
            if message == "Error: \"the device is on fire\"")
    });
}

fn what_a_driver_says_is_wrong_fails_the_test() {
    for (test, complaint) in [
        ("writes_past_a_buffer", "the driver says: Invalid write of size 4"),
        ("diverges_at_a_barrier", "the driver says: Work-group divergence detected"),
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
}

fn should_panic_is_kept() {
    each("panics_as_announced", Verdict::Pass, |_| true);
    each(
        "panics_otherwise",
        Verdict::Fail,
        |outcome| matches!(outcome, Outcome::Failed { message, .. } if message.contains("by mistake")),
    );
    each("does_not_panic", Verdict::Fail, |_| true);
}

fn skips_say_why() {
    each(
        "skips_itself",
        Verdict::Skip,
        |outcome| matches!(outcome, Outcome::Skipped { reason } if reason == "found something wanting"),
    );
    each(
        "requires_too_much",
        Verdict::Skip,
        |outcome| matches!(outcome, Outcome::Skipped { reason } if reason.starts_with("needs OpenCL 9.9, the device has ")),
    );
    each(
        "is_ignored",
        Verdict::Ignored,
        |outcome| matches!(outcome, Outcome::Ignored { reason: Some(reason) } if reason == "takes long"),
    );
}

fn a_test_without_device_runs_once() {
    let results = results(&RUN.log, "needs_no_device");
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].test, "faulty::needs_no_device@host");
    assert_eq!(results[0].stdout, "on the host\n");
}

fn a_crash_on_a_thread_of_the_driver() {
    each("is_the_victim_of_the_bomb", Verdict::Pass, |outcome| *outcome == Outcome::Passed);
    each("leaves_a_time_bomb", Verdict::Pass, |outcome| *outcome == Outcome::Passed);
    for device in &RUN.log.header.devices {
        let id = format!("worker::crash@{}", device.id);
        let crashes = RUN.log.results.iter().find(|result| result.test == id).expect("a result");
        assert_eq!(crashes.verdict, Verdict::Crash);
        let victim = format!("running test: faulty::is_the_victim_of_the_bomb@{}\n", device.id);
        let mut attempts = crashes.earlier.iter().chain([crashes]);
        assert!(attempts.any(|attempt| attempt.stdout.contains(&victim)), "{crashes:?}");
    }
}

/// The bomb goes with its worker, before the next test.
fn a_worker_has_as_many_tests_as_it_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    std::fs::write(&config, "[profile.default]\ntests-per-worker = 1\n").expect("it is written");
    let reports = folder.path().join("reports");
    let mut command = child(COMMAND, &["run", "bomb", "--report-dir"]);
    command.arg(&reports).env("CLMATRIX_CONFIG", config);
    assert!(output(command).status.success());
    assert_eq!(results(&log(&reports), "leaves_a_time_bomb")[0].verdict, Verdict::Pass);
}

fn what_a_test_closes_is_open_for_the_next() {
    each("run", Verdict::Pass, |_| true);
    each("closes_standard_output", Verdict::Pass, |_| true);
    for result in results(&RUN.log, "prints_after_the_one_that_closed_it") {
        assert_eq!(result.stdout, "said on standard output\n", "{}", result.test);
    }
}

fn a_fork_answers_for_nobody_else() {
    each("forks_and_both_return", Verdict::Pass, |_| true);
    each("fails_after_the_fork", Verdict::Fail, |_| true);
    each(
        "aborts_while_a_forked_child_lives",
        Verdict::Crash,
        |outcome| matches!(outcome, Outcome::Crashed { how } if how == "SIGABRT"),
    );
}

fn garbage_on_the_connection_is_passed_over() {
    each("writes_to_the_runners_connection", Verdict::Pass, |_| true);
}

fn what_a_test_changes_is_changed_back() {
    each("fails_where_it_began", Verdict::Fail, |outcome| {
        matches!(outcome, Outcome::Failed { message, location: Some(_) }
            if message.contains("the folder of the run"))
    });
}

fn a_huge_message_is_cut() {
    each("panics_with_a_hundred_megabytes", Verdict::Fail, |outcome| {
        matches!(outcome, Outcome::Failed { message, .. }
            if message.len() < 1 << 20 && message.ends_with("bytes cut]"))
    });
}

/// libtest shows two frames below a test: a closure and `FnOnce::call_once`.
fn a_backtrace_ends_at_the_test() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = child(COMMAND, &["run", "faulty::fails_an_assertion@", "--report-dir"]);
    command.arg(folder.path()).env("RUST_BACKTRACE", "1");
    assert_eq!(output(command).status.code(), Some(1));
    for result in results(&log(folder.path()), "fails_an_assertion") {
        let is_frame = |line: &&str| {
            line.trim_start()
                .split_once(": ")
                .is_some_and(|(number, _)| number.parse::<u32>().is_ok())
        };
        let frames: Vec<&str> = result.stderr.lines().filter(is_frame).collect();
        let test = frames.iter().position(|frame| frame.ends_with("::fails_an_assertion"));
        let test = test.unwrap_or_else(|| panic!("no frame of the test: {}", result.stderr));
        assert!(frames.len() - test - 1 <= 2, "{}", result.stderr);
        assert!(!result.stderr.contains("clmatrix_harness::"), "{}", result.stderr);
    }
}

fn junit_files_are_well_formed() {
    for device in &RUN.log.header.devices {
        let file = RUN.folder.path().join("junit").join(format!("{}.xml", device.id));
        let text = std::fs::read_to_string(&file).expect("the device has a report");
        let mut reader = quick_xml::Reader::from_str(&text);
        loop {
            match reader.read_event().unwrap_or_else(|error| panic!("{}: {error}", file.display()))
            {
                quick_xml::events::Event::Eof => break,
                quick_xml::events::Event::Start(_) => {}
                _ => {}
            }
        }
        assert!(!text.contains('\u{1b}') && !text.contains('\0'), "{}", file.display());
    }
    assert!(RUN.folder.path().join("junit/host.xml").is_file());
}
