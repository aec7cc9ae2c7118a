//! Runs that repeat their tests.

use std::collections::HashMap;
use std::path::Path;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::verdict::{Outcome, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::Check;
use crate::cpu;
use crate::expectations::{configuration, expect};
use crate::faulty::MEETING;
use crate::support::{
    COMMAND, child, events, log, output, reports, results, start, wait_while_running,
};

pub const CHECKS: &[Check] = &[
    ("rounds::the_worst_result_counts", the_worst_result_counts),
    ("rounds::a_time_may_end_the_rounds", a_time_may_end_the_rounds),
    ("rounds::no_test_starts_after_the_time", no_test_starts_after_the_time),
    ("rounds::a_device_may_end_with_its_first_failure", a_device_may_end_with_its_first_failure),
    ("rounds::a_device_may_end_with_an_unexpected_pass", a_device_may_end_with_an_unexpected_pass),
    ("rounds::slots_begin_a_round_together", slots_begin_a_round_together),
    ("rounds::each_round_has_an_order_of_its_own", each_round_has_an_order_of_its_own),
    ("rounds::ctrl_c_in_a_later_round_is_a_whole_run", ctrl_c_in_a_later_round_is_a_whole_run),
];

/// A finished run.
struct Run {
    folder: TempDir,
    status: Option<i32>,
    page: String,
    log: RunLog,
    events: Vec<Value>,
}

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let counts = folder.path().join("counts");
    std::fs::create_dir(&counts).expect("the folder can be made");
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(folder.path()).args(arguments).env(MEETING, counts);
    command.envs(variables.iter().copied());
    let ended = output(command);
    let page = String::from_utf8(ended.stdout).expect("text");
    let (log, events) = (log(folder.path()), events(folder.path()));
    Run { folder, status: ended.status.code(), page, log, events }
}

impl Run {
    /// The lines of an event, for each device.
    fn by_device(&self, event: &str) -> HashMap<String, Vec<&Value>> {
        let mut devices: HashMap<String, Vec<&Value>> = HashMap::new();
        for line in self.events.iter().filter(|line| line["event"] == event) {
            let device = match line["device"].as_str() {
                Some(device) => device,
                None => line["test"].as_str().expect("an id").rsplit_once('@').expect("an id").1,
            };
            devices.entry(device.to_owned()).or_default().push(line);
        }
        devices
    }

    fn finished(&self, test: &str) -> usize {
        let is_of_test = |line: &&Value| {
            line["event"] == "finished" && line["test"].as_str().is_some_and(|id| id.contains(test))
        };
        self.events.iter().filter(is_of_test).count()
    }
}

fn the_worst_result_counts() {
    let tests = ["faulty::rounds::", "faulty::skips_itself", "faulty::is_ignored"];
    let run = run(&[&tests[..], &["--repeat", "3"]].concat(), &[]);
    let devices = run.log.header.devices.len();
    assert_eq!(run.status, Some(1));
    for result in results(&run.log, "rounds::fails_the_second_time") {
        assert_eq!((result.verdict, result.number), (Verdict::Fail, 2));
        let rounds = run.log.rounds.get(&result.test).expect("several rounds");
        assert_eq!((rounds.passed, rounds.ran, rounds.decisive), (2, 3, 2));
    }
    for result in results(&run.log, "rounds::comes_after_it") {
        let rounds = run.log.rounds.get(&result.test).expect("several rounds");
        assert_eq!((result.verdict, rounds.passed, rounds.ran), (Verdict::Pass, 3, 3));
    }
    for test in ["skips_itself", "is_ignored"] {
        assert_eq!(run.finished(test), devices, "{test} is not repeated");
    }
    let counts = "passed 2 of 3, went wrong in round 2";
    assert_eq!(run.page.matches(&format!("  {counts}\n")).count(), devices, "{}", run.page);
    assert!(run.page.contains(", 3 rounds:"), "{}", run.page);
    let device = &run.log.header.devices[0].id;
    let junit = reports(run.folder.path()).join("junit").join(format!("{device}.xml"));
    let junit = std::fs::read_to_string(junit).expect("the device has its report");
    assert!(junit.contains(&format!("message=\"{counts}: assertion")), "{junit}");
    assert!(junit.contains("<property name=\"rounds\" value=\"3\"/>"), "{junit}");
    let status = |command: &[&str]| {
        let mut command = child(COMMAND, command);
        command.arg("--report-dir").arg(run.folder.path());
        output(command).status.code()
    };
    let of_rounds = ["latest:1", "latest:2", "latest:3"].map(|round| status(&["report", round]));
    assert_eq!(of_rounds, [Some(0), Some(1), Some(0)], "each round is a run");
    assert_eq!(status(&["diff", "latest:1", "latest:2"]), Some(1));
    assert_eq!(status(&["diff", "latest:1", "latest:3"]), Some(0));
    assert_eq!(status(&["report", "latest:4"]), Some(2));
}

/// Four devices of PoCL, each with its own rounds.
fn a_time_may_end_the_rounds() {
    if !cpu::can_be_several() {
        return;
    }
    let four = ("POCL_DEVICES", "pthread pthread pthread pthread");
    let arguments = ["faulty::sick::", "--devices", cpu::platform(), "--for", "8s"];
    let run = run(&arguments, &[four]);
    assert_eq!(run.status, Some(0), "{}", run.page);
    assert_eq!(run.log.header.devices.len(), 4);
    for (device, finished) in run.by_device("finished") {
        let results = run.log.results.iter().filter(|result| result.test_and_device().1 == device);
        let counts =
            results.map(|result| run.log.rounds.get(&result.test).expect("several rounds"));
        let ran: Vec<usize> = counts.clone().map(|counts| counts.ran).collect();
        assert!(counts.clone().all(|counts| counts.passed == counts.ran));
        assert_eq!(ran.iter().sum::<usize>(), finished.len(), "on {device}");
        let (fewest, most) = (ran.iter().min().unwrap(), ran.iter().max().unwrap());
        assert!(*fewest > 0 && most - fewest <= 1, "whole rounds on {device}: {ran:?}");
    }
    for (device, rounds) in run.by_device("round") {
        let numbers: Vec<_> = rounds.iter().map(|line| line["number"].as_u64()).collect();
        let expected: Vec<_> = (2..2 + numbers.len() as u64).map(Some).collect();
        assert_eq!(numbers, expected, "one round after the other on {device}");
    }
}

fn no_test_starts_after_the_time() {
    let run = run(&["faulty::rounds::", "--for", "0s"], &[]);
    assert_eq!(run.status, Some(3));
    let reason = "the time of --for has passed: 0s".to_owned();
    let not_run = Outcome::NotRun { reason };
    assert!(run.log.results.iter().all(|result| result.outcome == not_run));
    assert!(run.by_device("started").is_empty());
}

fn a_device_may_end_with_its_first_failure() {
    let tests = ["faulty::rounds::", "faulty::is_ignored"];
    let run = run(&[&tests[..], &["--until-fail"]].concat(), &[]);
    assert_eq!(run.status, Some(1));
    for (device, finished) in run.by_device("finished") {
        let lines: Vec<_> = finished.iter().map(|line| line["outcome"].as_str()).collect();
        let expected = ["ignored", "passed", "passed", "failed"].map(Some);
        assert_eq!(lines, expected, "on {device}");
    }
    let run = self::run(&["faulty::returns_an_error", "faulty::sick::", "--until-fail"], &[]);
    assert_eq!(run.status, Some(1));
    let reason = "--until-fail: a result on this device was unexpected".to_owned();
    let not_run = Outcome::NotRun { reason };
    let mut results = results(&run.log, "returns_an_error").into_iter();
    assert!(results.all(|result| !run.log.rounds.contains_key(&result.test)));
    let (_, rest): (Vec<_>, Vec<_>) =
        run.log.results.iter().partition(|result| result.verdict == Verdict::Fail);
    assert!(rest.iter().all(|result| result.outcome == not_run));
}

/// A pass that was not expected leaves its worker alive.
fn a_device_may_end_with_an_unexpected_pass() {
    let (_folder, config) = configuration(&expect("sick::*", "fail"));
    let config = ("CLMATRIX_CONFIG", config.to_str().expect("a path in UTF-8"));
    let run = run(&["faulty::sick::", "--until-fail"], &[config]);
    assert_eq!(run.status, Some(1));
    assert!(run.by_device("started").values().all(|started| started.len() == 1));
}

/// The slot of the short test waits for the long one.
fn slots_begin_a_round_together() {
    let tests = ["faulty::order::ends_at_once", "faulty::order::takes_long::number_1"];
    let options = ["--slots", "2", "--repeat", "3"];
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(folder.path()).args(tests).args(options);
    assert!(output(command).status.success());
    let mut running: HashMap<String, Vec<u64>> = HashMap::new();
    for line in events(folder.path()) {
        match line["event"].as_str() {
            Some("started") => {
                let device = line["device"].as_str().expect("an id").to_owned();
                let running = running.entry(device).or_default();
                running.push(line["attempt"].as_u64().expect("a number"));
                assert!(running.windows(2).all(|pair| pair[0] == pair[1]), "{line}");
            }
            Some("finished") => {
                let device = line["test"].as_str().expect("an id").rsplit_once('@').expect("an id");
                let running = running.get_mut(device.1).expect("it was started");
                running.pop();
            }
            _ => {}
        }
    }
}

fn each_round_has_an_order_of_its_own() {
    let order = |run: &Run, device: &str| -> Vec<u64> {
        let started = run.by_device("started").remove(device).expect("tests of the device");
        started.iter().map(|line| line["test"].as_u64().expect("a position")).collect()
    };
    let seed = |seed: &str, rounds: &str| {
        run(&["faulty::sick::", "--seed", seed, "--repeat", rounds], &[])
    };
    let (both, first, second) = (seed("7", "2"), seed("7", "1"), seed("8", "1"));
    for device in &both.log.header.devices {
        let rounds = [order(&first, &device.id), order(&second, &device.id)];
        assert_ne!(rounds[0], rounds[1]);
        assert_eq!(order(&both, &device.id), rounds.concat(), "on {}", device.id);
    }
}

fn ctrl_c_in_a_later_round_is_a_whole_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = child(COMMAND, &["run", "faulty::alone::", "--until-fail", "--report-dir"]);
    command.arg(folder.path());
    let mut run = start(command);
    wait_while_running(&mut run, "a third round", || has_third_round(folder.path()));
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGINT).expect("it can be signalled");
    assert_eq!(run.wait().expect("the run ends").code(), Some(0));
    let log = log(folder.path());
    assert!(!log.interrupted && log.exit_status() == 0);
    assert!(!log.rounds.is_empty());
}

/// Returns a value if each device has begun its third round.
fn has_third_round(folder: &Path) -> Option<()> {
    let events = events(folder);
    let count = |is_one: fn(&&Value) -> bool| events.iter().filter(is_one).count();
    let devices = count(|line| line["event"] == "plan-device");
    let third = count(|line| line["event"] == "round" && line["number"] == 3);
    (devices > 0 && third == devices).then_some(())
}
