//! The same tests as a target of `cargo test`: libtest's options, and what it prints.

use std::collections::HashSet;
use std::process::Output;

use clmatrix_harness::private::verdict::Verdict;

use crate::Check;
use crate::support::{LIBTEST, child, log, output, results, without_devices};

pub const CHECKS: &[Check] = &[
    ("libtest::lists_every_test_on_every_device", lists_every_test_on_every_device),
    ("libtest::exact_runs_one_test_on_one_device", exact_runs_one_test_on_one_device),
    (
        "libtest::exact_without_a_device_means_every_device",
        exact_without_a_device_means_every_device,
    ),
    (
        "libtest::several_filters_choose_what_any_of_them_matches",
        several_filters_choose_what_any_of_them_matches,
    ),
    ("libtest::ignored_tests_run_when_asked_for", ignored_tests_run_when_asked_for),
    (
        "libtest::failures_fail_the_target_and_show_the_output",
        failures_fail_the_target_and_show_the_output,
    ),
    ("libtest::output_is_shown_when_asked_for", output_is_shown_when_asked_for),
    ("libtest::no_capture_prints_output_below_the_test", no_capture_prints_output_below_the_test),
    ("libtest::a_repeated_test_prints_its_output_once", a_repeated_test_prints_its_output_once),
    ("libtest::show_output_prints_what_passed", show_output_prints_what_passed),
    ("libtest::options_of_libtest_are_taken", options_of_libtest_are_taken),
    ("libtest::options_without_support_are_refused", options_without_support_are_refused),
    ("libtest::help_names_every_option_of_libtest", help_names_every_option_of_libtest),
    (
        "libtest::nextest_does_not_run_what_a_device_cannot",
        nextest_does_not_run_what_a_device_cannot,
    ),
    ("libtest::without_a_device_the_tests_are_listed", without_a_device_the_tests_are_listed),
    ("libtest::without_a_device_host_tests_run", without_a_device_host_tests_run),
];

fn libtest(arguments: &[&str]) -> Output {
    output(child(LIBTEST, arguments))
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The ids of all tests, as `--list` gives them.
fn listed(arguments: &[&str]) -> Vec<String> {
    let output = libtest(&[&["--list"], arguments].concat());
    assert!(output.status.success());
    stdout(&output)
        .lines()
        .map(|line| line.strip_suffix(": test").expect("libtest's format").to_owned())
        .collect()
}

fn lists_every_test_on_every_device() {
    let ids = listed(&[]);
    let devices = ids.iter().filter(|id| id.starts_with("faulty::passes@")).count();
    assert!(devices > 0);
    assert_eq!(ids.iter().filter(|id| id.starts_with("faulty::aborts@")).count(), devices);
    assert_eq!(ids.iter().filter(|id| id.as_str() == "faulty::needs_no_device@host").count(), 1);
    assert!(listed(&["--ignored"]).iter().all(|id| ids.contains(id)));
    assert_eq!(listed(&["--ignored", "is_ignored"]).len(), devices);
    assert_eq!(listed(&["passes", "--skip", "passes"]), [""; 0]);
}

fn exact_runs_one_test_on_one_device() {
    let id = listed(&["faulty::passes@"]).swap_remove(0);
    let output = libtest(&[&id, "--exact"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains(&format!("test {id} ... ok")), "{}", stdout(&output));
    // The test, and the workers.
    assert!(stdout(&output).contains("2 passed; 0 failed"), "{}", stdout(&output));
}

fn exact_without_a_device_means_every_device() {
    let everywhere = listed(&["faulty::passes@"]);
    // `passes` is also a part of other tests' names.
    assert_eq!(listed(&["--exact", "faulty::passes"]), everywhere);
    assert_eq!(listed(&["faulty::pass", "--exact"]), [""; 0]);
    let without = ["--exact", "faulty::passes", "faulty::aborts", "--skip", "faulty::aborts"];
    assert_eq!(listed(&without), everywhere);
    let run = libtest(&["--exact", "faulty::passes", "--nocapture"]);
    assert!(run.status.success());
    let passed = format!("{} passed; 0 failed", everywhere.len() + 1);
    assert!(stdout(&run).contains(&passed), "{}", stdout(&run));
}

fn several_filters_choose_what_any_of_them_matches() {
    let one = listed(&["faulty::passes"]).len();
    assert_eq!(listed(&["faulty::passes", "faulty::aborts@"]).len(), 2 * one);
}

fn ignored_tests_run_when_asked_for() {
    let plain = stdout(&libtest(&["is_ignored"]));
    assert!(plain.contains("ignored (takes long)"), "{plain}");
    let asked = stdout(&libtest(&["is_ignored", "--ignored"]));
    assert!(asked.contains("... ok") && !asked.contains("takes long"), "{asked}");
}

fn failures_fail_the_target_and_show_the_output() {
    let output = libtest(&["faulty::fails_an_assertion", "faulty::requires_too_much"]);
    assert_eq!(output.status.code(), Some(101));
    let text = stdout(&output);
    assert!(text.contains("the answer") && text.contains("faulty.rs:"), "{text}");
    assert!(text.contains("ignored (skipped: needs OpenCL 9.9"), "{text}");
}

fn output_is_shown_when_asked_for() {
    assert!(!stdout(&libtest(&["faulty::passes"])).contains("said on standard output"));
    assert!(
        stdout(&libtest(&["faulty::passes", "--nocapture"])).contains("said on standard output")
    );
}

/// Returns the ids of a test on all devices, and the text of a line that a device prints.
fn on_devices(test: &str) -> (Vec<String>, impl Fn(&str, &str) -> String) {
    let ids = listed(&[test]);
    let device = |id: &str| id.rsplit_once('@').expect("an id has a device").1.to_owned();
    let width = ids.iter().map(|id| device(id).len()).max().expect("a device");
    let has_prefix = ids.len() > 1;
    (ids, move |id: &str, line: &str| match has_prefix {
        true => format!("{:width$} | {line}\n", device(id)),
        false => format!("{line}\n"),
    })
}

fn no_capture_prints_output_below_the_test() {
    let (ids, line) = on_devices("faulty::passes@");
    let text = stdout(&libtest(&["faulty::passes@", "--no-capture"]));
    for id in &ids {
        let line = line(id, "said on standard output");
        assert!(text.contains(&format!("\ntest {id}")), "{text}");
        let (_, below) = text.split_once(&format!("test {id}")).expect("the test's line");
        let (_, below) = below.split_once(" ... \n").expect("the line ends before the output");
        assert!(below.starts_with(&format!("{line}ok\n")), "{text}");
    }
    let one = libtest(&[&ids[0], "--exact", "--nocapture"]);
    assert!(stdout(&one).contains(" ... \nsaid on standard output\nok\n"), "{}", stdout(&one));
    let stderr = String::from_utf8_lossy(&one.stderr);
    assert!(stderr.lines().any(|line| line == "said on standard error"), "{stderr}");
}

fn a_repeated_test_prints_its_output_once() {
    let (ids, line) = on_devices("faulty::is_the_victim_of_the_bomb@");
    let text = stdout(&libtest(&["bomb", "--no-capture"]));
    // The crash of the worker has the output again.
    let (text, _) = text.split_once("\nfailures:").expect("a failure");
    for id in &ids {
        assert_eq!(text.matches(&line(id, "said before the crash")).count(), 1, "{id}: {text}");
    }
}

fn show_output_prints_what_passed() {
    let arguments = ["faulty::passes@", "faulty::fails_an_assertion@", "--show-output"];
    let text = stdout(&libtest(&arguments));
    let (_, successes) = text.split_once("\nsuccesses:\n\n").expect("a section for what passed");
    for id in listed(&["faulty::passes@"]) {
        let output = format!("---- {id} stdout ----\nsaid on standard output\n\n");
        assert!(successes.contains(&output), "{text}");
        assert!(successes.contains(&format!("\n    {id}\n")), "{text}");
    }
    assert!(!successes.contains("fails_an_assertion"), "{text}");
    assert!(!stdout(&libtest(&arguments[..2])).contains("said on standard output"));
    let json = stdout(&libtest(&[&arguments[..], &["--format", "json"]].concat()));
    assert!(json.lines().all(|line| line.starts_with('{')), "{json}");
}

fn options_without_support_are_refused() {
    for options in [
        &["--ensure-time"][..],
        &["--force-run-in-process"],
        &["--test-threads", "0"],
        &["--format", "junit"],
        &["--bogus"],
    ] {
        let output = libtest(&[&["faulty::passes@"], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let option = options[0].split('=').next().expect("a name");
        assert!(stderr.starts_with("error: ") && stderr.contains(option), "{stderr}");
        assert_eq!(stdout(&output), "");
    }
}

/// The options that libtest of Rust 1.95 names; its own `--help` is compared by hand.
fn help_names_every_option_of_libtest() {
    let help = stdout(&libtest(&["--help"]));
    for option in [
        "--include-ignored",
        "--ignored",
        "--force-run-in-process",
        "--exclude-should-panic",
        "--test",
        "--bench",
        "--list",
        "--logfile",
        "--no-capture",
        "--nocapture",
        "--test-threads",
        "--skip",
        "-q",
        "--quiet",
        "--exact",
        "--color",
        "--format",
        "--show-output",
        "-Z",
        "--report-time",
        "--ensure-time",
        "--shuffle",
        "--shuffle-seed",
    ] {
        let mut words = help.split([' ', '\n', ',', '[', ']']);
        assert!(words.any(|word| word == option), "{option}: {help}");
    }
    assert!(!help.contains("libtest-mimic"), "{help}");
    let passes = listed(&["faulty::passes@"]).len();
    assert_eq!(listed(&["faulty::passes@", "panics_as_announced"]).len(), 2 * passes);
    let without = ["faulty::passes@", "panics_as_announced", "--exclude-should-panic"];
    assert_eq!(listed(&without).len(), passes);
    assert_eq!(listed(&["--bench"]), [""; 0]);
}

fn options_of_libtest_are_taken() {
    for options in [
        &["--test-threads", "7"][..],
        &["--test-threads=1"],
        &["--report-time", "-Zunstable-options"],
        &["--test"],
        &["--exclude-should-panic"],
        &["--no-capture"],
        &["--show-output"],
        &["--color", "never"],
        &["--format", "terse"],
        &["--quiet"],
    ] {
        let output = libtest(&[&["faulty::passes"], options].concat());
        assert!(output.status.success(), "{options:?}");
    }
}

fn nextest_does_not_run_what_a_device_cannot() {
    let mut list = child(LIBTEST, &["--list", "--ignored", "requires_too_much"]);
    list.env("NEXTEST", "1");
    assert_ne!(stdout(&output(list)), "", "listed as ignored");
    assert_eq!(listed(&["--ignored", "requires_too_much"]), [""; 0]);
}

fn without_a_device_the_tests_are_listed() {
    let listing = output(without_devices(child(LIBTEST, &["--list"])));
    assert!(listing.status.success());
    let listing = stdout(&listing);
    for test in ["faulty::needs_no_device@host", "faulty::passes@no-device"] {
        let line = format!("{test}: test");
        assert!(listing.lines().any(|listed| listed == line), "{test} is in {listing}");
    }
    let tests = |listing: &str| -> HashSet<String> {
        listing.lines().filter_map(|id| Some(id.rsplit_once('@')?.0.to_owned())).collect()
    };
    assert_eq!(tests(&listing), tests(&listed(&[]).join("\n")), "none is lost");
}

fn without_a_device_host_tests_run() {
    let alone = output(without_devices(child(LIBTEST, &["needs_no_device"])));
    assert_eq!(alone.status.code(), Some(0));

    let folder = tempfile::tempdir().expect("a folder");
    let mut command = without_devices(child(LIBTEST, &[]));
    command.env("CLMATRIX_REPORT_DIR", folder.path());
    let all = output(command);
    assert_eq!(all.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&all.stderr).contains("error: no OpenCL device was found"));
    let text = stdout(&all);
    assert!(text.contains("needs_no_device@host"), "{text}");
    assert!(text.contains("ignored (no OpenCL device was found)"), "{text}");
    assert!(text.contains("2 passed; 0 failed"), "{text}");

    let folder = folder.path().join("clmatrix-cli/faults");
    assert!(!folder.join("events.jsonl").exists(), "the report of a run with devices stays");
    let log = log(&folder);
    assert_eq!(results(&log, "needs_no_device")[0].verdict, Verdict::Pass);
    assert_eq!(results(&log, "passes")[0].verdict, Verdict::NotRun);
}
