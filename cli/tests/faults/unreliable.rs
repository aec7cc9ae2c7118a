//! Crashes and failures of unreliable tests and drivers.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::blame::Blame;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{Outcome, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::faulty::flakes::COUNTS;
use crate::support::{
    Ended, Folder, LIBTEST, child, descendants_of, output, planned_and_begun, start,
    wait_while_running,
};
use crate::{check, cpu};

struct Unreliable {
    folder: Folder,
}

impl Unreliable {
    fn new() -> Self {
        Self { folder: Folder::new() }
    }

    /// Uses this configuration and these expectations.
    fn configure(&self, command: &mut Command, configuration: &str, expectations: &str) {
        self.folder.write("expectations/all.toml", expectations);
        self.folder.configure(command, configuration);
    }

    /// A run of a test after one that is harmless.
    fn command(&self, test: &str) -> Command {
        let mut command = self.folder.run(&["--devices", cpu::platform(), "--contexts", "fresh"]);
        command.env(COUNTS, self.folder.path());
        command.args(["harmless", test].map(|test| format!("faulty::unreliable::{test}@")));
        command
    }

    /// Checks that the first test passed. Returns the result of the second, and that of the worker.
    fn results(&self) -> (TestResult, Option<TestResult>) {
        let RunLog { results, .. } = self.folder.log();
        let of = |is_it: &dyn Fn(&str) -> bool| {
            results.iter().find(|result| is_it(&result.test)).cloned()
        };
        let harmless = of(&|test| test.contains("::harmless@")).expect("a result");
        assert_eq!((harmless.verdict, harmless.attempt.number), (Verdict::Pass, 1));
        let is_other = |test: &str| test.starts_with("faulty::") && !test.contains("::harmless@");
        (of(&is_other).expect("a result"), of(&|test| test.starts_with("worker::")))
    }
}

const FLAKY_PASSES: &str = "[profile.default]\nretries = 30\nflaky-result = \"pass\"\n";

check!(libtest_tolerates_a_flaky_crash, {
    let run = Unreliable::new();
    let mut command = child(LIBTEST, &["unreliable::harmless", "flakes::aborts_at_first"]);
    run.configure(&mut command, FLAKY_PASSES, "");
    command.env("CLMATRIX_TEST", cpu::platform()).env(COUNTS, run.folder.path());
    let Ended { status, stdout: text, .. } = output(command);
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.contains("test result: ok. 3 passed"), "two tests, and the workers: {text}");
});

// As of two tests of which the first passes at once, and the second writes out of bounds and crashes in some runs
// alone: the first is never charged.
check!(a_test_that_crashes_after_others_and_passes_alone_passes, {
    let run = Unreliable::new();
    let status = output(run.command("crashes_first_on_a_thread_of_its_own")).status;
    assert_eq!(status.code(), Some(0));
    let (result, of_worker) = run.results();
    assert_eq!((result.verdict, result.attempt.number, of_worker), (Verdict::Pass, 2, None));
    let [first] = &result.earlier[..] else { panic!("{result:?}") };
    assert_eq!((first.verdict, first.blame), (Verdict::Crash, Blame::OtherTests));
});

check!(a_crash_of_a_worker_can_be_expected, {
    let run = Unreliable::new();
    let mut command = run.command("crashes_first_on_a_foreign_thread");
    let expected = "[[expect]]\ntest = \"worker::crash\"\nplatform = \"*\"\nstatus = \"crash\"\n\
        message = \"SIGABRT\"\nreason = \"bug 7\"\n";
    run.configure(&mut command, "", expected);
    let ended = output(command);
    assert_eq!(ended.status.code(), Some(0));
    assert!(!ended.stderr.contains("no test of this target matches"));
    let (_, of_worker) = run.results();
    assert_eq!(of_worker.expect("a result").verdict, Verdict::ExpectedFail);
});

check!(a_crash_of_a_worker_is_flaky_with_retries, {
    let cases = [
        ("30", (Verdict::Flaky, true)),
        ("{ count = 30, on = [\"crash\"], message = \"SIGABRT\" }", (Verdict::Flaky, true)),
        ("{ count = 30, on = [\"timeout\"] }", (Verdict::Crash, false)),
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
        assert_eq!((crash.attempt.number, crash.earlier.len()), (1, 0), "{retries}");
        let Outcome::Crashed { .. } = &crash.attempt.outcome else { panic!("{crash:?}") };
        let junit = run.folder.junit(&cpu::id());
        assert_eq!(junit.contains("<flakyError"), tolerated, "{retries}");
    }
});

check!(an_exit_is_that_of_its_thread, {
    for (test, is_of_worker) in [
        ("exits_at_first", false),
        ("exits_at_first_on_another_thread", true),
        ("ends_at_first_without_a_word", true),
    ] {
        let run = Unreliable::new();
        let status = output(run.command(test)).status.code();
        assert_eq!(status, Some(i32::from(is_of_worker)), "{test}");
        let (result, of_worker) = run.results();
        assert_eq!((result.verdict, of_worker.is_some()), (Verdict::Pass, is_of_worker), "{test}");
        let crash = &result.earlier[0].attempt.outcome;
        let cause = "exited with status 7 in the middle of the test";
        assert_eq!(crash.to_string(), cause, "{test}");
    }
});

/// Returns whether the test runs.
fn has_begun(folder: &Path, test: &str) -> Option<()> {
    let (_, begun) = planned_and_begun(folder, &format!("faulty::unreliable::{test}"))?;
    (begun > 0).then_some(())
}

check!(a_stopped_runner_has_time, {
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
});
