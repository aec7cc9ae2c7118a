//! Crashes and failures of unreliable tests and drivers.

use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::verdict::{Outcome, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::Check;
use crate::cpu;
use crate::faulty::flakes::COUNTS;
use crate::support::{
    COMMAND, LIBTEST, child, descendants_of, log, output, planned_and_begun, reports, results,
    start, wait_while_running,
};

pub const CHECKS: &[Check] = &[
    ("unreliable::random_crashes_are_flaky", random_crashes_are_flaky),
    ("unreliable::random_failures_are_flaky", random_failures_are_flaky),
    ("unreliable::random_crashes_are_their_test_s", random_crashes_are_their_test_s),
    ("unreliable::libtest_tolerates_a_flaky_crash", libtest_tolerates_a_flaky_crash),
    ("unreliable::a_crash_that_passes_alone_has_a_note", a_crash_that_passes_alone_has_a_note),
    ("unreliable::a_crash_that_comes_again_has_a_note", a_crash_that_comes_again_has_a_note),
    ("unreliable::a_crash_on_a_foreign_thread_is_the_worker_s", a_crash_on_a_foreign_thread),
    ("unreliable::a_crash_that_comes_again_is_the_test_s", a_crash_that_comes_again),
    ("unreliable::a_crash_of_a_worker_can_be_expected", a_crash_of_a_worker_can_be_expected),
    ("unreliable::a_crash_of_a_worker_is_flaky_with_retries", a_crash_of_a_worker_is_flaky),
    ("unreliable::an_exit_is_that_of_its_thread", an_exit_is_that_of_its_thread),
    ("unreliable::a_stopped_runner_has_time", a_stopped_runner_has_time),
];

/// Runs of this many times show a random result both ways, but for one in 60,000.
const MANY: usize = 16;

struct Unreliable {
    folder: TempDir,
}

impl Unreliable {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// Uses this configuration and these expectations.
    fn configure(&self, command: &mut Command, configuration: &str, expectations: &str) {
        let path = |name: &str| self.folder.path().join(name);
        std::fs::create_dir_all(path("expectations")).expect("a folder");
        std::fs::write(path("clmatrix.toml"), configuration).expect("it is written");
        std::fs::write(path("expectations/all.toml"), expectations).expect("it is written");
        command.env("CLMATRIX_CONFIG", path("clmatrix.toml"));
    }

    /// A run of a test after one that is harmless.
    fn command(&self, test: &str) -> Command {
        let mut command =
            child(COMMAND, &["run", "--devices", cpu::platform(), "--contexts", "fresh"]);
        command.arg("--report-dir").arg(self.folder.path()).env(COUNTS, self.folder.path());
        command.args(["harmless", test].map(|test| format!("faulty::unreliable::{test}@")));
        command
    }

    /// Checks that the first test passed. Returns the result of the second, and that of the worker.
    fn results(&self) -> (TestResult, Option<TestResult>) {
        let RunLog { results, .. } = log(self.folder.path());
        let of = |is_it: &dyn Fn(&str) -> bool| {
            results.iter().find(|result| is_it(&result.test)).cloned()
        };
        let harmless = of(&|test| test.contains("::harmless@")).expect("a result");
        assert_eq!((harmless.verdict, harmless.number), (Verdict::Pass, 1));
        let is_other = |test: &str| test.starts_with("faulty::") && !test.contains("::harmless@");
        (of(&is_other).expect("a result"), of(&|test| test.starts_with("worker::")))
    }
}

const FLAKY_PASSES: &str = "[profile.default]\nretries = 30\nflaky-result = \"pass\"\n";

/// Runs a test that goes wrong half of the times, with retries. Returns the verdicts.
fn with_retries(test: &str) -> Vec<Verdict> {
    let run = |_| {
        let run = Unreliable::new();
        let mut command = run.command(test);
        run.configure(&mut command, FLAKY_PASSES, "");
        let ended = output(command);
        assert_eq!(ended.status.code(), Some(0));
        let (result, of_worker) = run.results();
        assert_eq!(of_worker, None);
        result.verdict
    };
    (0..MANY).map(run).collect()
}

fn random_crashes_are_flaky() {
    let verdicts = with_retries("aborts_sometimes");
    assert!(verdicts.contains(&Verdict::Flaky), "{verdicts:?}");
}

fn random_failures_are_flaky() {
    let verdicts = with_retries("fails_sometimes");
    assert!(verdicts.contains(&Verdict::Flaky), "{verdicts:?}");
}

fn random_crashes_are_their_test_s() {
    let run = |_| {
        let run = Unreliable::new();
        let status = output(run.command("aborts_sometimes")).status.code();
        let (result, of_worker) = run.results();
        assert_eq!(of_worker, None);
        assert_eq!(status, Some(i32::from(result.verdict == Verdict::Crash)), "{result:?}");
        result.verdict
    };
    let verdicts: Vec<_> = (0..MANY).map(run).collect();
    assert!(verdicts.contains(&Verdict::Crash), "{verdicts:?}");
}

fn libtest_tolerates_a_flaky_crash() {
    let run = Unreliable::new();
    let mut command = child(LIBTEST, &["unreliable::harmless", "flakes::aborts_at_first"]);
    run.configure(&mut command, FLAKY_PASSES, "");
    command.env("CLMATRIX_TEST", cpu::platform()).env(COUNTS, run.folder.path());
    let Output { status, stdout, .. } = output(command);
    let text = String::from_utf8(stdout).expect("text");
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.contains("test result: ok. 3 passed"), "two tests, and the workers: {text}");
}

/// As of two tests of which the first passes at once, and the second writes out of bounds and crashes in some runs
/// alone: the first is never charged, and `expect update` writes nothing.
fn a_crash_that_passes_alone_has_a_note() {
    let run = Unreliable::new();
    let ended = output(run.command("crashes_first_on_a_thread_of_its_own"));
    assert_eq!(ended.status.code(), Some(1));
    let (result, of_worker) = run.results();
    assert_eq!((result.verdict, result.number, of_worker), (Verdict::Crash, 1, None));
    let [alone] = &result.earlier[..] else { panic!("{result:?}") };
    assert_eq!((alone.verdict, alone.number), (Verdict::Pass, 2));
    let page = String::from_utf8(ended.stdout).expect("text");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("passes alone: unreliable, or broken by a test before it"), "{page}");
    assert!(page.contains(&format!("`clmatrix bisect {}` tells", result.test)), "{page}");
    let mut update = child(COMMAND, &["expect", "update", "--report-dir"]);
    update.arg(run.folder.path()).arg("latest");
    run.configure(&mut update, "", "");
    assert!(output(update).status.success());
    let expectations = std::fs::read_to_string(run.folder.path().join("expectations/all.toml"));
    assert_eq!(expectations.expect("a file"), "");
}

fn a_crash_that_comes_again_has_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = child(COMMAND, &["run", "--devices", cpu::platform(), "--contexts", "fresh"]);
    command.args(["faulty::passes@", "faulty::aborts@", "--report-dir"]).arg(folder.path());
    let ended = output(command);
    let page = String::from_utf8(ended.stdout).expect("text");
    assert!(page.contains("crashes alone, too"), "{page}");
    let log = log(folder.path());
    let result = results(&log, "aborts")[0];
    assert_eq!((result.number, result.earlier.len()), (1, 1));
}

fn a_crash_on_a_foreign_thread() {
    let run = Unreliable::new();
    let ended = output(run.command("crashes_first_on_a_foreign_thread"));
    assert_eq!(ended.status.code(), Some(1));
    let (result, of_worker) = run.results();
    assert_eq!((result.verdict, result.number), (Verdict::Pass, 2));
    let crash = of_worker.expect("a result");
    assert_eq!(crash.test, cpu::test("worker::crash"));
    assert_eq!(
        (crash.verdict, &crash.outcome),
        (Verdict::Crash, &Outcome::Crashed { how: "SIGABRT".to_owned() })
    );
    let lines: Vec<&str> = crash.stdout.lines().skip(1).collect();
    let running = format!("running test: {}", result.test);
    assert_eq!(lines, [&*cpu::test("faulty::unreliable::harmless"), &running]);
    assert!(crash.stacks.is_some());
}

fn a_crash_that_comes_again() {
    let run = Unreliable::new();
    assert_eq!(output(run.command("crashes_on_a_foreign_thread")).status.code(), Some(1));
    let (result, of_worker) = run.results();
    assert_eq!((result.verdict, result.number, of_worker), (Verdict::Crash, 2, None));
}

fn a_crash_of_a_worker_can_be_expected() {
    let run = Unreliable::new();
    let mut command = run.command("crashes_first_on_a_foreign_thread");
    let expected = "[[expect]]\ntest = \"worker::crash\"\nplatform = \"*\"\nstatus = \"crash\"\n\
        message = \"SIGABRT\"\nreason = \"bug 7\"\n";
    run.configure(&mut command, "", expected);
    let ended = output(command);
    assert_eq!(ended.status.code(), Some(0));
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("no test of this target matches"));
    let (_, of_worker) = run.results();
    assert_eq!(of_worker.expect("a result").verdict, Verdict::ExpectedFail);
}

fn a_crash_of_a_worker_is_flaky() {
    let cases = [
        ("30", (Verdict::Flaky, true)),
        ("{ count = 30, on = [\"crash\"], message = \"SIGABRT\" }", (Verdict::Flaky, true)),
        ("{ count = 30, on = [\"timeout\"] }", (Verdict::Crash, false)),
        ("{ count = 30, message = \"SIGSEGV\" }", (Verdict::Crash, false)),
    ];
    for (retries, (verdict, tolerated)) in cases {
        let run = Unreliable::new();
        let mut command = run.command("crashes_first_on_a_foreign_thread");
        let profile = format!("[profile.default]\nretries = {retries}\nflaky-result = \"pass\"\n");
        run.configure(&mut command, &profile, "");
        assert_eq!(output(command).status.code(), Some(i32::from(!tolerated)), "{retries}");
        let (result, of_worker) = run.results();
        assert_eq!(result.verdict, Verdict::Pass);
        let crash = of_worker.expect("a result");
        assert_eq!((crash.verdict, crash.tolerated), (verdict, tolerated), "{retries}");
        assert_eq!((crash.number, crash.earlier.len()), (1, 0), "{retries}");
        let Outcome::Crashed { .. } = &crash.outcome else { panic!("{crash:?}") };
        let device = format!("junit/{}.xml", cpu::id());
        let junit = std::fs::read_to_string(reports(run.folder.path()).join(device));
        assert_eq!(junit.expect("the file").contains("<flakyError"), tolerated, "{retries}");
    }
}

fn an_exit_is_that_of_its_thread() {
    for (test, verdict, is_of_worker) in [
        ("exits_at_first", Verdict::Crash, false),
        ("exits_at_first_on_another_thread", Verdict::Pass, true),
        ("ends_at_first_without_a_word", Verdict::Pass, true),
    ] {
        let run = Unreliable::new();
        assert_eq!(output(run.command(test)).status.code(), Some(1), "{test}");
        let (result, of_worker) = run.results();
        assert_eq!((result.verdict, of_worker.is_some()), (verdict, is_of_worker), "{test}");
        let crash = &of_worker.unwrap_or(result).outcome;
        let how = "exited with status 7 in the middle of the test".to_owned();
        assert_eq!(*crash, Outcome::Crashed { how }, "{test}");
    }
}

/// Returns whether the test runs.
fn has_begun(folder: &Path, test: &str) -> Option<()> {
    let (_, begun) = planned_and_begun(folder, &format!("faulty::unreliable::{test}"))?;
    (begun > 0).then_some(())
}

fn a_stopped_runner_has_time() {
    let test = "sleeps_for_four_seconds";
    let run = Unreliable::new();
    let mut runner = start(run.command(test));
    wait_while_running(&mut runner, "the test", || has_begun(run.folder.path(), test));
    let all = [vec![runner.id()], descendants_of(runner.id())].concat();
    let send = |signal| {
        for process in &all {
            kill(Pid::from_raw(process.cast_signed()), signal).expect("it can be signalled");
        }
    };
    send(Signal::SIGSTOP);
    thread::sleep(Duration::from_secs(10));
    send(Signal::SIGCONT);
    assert_eq!(runner.wait().expect("it ends").code(), Some(0));
    assert_eq!(run.results().0.verdict, Verdict::Pass);
}
