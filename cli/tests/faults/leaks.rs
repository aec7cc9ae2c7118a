//! Objects of the driver that a test leaves behind are found.

use std::sync::LazyLock;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::verdict::{Outcome, Verdict};

use crate::Check;
use crate::support::{self, COMMAND, child, output};

pub const CHECKS: &[Check] = &[
    ("leaks::each_kind_of_object_is_found", each_kind_of_object_is_found),
    ("leaks::tests_that_leak_nothing_have_no_note", tests_that_leak_nothing_have_no_note),
    ("leaks::the_log_has_the_resident_memory", the_log_has_the_resident_memory),
    ("leaks::a_profile_makes_them_failures", a_profile_makes_them_failures),
    ("leaks::a_profile_turns_the_search_off", a_profile_turns_the_search_off),
];

/// A run of all tests of `faulty::leaks`.
struct LeakRun {
    log: RunLog,
    status: Option<i32>,
}

impl LeakRun {
    /// Runs the tests with these settings of the default profile.
    fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let config = folder.join("clmatrix.toml");
        std::fs::write(&config, format!("[profile.default]\n{settings}\n")).expect("it is written");
        let mut command = child(COMMAND, &["run", "faulty::leaks::", "--report-dir"]);
        command.arg(folder).arg("--config").arg(config);
        let status = output(command).status.code();
        let log = support::log(folder);
        Self { log, status }
    }
}

static RUN: LazyLock<LeakRun> = LazyLock::new(|| LeakRun::new("contexts = \"fresh\""));

static REUSING_RUN: LazyLock<LeakRun> = LazyLock::new(|| LeakRun::new("contexts = \"reuse\""));

/// Returns whether a driver counts objects of a kind as references to their context; all count contexts.
fn is_counted(device: &str, kind: &str) -> bool {
    let is_of = |driver: &str| device.starts_with(driver);
    match kind {
        "" => true,
        "event" => is_of("pocl-") || is_of("rusticl-"),
        _ => is_of("pocl-") || is_of("rusticl-") || is_of("oclgrind-"),
    }
}

fn each_kind_of_object_is_found() {
    for run in [&RUN, &REUSING_RUN] {
        is_each_kind_found(run);
    }
}

fn is_each_kind_found(run: &LeakRun) {
    assert_eq!(run.status, Some(0));
    for (test, kind, references) in [
        ("leaks_a_context", "", "1 reference to a context"),
        // One of the driver, one of the library.
        ("leaks_a_queue", "queue", "2 references to a context"),
        ("leaks_a_buffer", "buffer", "2 references to a context"),
        ("leaks_an_event", "event", "1 reference to a context"),
        ("leaks_a_program", "program", "2 references to a context"),
        ("leaks_two_contexts", "", "2 references to 2 contexts"),
    ] {
        for result in support::results(&run.log, &format!("leaks::{test}")) {
            let device = result.test_and_device().1;
            if !["pocl-", "rusticl-", "oclgrind-"].iter().any(|driver| device.starts_with(driver)) {
                continue;
            }
            let mut expected = Vec::from_iter(is_counted(device, kind).then_some(references));
            expected.extend((kind == "buffer").then_some("1 memory object"));
            assert_eq!(result.verdict, Verdict::Pass, "{}: {:?}", result.test, result.outcome);
            assert_eq!(result.findings.left_behind, expected, "{}", result.test);
        }
    }
}

fn tests_that_leak_nothing_have_no_note() {
    for test in [
        "leaks_nothing",
        "caches_a_value_for_a_context",
        "releases_a_buffer_later",
        "a_released_context_ends_before_the_next",
        "contexts_have_ended_before_the_next_test",
    ] {
        let test = format!("leaks::{test}");
        for result in [&RUN, &REUSING_RUN].iter().flat_map(|run| support::results(&run.log, &test))
        {
            assert!(result.verdict.is_as_expected(), "{}: {:?}", result.test, result.outcome);
            assert_eq!(result.findings.left_behind, [""; 0], "{}", result.test);
        }
    }
}

/// At least in the result of the first test of each worker.
fn the_log_has_the_resident_memory() {
    for result in support::results(&RUN.log, "leaks::leaks_a_context") {
        let resident = result.findings.resident.expect("the first test has it");
        assert!((1 << 20..1 << 40).contains(&resident), "{resident} bytes");
    }
}

fn a_profile_makes_them_failures() {
    let run = LeakRun::new("leaks = \"fail\"");
    assert_eq!(run.status, Some(1));
    for result in support::results(&run.log, "leaks::leaks_a_buffer") {
        let Outcome::Failed { message, location: Some(location) } = &result.outcome else {
            panic!("{}: {:?}", result.test, result.outcome)
        };
        assert!(message.ends_with("left behind: 1 memory object"), "{message}");
        assert!(location.file.ends_with("leaks.rs"), "{}", location.file);
    }
    for result in support::results(&run.log, "leaks::leaks_nothing") {
        assert_eq!(result.verdict, Verdict::Pass, "{}: {:?}", result.test, result.outcome);
    }
}

fn a_profile_turns_the_search_off() {
    let run = LeakRun::new("leaks = \"off\"");
    assert_eq!(run.status, Some(0));
    for result in support::results(&run.log, "leaks::leaks_a_buffer") {
        assert_eq!(result.findings.left_behind, [""; 0], "{}", result.test);
    }
}
