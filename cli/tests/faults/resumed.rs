//! Runs that are killed and go on.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::verdict::{Outcome, Verdict};
use serde_json::Value;

use crate::Check;
use crate::cpu;
use crate::drivers::driver;
use crate::event_log::{IS_LOG, PASSING, preloaded};
use crate::faulty::flakes::COUNTS;
use crate::support::{COMMAND, child, context_layer, events, log, output, reports};

pub const CHECKS: &[Check] = &[
    (
        "resumed::a_run_that_is_killed_at_ten_places_has_all_results_once",
        a_run_that_is_killed_at_ten_places_has_all_results_once,
    ),
    (
        "resumed::a_test_that_is_running_twice_took_the_machine_down",
        a_test_that_is_running_twice_took_the_machine_down,
    ),
    ("resumed::a_shard_goes_on_in_its_folder", a_shard_goes_on_in_its_folder),
    ("resumed::another_machine_is_refused", another_machine_is_refused),
    (
        "resumed::an_added_driver_is_found_from_another_folder",
        an_added_driver_is_found_from_another_folder,
    ),
    ("resumed::other_expectations_are_refused", other_expectations_are_refused),
    (
        "resumed::a_run_whose_device_is_gone_stays_unfinished",
        a_run_whose_device_is_gone_stays_unfinished,
    ),
    (
        "resumed::a_failure_that_was_to_be_repeated_is_not_lost",
        a_failure_that_was_to_be_repeated_is_not_lost,
    ),
    ("resumed::retries_before_a_cut_count", retries_before_a_cut_count),
    ("resumed::a_failure_stays_if_the_device_is_lost", a_failure_stays_if_the_device_is_lost),
    ("resumed::a_crash_on_a_foreign_thread_is_not_lost", a_crash_on_a_foreign_thread_is_not_lost),
    ("resumed::a_crash_stays_if_the_note_is_cut_short", a_crash_stays_if_the_note_is_cut_short),
];

/// Kills the process when it writes to the log after the line in which a text is there for the Nth time. Half
/// of the line after it is written.
const KILL: &str = r#"
#include <signal.h>
ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    static long found;
    if (!next) next = dlsym(RTLD_NEXT, "write");
    char *text = getenv("FAULTS_TEXT");
    if (text && is_log(fd)) {
        if (found == atol(getenv("FAULTS_COUNT"))) {
            next(fd, bytes, count / 2);
            kill(getpid(), SIGKILL);
        }
        if (memmem(bytes, count, text, strlen(text))) found++;
    }
    return next(fd, bytes, count);
}
"#;

const RESULT: &str = r#"{"event":"finished""#;
const START: &str = r#"{"event":"started""#;

/// The folder of the reports, and the library that kills.
struct Killer {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Killer {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let library = preloaded(folder.path(), &[IS_LOG, KILL].concat());
        Self { folder, library }
    }

    /// A run with the contexts of its devices: one that goes on takes no `--contexts`.
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
        assert_eq!(killed.status.signal(), Some(libc::SIGKILL), "{}", stderr(&killed));
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines of the last run and of those that it goes on with, the oldest first.
fn all_events(folder: &Path) -> Vec<Value> {
    let mut run = reports(folder);
    let mut parts = Vec::new();
    loop {
        let text = std::fs::read_to_string(run.join("events.jsonl")).expect("a log");
        let part: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let before = part[0]["resumes"]["run_id"].as_str().map(str::to_owned);
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

fn verdicts(log: &RunLog) -> BTreeMap<&str, Verdict> {
    log.results.iter().map(|result| (result.test.as_str(), result.verdict)).collect()
}

fn a_run_that_is_killed_at_ten_places_has_all_results_once() {
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
    assert_eq!(last.status.code(), Some(0), "{}", stderr(&last));
    assert!(stderr(&last).contains("goes on: 0 of 10 tests are left"), "{}", stderr(&last));
    let (log, events) = (log(folder), all_events(folder));
    assert_ne!(log.header.run_id, undisturbed.header.run_id);
    assert_eq!(verdicts(&log), verdicts(&undisturbed));
    let counts = result_counts(&events);
    assert!(
        counts.len() == PASSING.len() && counts.values().all(|count| *count == 1),
        "{counts:?}"
    );
    assert_eq!(events.iter().filter(|line| line["event"] == "run").count(), 1 + 10);
    // Each part has workers of its own, and goes on in the order of the seed.
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
    in_order.sort_by_key(|result| result.started);
    let in_order: Vec<Value> = in_order.iter().map(|result| result.test.clone().into()).collect();
    assert_eq!(of_results("test"), in_order);
    let ended = output(killer.run(&["--resume"]));
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("came to its end"), "{}", stderr(&ended));
}

fn a_test_that_is_running_twice_took_the_machine_down() {
    let killer = Killer::new();
    let folder = killer.folder.path();
    let tests = ["faulty::passes@", "faulty::run@", "faulty::panics_as_announced@"];
    killer.kill(&[&tests[..], &["--devices", cpu::platform()]].concat(), START, 2);
    killer.kill(&["--resume"], START, 1);
    let last = output(killer.run(&["--resume"]));
    assert_eq!(last.status.code(), Some(1), "{}", stderr(&last));
    let log = log(folder);
    let deadly: Vec<_> =
        log.results.iter().filter(|result| result.verdict == Verdict::Crash).collect();
    let [deadly] = &deadly[..] else { panic!("{:?}", log.results) };
    let outcome = Outcome::Crashed { how: "the machine went down in it".to_owned() };
    assert_eq!((&deadly.outcome, deadly.number), (&outcome, 2));
    let starts = all_events(folder).iter().filter(|line| line["event"] == "started").count();
    assert_eq!(starts, 4, "the others run once");
    assert!(String::from_utf8_lossy(&last.stdout).contains("the machine went down in it"));
}

fn a_shard_goes_on_in_its_folder() {
    let killer = Killer::new();
    let arguments = [&PASSING[..], &["--devices", cpu::platform(), "--shard", "1/1"]].concat();
    killer.kill(&arguments, RESULT, 4);
    let folder = killer.folder.path().join("shard-1-of-1");
    let first = reports(&folder);
    let other = output(killer.run(&[&arguments[1..], &["--quiet"]].concat()));
    assert!(stderr(&other).contains("does not go on: it has other tests"), "{}", stderr(&other));
    std::fs::remove_dir_all(reports(&folder)).expect("the other run");
    // A run that is killed before it has a whole line has not begun.
    killer.kill(&arguments, "", 0);
    let again = output(killer.run(&arguments));
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stderr(&again).contains("goes on: 6 of 10 tests are left"), "{}", stderr(&again));
    let events = all_events(&folder);
    assert!(result_counts(&events).values().all(|count| *count == 1));
    assert_eq!(log(&folder).results.len(), 10);
    assert_ne!(reports(&folder), first);
    let refused = output(killer.run(&["--resume", first.to_str().expect("text")]));
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains(" goes on in "), "{}", stderr(&refused));
    // The run of the shard has ended.
    let new = output(killer.run(&arguments));
    assert_eq!(new.status.code(), Some(0), "{}", stderr(&new));
    assert!(!stderr(&new).contains("goes on"), "{}", stderr(&new));
}

fn another_machine_is_refused() {
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
    let message = stderr(&refused);
    let says = format!("has the driver version {version:?}, and not \"0.1\"");
    assert!(message.contains(&says) && message.contains("--anyway"), "{message}");
    let anyway = output(killer.run(&["--resume", "--anyway"]));
    assert_eq!(anyway.status.code(), Some(0), "{}", stderr(&anyway));
    let differences = events(folder)[0]["resumes"]["differences"].to_string();
    assert!(differences.contains("driver version"), "{differences}");
}

fn an_added_driver_is_found_from_another_folder() {
    let killer = Killer::new();
    let library = driver(killer.folder.path(), 1);
    let name = library.file_name().and_then(|name| name.to_str()).expect("a name");
    let tests = ["faulty::passes@", "faulty::run@", "--devices", cpu::platform(), "--icd", name];
    killer.kill(&tests, RESULT, 1);
    let mut elsewhere = killer.run(&["--resume"]);
    elsewhere.current_dir("/");
    let resumed = output(elsewhere);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
}

fn other_expectations_are_refused() {
    let killer = Killer::new();
    let config = killer.folder.path().join("own.toml");
    let expectations = killer.folder.path().join("expectations");
    std::fs::create_dir(&expectations).expect("a folder");
    let file = expectations.join("a.toml");
    let entry = "[[expect]]\ntest = \"faulty::run\"\nstatus = \"pass\"\nreason = \"first\"\n";
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("it is written");
    write(&config, "");
    write(&file, entry);
    let config = ["--config", config.to_str().expect("text")];
    let tests = ["faulty::passes@", "faulty::run@", "--devices", cpu::platform()];
    killer.kill(&[&tests[..], &config[..]].concat(), RESULT, 1);
    write(&file, &entry.replace("first", "second"));
    let refused = output(killer.run(&["--resume"]));
    assert_eq!(refused.status.code(), Some(2));
    let message = stderr(&refused);
    let place = format!("the expectation of {}:1", file.display());
    let says = ["is not there", "is new"].map(|end| format!("{place} {end}"));
    assert!(says.iter().all(|line| message.contains(line)), "{message}");
    write(&file, &format!("# The same.\n{entry}"));
    let last = output(killer.run(&["--resume"]));
    assert_eq!(last.status.code(), Some(0), "{}", stderr(&last));
}

fn a_run_whose_device_is_gone_stays_unfinished() {
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
        assert_eq!(cut.status.code(), Some(3), "{}", stderr(&cut));
        let last = events(folder).pop().expect("an end");
        assert_eq!(last["interrupted"], true, "{last}");
    }
}

fn a_failure_that_was_to_be_repeated_is_not_lost() {
    let tests = ["fails_at_first", "aborts_at_first"];
    for (test, cuts) in tests.into_iter().flat_map(|test| [(test, 1), (test, 2)]) {
        let killer = Killer::new();
        let folder = killer.folder.path();
        let arguments =
            [&format!("faulty::flakes::{test}@"), "--devices", cpu::platform(), "--retries", "1"];
        killer.kill(&arguments, r#""repeated":true"#, 1);
        for _ in 1..cuts {
            let cut = output(killer.run(&["--resume", "--deadline", "1ms"]));
            assert_eq!(cut.status.code(), Some(3), "{}", stderr(&cut));
        }
        let last = output(killer.run(&["--resume"]));
        assert_eq!(last.status.code(), Some(1), "{}", stderr(&last));
        let line = format!("faulty::flakes::{test}@{} (", cpu::id());
        let text = stderr(&last);
        let line = text.lines().find(|text| text.contains(&line)).expect("a line");
        assert!(line.contains("at attempt 1 of 2: "), "{line}");
        let log = log(folder);
        let [result] = &log.results[..] else { panic!("{:?}", log.results) };
        assert_eq!((result.verdict, &result.outcome), (Verdict::Flaky, &Outcome::Passed));
        assert_eq!((result.number, result.earlier.len()), (2, 1));
    }
}

fn retries_before_a_cut_count() {
    let killer = Killer::new();
    let arguments =
        ["faulty::flakes::fails_always@", "--devices", cpu::platform(), "--retries", "2"];
    killer.kill(&arguments, r#""repeated":true"#, 1);
    let last = output(killer.run(&["--resume"]));
    assert_eq!(last.status.code(), Some(1), "{}", stderr(&last));
    let log = log(killer.folder.path());
    let [result] = &log.results[..] else { panic!("{:?}", log.results) };
    assert_eq!((result.verdict, result.number), (Verdict::Fail, 3));
    let earlier: Vec<u32> = result.earlier.iter().map(|attempt| attempt.number).collect();
    assert_eq!(earlier, [1, 2]);
}

/// The attempt for the note has ended.
fn a_crash_stays_if_the_note_is_cut_short() {
    let killer = Killer::new();
    let test = "faulty::unreliable::crashes_first_on_a_thread_of_its_own@";
    let arguments = ["faulty::unreliable::harmless@", test, "--devices", cpu::platform()];
    killer.kill(&arguments, r#""repeated":true"#, 1);
    let last = output(killer.run(&["--resume"]));
    assert_eq!(last.status.code(), Some(1), "{}", stderr(&last));
    let log = log(killer.folder.path());
    let result = log.results.iter().find(|result| result.test.starts_with(test));
    let result = result.expect("a result");
    assert_eq!((result.verdict, result.number), (Verdict::Crash, 1));
    assert_eq!(result.earlier[0].verdict, Verdict::Pass);
}

/// As without the cut: the test has failed, and cannot be repeated.
fn a_failure_stays_if_the_device_is_lost() {
    let killer = Killer::new();
    let folder = killer.folder.path();
    let arguments =
        ["faulty::flakes::fails_always@", "--devices", cpu::platform(), "--retries", "2"];
    killer.kill(&arguments, r#""repeated":true"#, 1);
    let mut resumed = killer.run(&["--resume", "--anyway"]);
    context_layer(&mut resumed, folder, "error", "1-1000");
    let last = output(resumed);
    assert_eq!(last.status.code(), Some(1), "{}", stderr(&last));
    let log = log(folder);
    assert_eq!(log.lost.len(), 1, "{}", stderr(&last));
    let [result] = &log.results[..] else { panic!("{:?}", log.results) };
    assert_eq!((result.verdict, result.number), (Verdict::Fail, 1));
}

/// The run that goes on does not know whether the crash was the test's.
fn a_crash_on_a_foreign_thread_is_not_lost() {
    for (test, verdict, number) in [
        ("crashes_first_on_a_foreign_thread", Verdict::Flaky, 2),
        ("crashes_on_a_foreign_thread", Verdict::Crash, 3),
    ] {
        for contexts in ["fresh", "reuse"] {
            let killer = Killer::new();
            let tests = ["harmless", test].map(|test| format!("faulty::unreliable::{test}@"));
            let arguments =
                [&*tests[0], &*tests[1], "--devices", cpu::platform(), "--contexts", contexts];
            killer.kill(&arguments, r#""repeated":true"#, 1);
            let last = output(killer.run(&["--resume"]));
            assert_eq!(last.status.code(), Some(1), "{}", stderr(&last));
            let log = log(killer.folder.path());
            let result = log.results.iter().find(|result| result.test.starts_with(&*tests[1]));
            let result = result.expect("a result");
            assert_eq!((result.verdict, result.number), (verdict, number), "{contexts}");
            assert_eq!(result.earlier[0].verdict, Verdict::Crash, "{contexts}");
        }
    }
}
