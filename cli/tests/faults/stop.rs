//! Runs that are cut short: by Ctrl-C, and by a kill that no handler can catch.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::verdict::{Outcome, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Check;
use crate::cpu;
use crate::support::{
    COMMAND, child, descendants_of, is_running, log, output, planned_and_begun, reports, results,
    start, wait_for, wait_while_running,
};

pub const CHECKS: &[Check] = &[
    ("stop::ctrl_c_keeps_what_has_finished", ctrl_c_keeps_what_has_finished),
    (
        "stop::a_killed_runner_loses_nothing_and_leaves_nobody",
        a_killed_runner_loses_nothing_and_leaves_nobody,
    ),
    (
        "stop::a_second_run_into_the_same_folder_is_exit_2",
        a_second_run_into_the_same_folder_is_exit_2,
    ),
    ("stop::a_deadline_cuts_rounds_short", a_deadline_cuts_rounds_short),
    ("stop::a_time_limit_is_longer_than_zero", a_time_limit_is_longer_than_zero),
    ("stop::a_deadline_stops_the_run", a_deadline_stops_the_run),
    ("stop::unexpected_results_may_stop_the_run", unexpected_results_may_stop_the_run),
    ("stop::options_change_the_limits", options_change_the_limits),
];

/// Starts a run in which one test passes and the next never ends, and waits for the latter.
fn start_a_run_that_never_ends(folder: &Path) -> Child {
    let folder_name = folder.to_str().expect("a path in UTF-8");
    let arguments = [
        "run",
        "faulty::passes",
        "faulty::waits_for_ever",
        "--include-ignored",
        "--report-dir",
        folder_name,
    ];
    let mut run = start(child(COMMAND, &arguments));
    wait_while_running(&mut run, "every device to hang", || {
        let (planned, begun) = planned_and_begun(folder, "faulty::waits_for_ever")?;
        (begun == planned).then_some(())
    });
    run
}

/// Starts a run of all tests and waits until it has its log.
fn start_a_full_run(folder: &Path) -> Child {
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(folder);
    let mut run = start(command);
    wait_while_running(&mut run, "the log", || folder.join("events.jsonl").exists().then_some(()));
    run
}

/// All processes of such a run, a daemon beside each worker among them.
fn processes(run: &Child, folder: &Path) -> Vec<u32> {
    let devices = log(folder).header.devices.len();
    wait_for("the daemons", || {
        let processes = descendants_of(run.id());
        let is_daemon = |pid: &&u32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
        };
        (processes.iter().filter(is_daemon).count() == devices).then_some(processes)
    })
}

fn signal(process: &Child, signal: Signal) {
    kill(Pid::from_raw(process.id().cast_signed()), signal).expect("the run can be signalled");
}

fn ctrl_c_keeps_what_has_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = start_a_run_that_never_ends(folder.path());
    let processes = processes(&run, folder.path());
    signal(&run, Signal::SIGINT);
    let status = run.wait().expect("the run ends");
    assert_eq!(status.code(), Some(3), "nothing was unexpected, but not all was run");
    assert!(processes.iter().all(|process| !is_running(*process)), "no process is left");

    let log = log(folder.path());
    assert!(log.interrupted);
    assert!(results(&log, "passes").iter().all(|result| result.verdict == Verdict::Pass));
    assert!(results(&log, "waits_for_ever").iter().all(|result| result.verdict == Verdict::NotRun));
    for device in &log.header.devices {
        let report = reports(folder.path()).join("junit").join(format!("{}.xml", device.id));
        let text = std::fs::read_to_string(report).expect("the device has its report");
        assert!(text.contains("passes") && text.contains("waits_for_ever"));
    }
}

fn a_second_run_into_the_same_folder_is_exit_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = start_a_full_run(folder.path());
    let mut beside = child(COMMAND, &["run", "faulty::passes", "--report-dir"]);
    beside.arg(folder.path());
    let beside = output(beside);
    let mut second = child(COMMAND, &["run", "--report-dir"]);
    second.arg(folder.path());
    let refused = output(second);
    signal(&run, Signal::SIGKILL);
    run.wait().expect("the run ends");
    assert_eq!(beside.status.code(), Some(0), "a run of some tests is no obstacle");
    assert_eq!(refused.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    let advice = "with --report-dir or CLMATRIX_REPORT_DIR";
    assert!(stderr.contains("another run") && stderr.contains(advice), "{stderr}");
    assert!(stderr.contains(&format!("process {} on ", run.id())), "{stderr}");
}

fn a_killed_runner_loses_nothing_and_leaves_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = start_a_run_that_never_ends(folder.path());
    let processes = processes(&run, folder.path());
    signal(&run, Signal::SIGKILL);
    run.wait().expect("the run ends");
    wait_for("workers and daemons to follow their runner", || {
        processes.iter().all(|process| !is_running(*process)).then_some(())
    });
    let log = log(folder.path());
    assert!(log.interrupted, "the log says that it ends early");
    assert!(results(&log, "passes").iter().all(|result| result.verdict == Verdict::Pass));
    assert!(results(&log, "waits_for_ever").iter().all(|result| result.verdict == Verdict::NotRun));
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, RunLog) {
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(folder).args(arguments);
    (output(command).status.code(), log(folder))
}

/// The reason why a test was not run.
fn not_run(result: &TestResult) -> &str {
    let Outcome::NotRun { reason } = &result.outcome else { panic!("{result:?}") };
    reason
}

fn a_deadline_cuts_rounds_short() {
    // The second one is cut short within its second round.
    for (test, deadline) in [("passes@", "2s"), ("is_the_victim_of_the_bomb", "4500ms")] {
        let folder = tempfile::tempdir().expect("a folder");
        let test = format!("faulty::{test}");
        let rounds = [&*test, "--repeat", "1000000", "--deadline", deadline];
        let (status, log) = run(folder.path(), &rounds);
        assert_eq!(status, Some(3), "{test}");
        assert!(log.results.iter().all(|result| result.verdict == Verdict::Pass));
    }
}

fn a_time_limit_is_longer_than_zero() {
    for option in ["--deadline", "--timeout"] {
        let refused = output(child(COMMAND, &["run", option, "0s"]));
        assert_eq!(refused.status.code(), Some(2));
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(text.contains("a time limit must be longer than zero"), "{text}");
    }
}

fn a_deadline_stops_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = ["faulty::passes@", "faulty::waits_for_ever@", "--include-ignored"];
    let (status, log) = run(folder.path(), &[&tests[..], &["--deadline", "5s"]].concat());
    assert_eq!(status, Some(3));
    for result in results(&log, "waits_for_ever") {
        assert_eq!(not_run(result), "the deadline of 5s has passed");
    }
    for device in &log.header.devices {
        let file = reports(folder.path()).join("junit").join(format!("{}.xml", device.id));
        assert!(file.is_file(), "{}", file.display());
    }
}

fn unexpected_results_may_stop_the_run() {
    let tests = ["faulty::fails_an_assertion@", "faulty::returns_an_error@", "faulty::run@"];
    for (option, last) in [(&["--fail-fast"][..], 1), (&["--max-fail", "2"], 2)] {
        let folder = tempfile::tempdir().expect("a folder");
        let devices = ["--devices", cpu::platform()];
        let (status, log) = run(folder.path(), &[&tests[..], &devices, option].concat());
        assert_eq!(status, Some(1));
        let (failed, rest) = log.results.split_at(last);
        assert!(failed.iter().all(|result| result.verdict == Verdict::Fail), "{failed:?}");
        assert_eq!(rest.len(), tests.len() - last);
        for result in rest {
            let reason = not_run(result);
            assert!(reason.starts_with(&format!("--max-fail: {last} unexpected")), "{reason}");
        }
    }
}

/// The factor also shortens the limit of 1000 s that the test has.
fn options_change_the_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let test = ["faulty::waits_for_ever@", "--include-ignored", "--devices", cpu::platform()];
    let limits = ["--timeout", "7s", "--timeout-factor", "0.001"];
    let (status, log) = run(folder.path(), &[&test[..], &limits].concat());
    assert_eq!(status, Some(1));
    let limit = Duration::from_secs(1);
    for result in results(&log, "waits_for_ever") {
        assert_eq!(result.outcome, Outcome::TimedOut { limit });
    }
    let rerun = &log.header.rerun_command;
    assert!(rerun.contains(" --timeout 7s --timeout-factor 0.001"), "{rerun}");
    let events = std::fs::read_to_string(reports(folder.path()).join("events.jsonl"));
    let events = events.expect("a log");
    assert!(events.contains(r#""timeout_ns":7000000000,"timeout_factor":0.001,"#), "{events}");
}
