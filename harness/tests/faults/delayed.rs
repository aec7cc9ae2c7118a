//! Crashes that come later than their cause.

use clmatrix_harness::log::read::RunLog;
use clmatrix_harness::verdict::{Outcome, Verdict};

use crate::Check;
use crate::faulty::delayed::{BOMB, ONLY_BOMB};
use crate::support::{COMMAND, LIBTEST, child, log, output};

pub const CHECKS: &[Check] = &[
    ("delayed::a_crash_after_the_last_test_is_seen", a_crash_after_the_last_test_is_seen),
    ("delayed::a_cause_some_tests_before_is_found", a_cause_some_tests_before_is_found),
    (
        "delayed::a_crash_in_a_reused_context_that_does_not_repeat_is_a_note",
        a_crash_in_a_reused_context_that_does_not_repeat_is_a_note,
    ),
    (
        "delayed::a_crash_that_does_not_repeat_has_candidates",
        a_crash_that_does_not_repeat_has_candidates,
    ),
    ("delayed::a_crash_near_another_is_not_lost", a_crash_near_another_is_not_lost),
    (
        "delayed::a_crash_of_an_exit_handler_is_seen_on_demand",
        a_crash_of_an_exit_handler_is_seen_on_demand,
    ),
    ("delayed::libtest_fails_for_a_late_result", libtest_fails_for_a_late_result),
];

/// The run of some tests of `faulty::delayed` on PoCL: its status and log.
fn run(filter: &str, bomb: &str, only: bool, options: &[&str]) -> (Option<i32>, RunLog) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = child(COMMAND, &[&["run", filter], options].concat());
    command.arg("--report-dir").arg(folder.path());
    command.env("CLMATRIX_TEST", "pocl").env(BOMB, bomb);
    if only {
        command.env(ONLY_BOMB, folder.path());
    }
    let ended = output(command);
    (ended.status.code(), log(folder.path()))
}

/// The id of the test of this number.
fn id(log: &RunLog, number: u32) -> &str {
    let test = format!("::number_{number:02}_{number}@");
    &log.results.iter().find(|result| result.test.contains(&test)).expect("a result").test
}

/// Checks that the test of this number alone is charged, with a crash that was reproduced.
fn is_charged(log: &RunLog, number: u32) {
    let [charged] = &log.charges[..] else { panic!("{:?}", log.charges) };
    assert_eq!(charged.test, id(log, number));
    for result in &log.results {
        if result.test != charged.test {
            assert_eq!(result.verdict, Verdict::Pass, "{}: {:?}", result.test, result.outcome);
            continue;
        }
        assert_eq!(result.verdict, Verdict::Crash);
        let Outcome::Crashed { how } = &result.outcome else { panic!("{:?}", result.outcome) };
        assert!(how.starts_with("SIGSEGV, delayed: it struck "), "{how}");
        assert!(how.contains("reproduced in a fresh worker"), "{how}");
    }
}

fn a_crash_after_the_last_test_is_seen() {
    let (status, log) =
        run("faulty::delayed::takes_ten_milliseconds::number_01_1@", "1 10", false, &[]);
    assert_eq!(status, Some(1));
    assert_eq!(log.results.len(), 1);
    is_charged(&log, 1);
    assert_eq!(log.charges[0].by, None);
}

const FRESH: [&str; 2] = ["--contexts", "fresh"];
const REUSE: [&str; 2] = ["--contexts", "reuse"];

fn a_cause_some_tests_before_is_found() {
    for contexts in [FRESH, REUSE] {
        let (status, log) = run("takes_ten_milliseconds", "5 200", false, &contexts);
        assert_eq!(status, Some(1));
        is_charged(&log, 5);
        assert!(log.charges[0].by.is_some());
        assert!(log.results.iter().all(|result| result.reused_context.is_none()));
    }
}

fn a_crash_in_a_reused_context_that_does_not_repeat_is_a_note() {
    let (status, log) = run("takes_ten_milliseconds", "5 200", true, &REUSE);
    assert_eq!(status, Some(0));
    assert!(log.results.iter().all(|result| result.verdict == Verdict::Pass));
    let before: Vec<_> = log.results.iter().filter_map(|result| result.reused_context).collect();
    assert_eq!(before, [Verdict::Crash]);
}

fn a_crash_that_does_not_repeat_has_candidates() {
    let (status, log) = run("takes_ten_milliseconds", "5 200", true, &FRESH);
    assert_eq!(status, Some(1));
    assert!(log.charges.is_empty(), "{:?}", log.charges);
    let (last, tests) = log.results.split_last().expect("results");
    assert!(tests.iter().all(|result| result.verdict == Verdict::Pass));
    assert!(last.test.starts_with("worker::delayed-crash@"), "{}", last.test);
    let Outcome::Crashed { how } = &last.outcome else { panic!("{:?}", last.outcome) };
    assert!(how.ends_with("; not reproduced"), "{how}");
    let candidates: Vec<&str> = last.stdout.lines().skip(1).collect();
    assert!(candidates.contains(&id(&log, 5)), "{}", last.stdout);
    assert!(candidates.len() < 30, "{}", last.stdout);
}

/// Two workers die at the same time. Each death may be the other's fault, but not both.
fn a_crash_near_another_is_not_lost() {
    let options = ["--slots", "2", "--contexts", "fresh"];
    let (status, log) = run("takes_ten_milliseconds", "1,2 100", true, &options);
    assert_eq!(status, Some(1));
    let last = log.results.last().expect("results");
    assert!(last.test.starts_with("worker::delayed-crash@"), "{}: {:?}", last.test, last.outcome);
}

fn a_crash_of_an_exit_handler_is_seen_on_demand() {
    let test = "registers_an_exit_handler";
    let (status, unchecked) = run(test, "", false, &[]);
    assert_eq!((status, unchecked.results.len()), (Some(0), 1));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clmatrix.toml");
    let config = "[[override]]\ndevice = \"*\"\nexit-check = true\n";
    std::fs::write(&file, config).expect("it is written");
    let check = ["--config", file.to_str().expect("text")];
    let (status, log) = run(test, "", false, &check);
    assert_eq!(status, Some(1));
    let [passed, exit] = &log.results[..] else { panic!("{:?}", log.results) };
    assert_eq!(passed.verdict, Verdict::Pass);
    assert!(exit.test.starts_with("worker::exit@"), "{}", exit.test);
    assert_eq!(exit.outcome, Outcome::Crashed { how: "SIGABRT".to_owned() });
}

fn libtest_fails_for_a_late_result() {
    let mut command = child(LIBTEST, &["takes_ten_milliseconds"]);
    command.env("CLMATRIX_TEST", "pocl").env(BOMB, "5 200");
    let ended = output(command);
    assert_eq!(ended.status.code(), Some(101));
    let errors = String::from_utf8(ended.stderr).expect("text");
    assert!(errors.contains("late result: "), "{errors}");
    assert!(errors.contains("reproduced in a fresh worker"), "{errors}");
}
