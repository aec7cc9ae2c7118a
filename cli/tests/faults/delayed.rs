//! Crashes that come later than their cause.

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{Outcome, Verdict};

use crate::faulty::delayed::{BOMB, ONLY_BOMB};
use crate::support::{Folder, LIBTEST, child, output};
use crate::{check, cpu};

/// The run of some tests of `faulty::delayed` on one device: its status and log.
fn run(filter: &str, bomb: &str, options: &[&str]) -> (Option<i32>, RunLog) {
    let folder = Folder::new();
    let mut command = folder.run(&[&[filter], options].concat());
    command.env("CLMATRIX_TEST", cpu::platform()).env(BOMB, bomb).env(ONLY_BOMB, folder.path());
    (output(command).status.code(), folder.log())
}

/// Returns the result of workers, after those of tests, which all passed.
fn crashes(log: &RunLog) -> &TestResult {
    let (crashes, tests) = log.results.split_last().expect("results");
    assert!(crashes.test.starts_with("worker::crash@"), "{crashes:?}");
    for result in tests {
        assert_eq!(result.verdict, Verdict::Pass, "{result:?}");
    }
    crashes
}

/// The id of the test of this number.
fn id(log: &RunLog, number: u32) -> &str {
    let test = format!("::number_{number:02}_{number}@");
    &log.results.iter().find(|result| result.test.contains(&test)).expect("a result").test
}

check!(a_crash_after_the_last_test_is_seen, {
    let (status, log) = run("faulty::delayed::takes_ten_milliseconds::number_01_1@", "1 10", &[]);
    assert_eq!((status, log.results.len()), (Some(1), 2));
    let crashes = crashes(&log);
    assert_eq!(crashes.attempt.outcome, Outcome::signal("SIGABRT"));
    let stdout = format!(
        "tests that the worker had run before, the last one last:\n{}\nafter the last test\n",
        id(&log, 1)
    );
    assert_eq!(crashes.attempt.stdout, stdout);
    assert!(crashes.attempt.stacks.is_some());
});

const FRESH: [&str; 2] = ["--contexts", "fresh"];

check!(a_crash_has_the_tests_before_it, {
    let (status, log) = run("takes_ten_milliseconds", "5 200", &FRESH);
    assert_eq!(status, Some(1));
    let crashes = crashes(&log);
    assert_eq!(crashes.verdict, Verdict::Crash);
    let (before, victim) = crashes.attempt.stdout.split_once("running test: ").expect("a test");
    let (victim, _) = victim.split_once('\n').expect("a line");
    assert!(before.contains(id(&log, 5)) && !before.contains(victim), "{crashes:?}");
    let victim = log.results.iter().find(|result| result.test == victim).expect("a result");
    let [crashed] = &victim.earlier[..] else { panic!("{victim:?}") };
    assert_eq!(crashed.attempt.outcome, Outcome::signal("SIGABRT"));
});

// Two workers die at the same time.
check!(a_crash_near_another_is_not_lost, {
    let options = ["--slots", "2", "--contexts", "fresh"];
    let (status, log) = run("takes_ten_milliseconds", "1,2 100", &options);
    assert_eq!(status, Some(1));
    crashes(&log);
});

check!(each_crash_of_a_worker_is_an_attempt, {
    let (status, log) = run("takes_ten_milliseconds", "1,15 100", &[]);
    assert_eq!(status, Some(1));
    let crashes = crashes(&log);
    assert_eq!((crashes.attempt.number, crashes.earlier.len()), (1, 1));
    assert_ne!(crashes.attempt.stdout, crashes.earlier[0].attempt.stdout);
});

check!(a_crash_of_an_exit_handler_is_seen_on_demand, {
    let test = "registers_an_exit_handler";
    let (status, unchecked) = run(test, "", &[]);
    assert_eq!((status, unchecked.results.len()), (Some(0), 1));
    let folder = Folder::new();
    let config = "[[override]]\ndevice = \"*\"\nexit-check = true\n";
    let file = folder.write("clmatrix.toml", config);
    let check = ["--config", file.to_str().expect("text")];
    let (status, log) = run(test, "", &check);
    assert_eq!(status, Some(1));
    let [passed, exit] = &log.results[..] else { panic!("{:?}", log.results) };
    assert_eq!(passed.verdict, Verdict::Pass);
    assert!(exit.test.starts_with("worker::exit@"), "{}", exit.test);
    assert_eq!(exit.attempt.outcome, Outcome::signal("SIGABRT"));
});

check!(libtest_fails_for_a_crash_of_a_worker, {
    let folder = Folder::new();
    let mut command = child(LIBTEST, &["takes_ten_milliseconds"]);
    command.env("CLMATRIX_TEST", cpu::platform()).env(BOMB, "5 200").env(ONLY_BOMB, folder.path());
    let ended = output(command);
    assert_eq!(ended.status.code(), Some(101));
    let text = ended.stdout;
    let is_failed = |line: &str| line.starts_with("test workers ") && line.ends_with("FAILED");
    assert!(text.lines().any(is_failed), "{text}");
    assert!(text.contains("test result: FAILED. 30 passed; 1 failed"), "{text}");
    assert!(text.contains(&(cpu::test("worker::crash") + ": crash: SIGABRT")), "{text}");
});
