//! Runs that are cut short: by Ctrl-C, and by a kill that no handler can catch.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

use clmatrix_runner::verdict::{Outcome, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{
    Folder, descendants_of, is_running, log, output, planned_and_begun, reports, results, start,
    wait_for, wait_while_running,
};
use crate::{check, cpu};

/// Starts a run in which one test passes and the next never ends, and waits for the latter.
fn start_a_run_that_never_ends(folder: &Folder) -> Child {
    let tests = ["faulty::passes", "faulty::waits_for_ever", "--include-ignored"];
    let mut run = start(folder.run(&tests));
    wait_while_running(&mut run, "every device to hang", || {
        let (planned, begun) = planned_and_begun(folder.path(), "faulty::waits_for_ever")?;
        (begun == planned).then_some(())
    });
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

check!(ctrl_c_keeps_what_has_finished, {
    let folder = Folder::new();
    let mut run = start_a_run_that_never_ends(&folder);
    let processes = processes(&run, folder.path());
    signal(&run, Signal::SIGINT);
    let status = run.wait().expect("the run ends");
    assert_eq!(status.code(), Some(3), "nothing was unexpected, but not all was run");
    assert!(processes.iter().all(|process| !is_running(*process)), "no process is left");

    let log = folder.log();
    assert!(log.interrupted);
    assert!(results(&log, "passes").iter().all(|result| result.verdict == Verdict::Pass));
    assert!(results(&log, "waits_for_ever").iter().all(|result| result.verdict == Verdict::NotRun));
    for device in &log.header.devices {
        let text = folder.junit(&device.id);
        assert!(text.contains("passes") && text.contains("waits_for_ever"));
    }
});

check!(signals_at_once_are_one, {
    for signals in [
        &[Signal::SIGINT; 5][..],
        &[Signal::SIGTERM, Signal::SIGTERM],
        &[Signal::SIGTERM, Signal::SIGHUP],
    ] {
        let folder = Folder::new();
        let mut run = start_a_run_that_never_ends(&folder);
        for next in signals {
            signal(&run, *next);
            // The kernel drops a signal that waits already.
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(run.wait().expect("the run ends").code(), Some(3), "{signals:?}");
        let log = folder.log();
        log.header.devices.iter().for_each(|device| drop(folder.junit(&device.id)));
    }
});

check!(a_second_run_into_the_same_folder_is_exit_2, {
    let folder = Folder::new();
    let mut run = start(folder.run(&[]));
    let has_log = || folder.at("events.jsonl").exists().then_some(());
    wait_while_running(&mut run, "the log", has_log);
    let beside = output(folder.run(&["faulty::passes"]));
    let refused = output(folder.run(&[]));
    signal(&run, Signal::SIGKILL);
    run.wait().expect("the run ends");
    assert_eq!(beside.status.code(), Some(0), "a run of some tests is no obstacle");
    assert_eq!(refused.status.code(), Some(2));
    let stderr = &refused.stderr;
    let advice = "with CLMATRIX_REPORT_DIR";
    assert!(stderr.contains("another run") && stderr.contains(advice), "{stderr}");
    assert!(stderr.contains(&format!("process {} on ", run.id())), "{stderr}");
});

check!(a_killed_runner_loses_nothing_and_leaves_nobody, {
    let folder = Folder::new();
    let mut run = start_a_run_that_never_ends(&folder);
    let processes = processes(&run, folder.path());
    signal(&run, Signal::SIGKILL);
    run.wait().expect("the run ends");
    wait_for("workers and daemons to follow their runner", || {
        processes.iter().all(|process| !is_running(*process)).then_some(())
    });
    let log = folder.log();
    assert!(log.interrupted, "the log says that it ends early");
    assert!(results(&log, "passes").iter().all(|result| result.verdict == Verdict::Pass));
    assert!(results(&log, "waits_for_ever").iter().all(|result| result.verdict == Verdict::NotRun));
});

check!(a_deadline_cuts_a_repetition_short, {
    // The second one is cut short within its second attempt.
    for (test, deadline) in [("passes@", "2s"), ("is_the_victim_of_the_bomb", "4500ms")] {
        let folder = Folder::new();
        let test = format!("faulty::{test}");
        let arguments = [&*test, "--repeat", "1000000", "--deadline", deadline];
        let (status, log) = folder.ran(&arguments);
        assert_eq!(status, Some(3), "{test}");
        assert!(log.results.iter().all(|result| result.verdict == Verdict::Pass));
    }
});

check!(a_deadline_stops_the_run, {
    let folder = Folder::new();
    let tests = ["faulty::passes@", "faulty::waits_for_ever@", "--include-ignored"];
    let (status, log) = folder.ran(&[&tests[..], &["--deadline", "5s"]].concat());
    assert_eq!(status, Some(3));
    for result in results(&log, "waits_for_ever") {
        assert_eq!(result.attempt.outcome.to_string(), "the deadline of 5s has passed");
    }
    for device in &log.header.devices {
        folder.junit(&device.id);
    }
});

check!(unexpected_results_may_stop_the_run, {
    let tests = ["faulty::fails_an_assertion@", "faulty::returns_an_error@", "faulty::run@"];
    for (option, last) in [(&["--fail-fast"][..], 1), (&["--max-fail", "2"], 2)] {
        let folder = Folder::new();
        let devices = ["--devices", cpu::platform()];
        let (status, log) = folder.ran(&[&tests[..], &devices, option].concat());
        assert_eq!(status, Some(1));
        let (failed, rest) = log.results.split_at(last);
        assert!(failed.iter().all(|result| result.verdict == Verdict::Fail), "{failed:?}");
        assert_eq!(rest.len(), tests.len() - last);
        for result in rest {
            let reason = result.attempt.outcome.to_string();
            assert!(reason.starts_with(&format!("--max-fail: {last} unexpected")), "{reason}");
        }
    }
});

// The factor also shortens the limit of 1000 s that the test has.
check!(options_change_the_limits, {
    let folder = Folder::new();
    let test = ["faulty::waits_for_ever@", "--include-ignored", "--devices", cpu::platform()];
    let limits = ["--timeout", "7s", "--timeout-factor", "0.001"];
    let (status, log) = folder.ran(&[&test[..], &limits].concat());
    assert_eq!(status, Some(1));
    let limit = Duration::from_secs(1);
    for result in results(&log, "waits_for_ever") {
        assert_eq!(result.attempt.outcome, Outcome::TimedOut { limit });
    }
    let rerun = &log.header.rerun_command;
    assert!(rerun.contains(" --timeout 7s --timeout-factor 0.001"), "{rerun}");
    let events = std::fs::read_to_string(reports(folder.path()).join("events.jsonl"));
    let events = events.expect("a log");
    assert!(events.contains(r#""timeout_ns":7000000000,"timeout_factor":0.001,"#), "{events}");
});
