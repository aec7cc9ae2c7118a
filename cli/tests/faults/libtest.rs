//! The same tests as a target of `cargo test`: libtest's options, and what it prints.

use std::collections::HashSet;

use clmatrix_runner::verdict::Verdict;

use crate::check;
use crate::support::{Ended, Folder, LIBTEST, child, log, output, results, without_devices};

fn libtest(arguments: &[&str]) -> Ended {
    output(child(LIBTEST, arguments))
}

/// The ids of all tests, as `--list` gives them.
fn listed(arguments: &[&str]) -> Vec<String> {
    let output = libtest(&[&["--list"], arguments].concat());
    assert!(output.status.success());
    output
        .stdout
        .lines()
        .map(|line| line.strip_suffix(": test").expect("libtest's format").to_owned())
        .collect()
}

check!(lists_every_test_on_every_device, {
    let ids = listed(&[]);
    let devices = ids.iter().filter(|id| id.starts_with("faulty::passes@")).count();
    assert!(devices > 0);
    assert_eq!(ids.iter().filter(|id| id.starts_with("faulty::aborts@")).count(), devices);
    assert_eq!(ids.iter().filter(|id| id.as_str() == "faulty::needs_no_device@host").count(), 1);
    assert!(listed(&["--ignored"]).iter().all(|id| ids.contains(id)));
    assert_eq!(listed(&["--ignored", "is_ignored"]).len(), devices);
    assert_eq!(listed(&["passes", "--skip", "passes"]), [""; 0]);
    let two = ["faulty::passes@", "panics_as_announced"];
    assert_eq!(listed(&two).len(), 2 * devices);
    assert_eq!(listed(&[&two[..], &["--exclude-should-panic"]].concat()).len(), devices);
    assert_eq!(listed(&["--bench"]), [""; 0]);
    let refused = libtest(&["--ensure-time"]);
    assert_eq!((refused.status.code(), &*refused.stdout), (Some(2), ""));
    assert!(refused.stderr.starts_with("error: --ensure-time is"), "{refused:?}");
});

check!(exact_runs_one_test_on_one_device, {
    let id = listed(&["faulty::passes@"]).swap_remove(0);
    let output = libtest(&[&id, "--exact"]);
    assert!(output.status.success());
    assert!(output.stdout.contains(&format!("test {id} ... ok")), "{}", output.stdout);
    // The test, and the workers.
    assert!(output.stdout.contains("2 passed; 0 failed"), "{}", output.stdout);
});

check!(exact_without_a_device_means_every_device, {
    let everywhere = listed(&["faulty::passes@"]);
    // `passes` is also a part of other tests' names.
    assert_eq!(listed(&["--exact", "faulty::passes"]), everywhere);
    assert_eq!(listed(&["faulty::pass", "--exact"]), [""; 0]);
    let without = ["--exact", "faulty::passes", "faulty::aborts", "--skip", "faulty::aborts"];
    assert_eq!(listed(&without), everywhere);
    assert_eq!(listed(&["faulty::passes", "faulty::aborts@"]).len(), 2 * everywhere.len());
    let run = libtest(&["--exact", "faulty::passes", "--nocapture"]);
    assert!(run.status.success());
    let passed = format!("{} passed; 0 failed", everywhere.len() + 1);
    assert!(run.stdout.contains(&passed), "{}", run.stdout);
});

check!(ignored_tests_run_when_asked_for, {
    let plain = libtest(&["is_ignored"]).stdout;
    assert!(plain.contains("ignored (takes long)"), "{plain}");
    let asked = libtest(&["is_ignored", "--ignored"]).stdout;
    assert!(asked.contains("... ok") && !asked.contains("takes long"), "{asked}");
});

check!(failures_fail_the_target_and_show_the_output, {
    let output = libtest(&["faulty::fails_an_assertion", "faulty::requires_too_much"]);
    assert_eq!(output.status.code(), Some(101));
    let text = output.stdout;
    assert!(text.contains("the answer") && text.contains("faulty.rs:"), "{text}");
    assert!(text.contains("ignored (skipped: needs OpenCL 9.9"), "{text}");
});

check!(no_capture_prints_output_below_the_test, {
    let ids = listed(&["faulty::passes@"]);
    let text = libtest(&["faulty::passes@", "--no-capture"]).stdout;
    for id in &ids {
        let (_, below) = text.split_once(&format!("\ntest {id}")).expect("the test's line");
        let (_, below) = below.split_once(" ... \n").expect("the line ends before the output");
        let (line, rest) = below.split_once('\n').expect("a line of the test");
        // If there are several, each line has its device in front.
        let said = line.rsplit(" | ").next();
        assert_eq!((said, &rest[..3]), (Some("said on standard output"), "ok\n"), "{text}");
    }
    let one = libtest(&[&ids[0], "--exact", "--nocapture"]);
    assert!(one.stdout.contains(" ... \nsaid on standard output\nok\n"), "{}", one.stdout);
    assert!(one.stderr.lines().any(|line| line == "said on standard error"), "{}", one.stderr);
});

check!(show_output_prints_what_passed, {
    let arguments = ["faulty::passes@", "faulty::fails_an_assertion@", "--show-output"];
    let text = libtest(&arguments).stdout;
    let (_, successes) = text.split_once("\nsuccesses:\n\n").expect("a section for what passed");
    for id in listed(&["faulty::passes@"]) {
        let output = format!("---- {id} stdout ----\nsaid on standard output\n\n");
        assert!(successes.contains(&output), "{text}");
        assert!(successes.contains(&format!("\n    {id}\n")), "{text}");
    }
    assert!(!successes.contains("fails_an_assertion"), "{text}");
    assert!(!libtest(&arguments[..2]).stdout.contains("said on standard output"));
    let json = libtest(&[&arguments[..], &["--format", "json"]].concat()).stdout;
    assert!(json.lines().all(|line| line.starts_with('{')), "{json}");
});

check!(nextest_does_not_run_what_a_device_cannot, {
    let mut list = child(LIBTEST, &["--list", "--ignored", "requires_too_much"]);
    list.env("NEXTEST", "1");
    assert_ne!(output(list).stdout, "", "listed as ignored");
    assert_eq!(listed(&["--ignored", "requires_too_much"]), [""; 0]);
});

check!(without_a_device_the_tests_are_listed, {
    let listing = output(without_devices(child(LIBTEST, &["--list"])));
    assert!(listing.status.success());
    let listing = listing.stdout;
    for test in ["faulty::needs_no_device@host", "faulty::passes@no-device"] {
        let line = format!("{test}: test");
        assert!(listing.lines().any(|listed| listed == line), "{test} is in {listing}");
    }
    let tests = |listing: &str| -> HashSet<String> {
        listing.lines().filter_map(|id| Some(id.rsplit_once('@')?.0.to_owned())).collect()
    };
    assert_eq!(tests(&listing), tests(&listed(&[]).join("\n")), "none is lost");
});

check!(without_a_device_host_tests_run, {
    let alone = output(without_devices(child(LIBTEST, &["needs_no_device"])));
    assert_eq!(alone.status.code(), Some(0));

    let folder = Folder::new();
    let mut command = without_devices(child(LIBTEST, &[]));
    command.env("CLMATRIX_REPORT_DIR", folder.path());
    let all = output(command);
    assert_eq!(all.status.code(), Some(2));
    let stderr = all.stderr;
    assert!(stderr.contains("error: no OpenCL device was found"), "{stderr}");
    assert!(stderr.contains("CLMATRIX_ICD=") && !stderr.contains("--icd"), "{stderr}");
    let text = all.stdout;
    assert!(text.contains("needs_no_device@host"), "{text}");
    assert!(text.contains("ignored (no OpenCL device was found)"), "{text}");
    let fails = |line: &str| line.starts_with("test devices ") && line.ends_with(" FAILED");
    assert!(text.lines().any(fails), "{text}");
    assert!(text.contains("test result: FAILED. 2 passed; 1 failed"), "{text}");

    let folder = folder.at("clmatrix-cli/faults");
    assert!(!folder.join("events.jsonl").exists(), "the report of a run with devices stays");
    let log = log(&folder);
    assert_eq!(results(&log, "needs_no_device")[0].verdict, Verdict::Pass);
    assert_eq!(results(&log, "passes")[0].verdict, Verdict::NotRun);
});
