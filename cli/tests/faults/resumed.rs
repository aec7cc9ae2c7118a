//! Runs that are killed and resumed.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clmatrix_runner::verdict::{Outcome, Verdict};
use serde_json::Value;

use crate::drivers::driver;
use crate::event_log::{PASSING, preloaded};
use crate::faulty::flakes::COUNTS;
use crate::support::{COMMAND, Folder, child, events, log, output, reports, verdicts};
use crate::{check, cpu};

const RESULT: &str = r#"{"event":"finished""#;
const START: &str = r#"{"event":"started""#;

/// The folder of the reports, and the library that kills.
struct Killer {
    folder: Folder,
    library: PathBuf,
}

impl Killer {
    fn new() -> Self {
        let folder = Folder::new();
        let library = preloaded(folder.path(), &["KILL"]);
        Self { folder, library }
    }

    /// A run with the contexts of its devices: a resumed one takes no `--contexts`.
    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = child(COMMAND, &[]);
        command.args(["run", "--report-dir"]).arg(self.folder.path()).args(arguments);
        command.env(COUNTS, self.folder.path()).current_dir(self.folder.path());
        command
    }

    /// Runs until the line after the one in which `text` is there for the time `count`.
    fn kill(&self, arguments: &[&str], text: &str, count: usize) {
        let mut command = self.run(arguments);
        command.env("LD_PRELOAD", &self.library);
        command.env("FAULTS_TEXT", text).env("FAULTS_COUNT", count.to_string());
        let killed = output(command);
        assert_eq!(killed.status.signal(), Some(libc::SIGKILL), "{}", killed.stderr);
    }
}

/// The lines of the last run and of those that it resumes, the oldest first.
fn all_events(folder: &Path) -> Vec<Value> {
    let mut run = reports(folder);
    let mut parts = Vec::new();
    loop {
        let text = std::fs::read_to_string(run.join("events.jsonl")).expect("a log");
        let part: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let before = part[0]["parent"]["run_id"].as_str().map(str::to_owned);
        parts.push(part);
        let Some(before) = before else { break };
        run.set_file_name(before);
    }
    parts.into_iter().rev().flatten().collect()
}

/// The number of results of each test.
fn result_counts(events: &[Value]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in events.iter().filter(|line| line["event"] == "finished") {
        *counts.entry(line["test"].as_str().expect("an id")).or_default() += 1;
    }
    counts
}

check!(a_run_that_is_killed_at_ten_places_has_all_results_once, {
    let killer = Killer::new();
    let folder = killer.folder.path();
    let arguments = [&PASSING[..], &["--devices", cpu::platform(), "--seed", "7"]].concat();
    assert_eq!(output(killer.run(&arguments)).status.code(), Some(0));
    let undisturbed = log(folder);
    killer.kill(&arguments, RESULT, 1);
    for _ in 1..PASSING.len() {
        killer.kill(&["--resume"], RESULT, 1);
    }
    let last = output(killer.run(&["--resume"]));
    assert_eq!(last.status.code(), Some(0), "{}", last.stderr);
    assert!(last.stderr.contains("is resumed: 0 of 10 tests are left"), "{}", last.stderr);
    let (log, events) = (log(folder), all_events(folder));
    assert_ne!(log.header.run_id, undisturbed.header.run_id);
    assert_eq!(verdicts(&log), verdicts(&undisturbed));
    let counts = result_counts(&events);
    assert!(
        counts.len() == PASSING.len() && counts.values().all(|count| *count == 1),
        "{counts:?}"
    );
    assert_eq!(events.iter().filter(|line| line["event"] == "run").count(), 1 + 10);
    // Each part has workers of its own, and continues in the order of the seed.
    let of_results = |field: &str| -> Vec<Value> {
        events
            .iter()
            .filter(|line| line["event"] == "finished")
            .map(|line| line[field].clone())
            .collect()
    };
    let workers: Vec<Value> =
        of_results("worker").into_iter().filter(|worker| !worker.is_null()).collect();
    assert!(workers.windows(2).all(|pair| pair[0].as_u64() < pair[1].as_u64()), "{workers:?}");
    let mut in_order: Vec<_> = undisturbed.results.iter().collect();
    in_order.sort_by_key(|result| result.attempt.started);
    let in_order: Vec<Value> = in_order.iter().map(|result| result.test.as_str().into()).collect();
    assert_eq!(of_results("test"), in_order);
    let ended = output(killer.run(&["--resume"]));
    assert_eq!(ended.status.code(), Some(2));
    assert!(ended.stderr.contains("has ended"), "{}", ended.stderr);
});

const THREE: [&str; 3] = ["faulty::passes@", "faulty::run@", "faulty::panics_as_announced@"];

check!(a_test_that_is_running_at_three_kills_is_not_run, {
    let killer = Killer::new();
    let folder = killer.folder.path();
    killer.kill(&[&THREE[..], &["--devices", cpu::platform()]].concat(), START, 2);
    // It runs after the third test.
    killer.kill(&["--resume"], START, 2);
    killer.kill(&["--resume"], START, 1);
    let last = output(killer.run(&["--resume"]));
    assert_eq!(last.status.code(), Some(3), "{}", last.stderr);
    let log = log(folder);
    let outcomes = log.results.iter().map(|result| result.attempt.outcome.to_string());
    let killed = "the run was killed three times while it ran";
    assert_eq!(outcomes.collect::<Vec<_>>(), ["passed", killed, "passed"]);
    let starts = all_events(folder).iter().filter(|line| line["event"] == "started").count();
    assert_eq!(starts, 5, "the others run once");
    assert!(last.stdout.contains(killed), "{}", last.stdout);
});

check!(a_shard_goes_on_in_its_folder, {
    let killer = Killer::new();
    let arguments = [&PASSING[..], &["--devices", cpu::platform(), "--shard", "1/1"]].concat();
    killer.kill(&arguments, RESULT, 4);
    let folder = killer.folder.at("shard-1-of-1");
    let first = reports(&folder);
    let other = output(killer.run(&[&arguments[1..], &["--quiet"]].concat()));
    assert!(other.stderr.contains("cannot be resumed: it has other tests"), "{}", other.stderr);
    std::fs::remove_dir_all(reports(&folder)).expect("the other run");
    // A run that is killed before it has a whole line has not begun.
    killer.kill(&arguments, "", 0);
    let again = output(killer.run(&arguments));
    assert_eq!(again.status.code(), Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("is resumed: 6 of 10 tests are left"), "{}", again.stderr);
    let events = all_events(&folder);
    assert!(result_counts(&events).values().all(|count| *count == 1));
    assert_eq!(log(&folder).results.len(), 10);
    assert_ne!(reports(&folder), first);
    let refused = output(killer.run(&["--resume", first.to_str().expect("text")]));
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains(" was resumed by "), "{}", refused.stderr);
    // The run of the shard has ended.
    let new = output(killer.run(&arguments));
    assert_eq!(new.status.code(), Some(0), "{}", new.stderr);
    assert!(!new.stderr.contains("is resumed"), "{}", new.stderr);
});

check!(another_machine_is_refused, {
    let killer = Killer::new();
    let folder = killer.folder.path();
    killer.kill(&["faulty::passes@", "faulty::run@", "--devices", cpu::platform()], RESULT, 1);
    let path = reports(folder).join("events.jsonl");
    let text = std::fs::read_to_string(&path).expect("a log");
    let version = log(folder).header.devices[0].info.driver_version.clone();
    let changed = text.replace(&format!("{version:?}"), "\"0.1\"");
    std::fs::write(&path, changed).expect("the log can be written");
    let refused = output(killer.run(&["--resume"]));
    assert_eq!(refused.status.code(), Some(2));
    let message = refused.stderr;
    let says = "the driver versions of the device ";
    assert!(message.contains(says) && message.contains("--anyway"), "{message}");
    let anyway = output(killer.run(&["--resume", "--anyway"]));
    assert_eq!(anyway.status.code(), Some(0), "{}", anyway.stderr);
    let difference = events(folder)[0]["parent"]["difference"].to_string();
    assert!(difference.contains("driver versions"), "{difference}");
});

check!(an_added_driver_is_found_from_another_folder, {
    let killer = Killer::new();
    let library = driver(killer.folder.path(), 1);
    let name = library.file_name().and_then(|name| name.to_str()).expect("a name");
    let tests = ["faulty::passes@", "faulty::run@", "--devices", cpu::platform(), "--icd", name];
    killer.kill(&tests, RESULT, 1);
    let mut elsewhere = killer.run(&["--resume"]);
    elsewhere.current_dir("/");
    let resumed = output(elsewhere);
    assert_eq!(resumed.status.code(), Some(0), "{}", resumed.stderr);
});

check!(a_run_whose_device_is_gone_stays_unfinished, {
    let killer = Killer::new();
    let folder = killer.folder.path();
    killer.kill(&["faulty::passes@", "faulty::run@", "--devices", cpu::platform()], RESULT, 1);
    let path = reports(folder).join("events.jsonl");
    let text = std::fs::read_to_string(&path).expect("a log");
    let planned = text.lines().find(|line| line.contains(r#""event":"plan-device""#));
    let gone = planned.expect("a plan").replace(cpu::platform(), "gone");
    let head = text.find(r#"{"event":"started""#).expect("a test");
    std::fs::write(&path, format!("{}{gone}\n{}", &text[..head], &text[head..])).expect("a log");
    for _ in 0..2 {
        let cut = output(killer.run(&["--resume"]));
        assert_eq!(cut.status.code(), Some(3), "{}", cut.stderr);
        let last = events(folder).pop().expect("an end");
        assert_eq!(last["interrupted"], true, "{last}");
    }
});

check!(a_failure_that_was_to_be_repeated_is_not_lost, {
    let tests = ["fails_at_first", "aborts_at_first"];
    for (test, cuts) in tests.into_iter().flat_map(|test| [(test, 1), (test, 2)]) {
        let killer = Killer::new();
        let folder = killer.folder.path();
        let arguments =
            [&format!("faulty::flakes::{test}@"), "--devices", cpu::platform(), "--retries", "1"];
        killer.kill(&arguments, r#""repeated":true"#, 1);
        for _ in 1..cuts {
            let cut = output(killer.run(&["--resume", "--deadline", "1ms"]));
            assert_eq!(cut.status.code(), Some(3), "{}", cut.stderr);
        }
        let last = output(killer.run(&["--resume"]));
        assert_eq!(last.status.code(), Some(1), "{}", last.stderr);
        let line = format!("faulty::flakes::{test}@{} (", cpu::id());
        let text = last.stderr;
        let line = text.lines().find(|text| text.contains(&line)).expect("a line");
        assert!(line.contains("at attempt 1 of 2: "), "{line}");
        let log = log(folder);
        let [result] = &log.results[..] else { panic!("{:?}", log.results) };
        assert_eq!((result.verdict, &result.attempt.outcome), (Verdict::Flaky, &Outcome::Passed));
        assert_eq!((result.attempt.number, result.earlier.len()), (2, 1));
    }
});
