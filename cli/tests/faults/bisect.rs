//! The search for the test that makes another test go wrong.

use std::path::Path;
use std::process::Command;

use crate::Check;
use crate::cpu;
use crate::faulty::delayed::BOMB;
use crate::faulty::flakes::COUNTS;
use crate::support::{COMMAND, child_as_written, log, output};

pub const CHECKS: &[Check] = &[
    ("bisect::the_test_that_breaks_another_is_found", the_test_that_breaks_another_is_found),
    ("bisect::the_cause_of_a_late_crash_is_found", the_cause_of_a_late_crash_is_found),
    ("bisect::a_crash_that_is_no_tests_may_be_named", a_crash_that_is_no_tests_may_be_named),
    ("bisect::a_test_that_always_fails_has_no_cause", a_test_that_always_fails_has_no_cause),
    ("bisect::a_test_that_ran_first_has_no_cause", a_test_that_ran_first_has_no_cause),
    ("bisect::a_test_that_marks_a_context_is_found", a_test_that_marks_a_context_is_found),
    ("bisect::a_test_has_its_own_settings", a_test_has_its_own_settings),
    ("bisect::a_test_has_its_own_contexts", a_test_has_its_own_contexts),
    ("bisect::a_test_may_fail_by_what_it_leaves_behind", a_test_may_fail_by_what_it_leaves_behind),
    (
        "bisect::a_crash_of_a_worker_has_the_contexts_of_the_run",
        a_crash_of_a_worker_has_the_contexts_of_the_run,
    ),
];

/// A command on one device, for tests that need variables.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = child_as_written(COMMAND, arguments);
    command.arg("--report-dir").arg(folder).env("CLMATRIX_TEST", cpu::platform());
    command.env(COUNTS, folder).env(BOMB, "5 200");
    command
}

/// Runs tests, and looks for the cause of the result of one of them. Returns the exit status and both streams.
fn bisect(tests: &[&str], id: impl Fn(&Path) -> String, runs: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    bisect_in(folder.path(), &[&["--contexts", "fresh"], tests].concat(), id, runs)
}

fn bisect_in(
    folder: &Path,
    tests: &[&str],
    id: impl Fn(&Path) -> String,
    runs: &str,
) -> (Option<i32>, String) {
    let configured = |arguments: &[&str]| {
        let mut command = command(folder, arguments);
        let config = folder.join("clmatrix.toml");
        if config.exists() {
            command.env("CLMATRIX_CONFIG", config);
        }
        output(command)
    };
    configured(&[&["run", "--slots", "1"], tests].concat());
    let ended = configured(&["bisect", &id(folder), "--runs", runs]);
    let text = [ended.stdout, ended.stderr].concat();
    (ended.status.code(), String::from_utf8(text).expect("text"))
}

fn the_test_that_breaks_another_is_found() {
    let tests = ["breaks_a_later_test@", "runs_in_between", "needs_order@"];
    let tests = tests.map(|test| format!("faulty::flakes::{test}"));
    let id = |_: &Path| cpu::test("faulty::flakes::needs_order");
    let (status, text) = bisect(&tests.each_ref().map(|test| &**test), id, "10");
    assert_eq!(status, Some(0));
    let [cause, victim] = ["breaks_a_later_test", "needs_order"]
        .map(|name| cpu::test(&format!("faulty::flakes::{name}")));
    let found = format!("{cause} makes {victim} go wrong: 4 of 4 with it, 0 of 5 without");
    assert!(text.contains(&found), "{text}");
}

/// The test that was running when the crash came.
fn victim(folder: &Path) -> String {
    let crash = log(folder).results.pop().expect("a result");
    let (_, victim) = crash.stdout.split_once("running test: ").expect("a test");
    victim.lines().next().expect("a line").to_owned()
}

fn the_cause_of_a_late_crash_is_found() {
    let (status, text) = bisect(&["takes_ten_milliseconds"], victim, "10");
    assert_eq!(status, Some(0));
    let cause = cpu::test("faulty::delayed::takes_ten_milliseconds::number_05_5") + " makes ";
    assert!(text.contains(&cause) && text.contains(": 4 of 4 with it, 0 of 5 without"), "{text}");
}

fn a_crash_that_is_no_tests_may_be_named() {
    let id = |folder: &Path| log(folder).results.pop().expect("a result").test;
    let cause = cpu::test("faulty::delayed::takes_ten_milliseconds::number_05_5") + " makes ";
    // The second crash is flaky.
    for more in [&[][..], &["--retries", "1"]] {
        let (status, text) = bisect(&[&["takes_ten_milliseconds"], more].concat(), id, "10");
        assert_eq!(status, Some(0));
        assert!(
            text.contains(&cause) && text.contains(": 4 of 4 with it, 0 of 5 without"),
            "{text}"
        );
    }
}

fn a_test_that_always_fails_has_no_cause() {
    let tests = ["faulty::passes@", "faulty::flakes::fails_always@"];
    let id = |_: &Path| cpu::test("faulty::flakes::fails_always");
    let (status, text) = bisect(&tests, id, "10");
    assert_eq!(status, Some(1));
    let found = format!(
        "no difference found: {} goes wrong by itself in 5 of 5, and in 5 of 5 after the 1 test \
         before it",
        cpu::test("faulty::flakes::fails_always")
    );
    assert!(text.contains(&found), "{text}");
}

fn a_test_that_ran_first_has_no_cause() {
    let id = |_: &Path| cpu::test("faulty::flakes::fails_always");
    let (status, text) = bisect(&["faulty::flakes::fails_always@"], id, "10");
    assert_eq!(status, Some(2));
    assert!(text.contains("did not go wrong after other tests in "), "{text}");
}

/// The test goes wrong in a context that another test had before.
fn a_test_that_marks_a_context_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = ["marks_its_context", "fails_in_a_marked_context"];
    let [cause, victim] = tests.map(|test| cpu::test(&format!("faulty::contexts::{test}")));
    let id = |_: &Path| victim.clone();
    let arguments = ["--contexts", "reuse", &cause, &victim];
    let (status, text) = bisect_in(folder.path(), &arguments, id, "10");
    assert_eq!(status, Some(0), "{text}");
    let found = format!("{cause} makes {victim} go wrong: 5 of 5 with it, 0 of 5 without");
    assert!(text.contains(&found), "{text}");
}

fn a_test_may_fail_by_what_it_leaves_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = "[profile.default]\nleftovers = \"fail\"\n";
    std::fs::write(folder.path().join("clmatrix.toml"), config).expect("it is written");
    let tests = ["faulty::flakes::runs_in_between", "faulty::flakes::changes_its_folder@"];
    let id = |_: &Path| cpu::test("faulty::flakes::changes_its_folder");
    let (status, text) = bisect_in(folder.path(), &tests, id, "10");
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("goes wrong by itself in 5 of 5, and in 5 of 5 after the"), "{text}");
}

fn a_test_has_its_own_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let limit = "[[override]]\ntests = \"*::takes_long::*\"\ntimeout = \"100ms\"\n";
    std::fs::write(folder.path().join("clmatrix.toml"), limit).expect("it is written");
    let tests = ["faulty::order::ends_at_once@", "faulty::order::takes_long::number_1_1@"];
    let id = |_: &Path| cpu::test("faulty::order::takes_long::number_1_1");
    let (status, text) = bisect_in(folder.path(), &tests, id, "10");
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains(" goes wrong by itself in 5 of 5, and in 5 of 5 "), "{text}");
}

/// The test in between would fail in the context of the first one, which then is not there for the last.
fn a_test_has_its_own_contexts() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = "[profile.reusing]\ncontexts = \"reuse\"\n\
        [[override]]\ntests = \"*::fails_in_a_marked_context\"\ncontexts = \"fresh\"\n";
    std::fs::write(folder.path().join("clmatrix.toml"), config).expect("it is written");
    let tests = ["marks_its_context", "fails_in_a_marked_context", "aborts_in_a_marked_context"];
    let [cause, between, victim] =
        tests.map(|test| cpu::test(&format!("faulty::contexts::{test}")));
    let id = |_: &Path| victim.clone();
    let arguments = ["--profile", "reusing", &cause, &between, &victim];
    let (status, text) = bisect_in(folder.path(), &arguments, id, "10");
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(&format!("{cause} makes {victim} go wrong: ")), "{text}");
}

fn a_crash_of_a_worker_has_the_contexts_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = ["marks_its_context", "crashes_in_a_marked_context"];
    let [cause, victim] = tests.map(|test| cpu::test(&format!("faulty::contexts::{test}")));
    let id = |_: &Path| cpu::test("worker::crash");
    let arguments = ["--contexts", "reuse", &cause, &victim];
    let (status, text) = bisect_in(folder.path(), &arguments, id, "10");
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(&format!("{cause} makes {victim} go wrong: ")), "{text}");
}
