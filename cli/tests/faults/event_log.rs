//! The event log: its content, its safety, its place, and the commands that read it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clmatrix_harness::private::verdict::Verdict;
use serde_json::Value;

use crate::Check;
use crate::cpu;
use crate::support::{
    COMMAND, LIBTEST, child, compile, descendants_of, is_running, log, output, reports, results,
    shared_library, wait_for,
};
use crate::valid::validate;

pub const CHECKS: &[Check] = &[
    ("event_log::a_stored_run_is_reported_again", a_stored_run_is_reported_again),
    (
        "event_log::a_log_from_standard_input_writes_no_files",
        a_log_from_standard_input_writes_no_files,
    ),
    ("event_log::a_killed_run_is_reported", a_killed_run_is_reported),
    ("event_log::a_full_disk_costs_the_log_alone", a_full_disk_costs_the_log_alone),
    ("event_log::an_error_of_a_sync_ends_the_log", an_error_of_a_sync_ends_the_log),
    ("event_log::a_file_system_may_lack_locks", a_file_system_may_lack_locks),
    ("event_log::each_test_may_wait_for_the_disk", each_test_may_wait_for_the_disk),
    ("event_log::a_crash_of_a_worker_has_its_own_result", a_crash_of_a_worker_has_its_own_result),
    ("event_log::the_profile_of_the_environment_is_kept", the_profile_of_the_environment_is_kept),
    ("event_log::a_run_is_described", a_run_is_described),
    (
        "event_log::a_stored_log_is_read_in_its_own_format_alone",
        a_stored_log_is_read_in_its_own_format_alone,
    ),
    ("event_log::a_seed_gives_an_order_again", a_seed_gives_an_order_again),
];

/// A run with `--report-dir FOLDER`.
fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(folder).args(arguments);
    command
}

/// Another command with `--report-dir FOLDER`.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = child(COMMAND, arguments);
    command.arg("--report-dir").arg(folder);
    command
}

/// The log of the last run.
fn log_text(folder: &Path) -> String {
    std::fs::read_to_string(reports(folder).join("events.jsonl")).expect("a log")
}

/// The events of the last run.
fn events(folder: &Path) -> Vec<Value> {
    log_text(folder).lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn a_stored_run_is_reported_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = output(run(folder.path(), &["faulty::fails_an_assertion@", "faulty::floods@"]));
    assert_eq!(first.status.code(), Some(1));
    let first_id = log(folder.path()).header.run_id;
    let second = output(run(folder.path(), &["faulty::passes@"]));
    assert_eq!(second.status.code(), Some(0));
    let second_id = log(folder.path()).header.run_id;

    let listed = output(command(folder.path(), &["runs"]));
    let listed = text(&listed.stdout);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines[1].starts_with(&first_id) && lines[2].starts_with(&second_id), "{listed}");
    assert!(lines[1].contains(" done ") && lines[1].contains(" failed"), "{listed}");

    let junit = || {
        let files = std::fs::read_dir(folder.path().join("runs").join(&first_id).join("junit"));
        let file = |file: std::io::Result<std::fs::DirEntry>| {
            let path = file.expect("a file").path();
            (path.clone(), std::fs::read_to_string(path).expect("text"))
        };
        files.expect("a folder").map(file).collect::<BTreeMap<_, _>>()
    };
    let of_run = junit();
    let again = output(command(folder.path(), &["report", &first_id]));
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(text(&again.stdout), text(&first.stdout));
    assert_eq!(junit(), of_run);
    assert_eq!(output(command(folder.path(), &["report"])).status.code(), Some(0));

    let run_folder = folder.path().join("runs").join(&first_id);
    let mut here = command(folder.path(), &["report", "events.jsonl"]);
    here.current_dir(&run_folder);
    let here = text(&output(here).stdout);
    assert!(here.ends_with("\nReports: .\n"), "{here}");

    // The matrix does not need a place for files.
    std::fs::remove_dir_all(run_folder.join("junit")).expect("a folder");
    std::fs::write(run_folder.join("junit"), "no folder").expect("it is written");
    let full = output(command(folder.path(), &["report", &first_id]));
    assert_eq!(full.status.code(), Some(2));
    assert_eq!(text(&full.stdout), text(&first.stdout));
    let message = text(&full.stderr);
    assert!(
        message.contains(&format!("the report folder {}: ", run_folder.display())),
        "{message}"
    );
}

fn a_log_from_standard_input_writes_no_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let run =
        output(run(folder.path(), &["faulty::fails_an_assertion@", "--devices", cpu::platform()]));
    assert_eq!(run.status.code(), Some(1));
    let id = log(folder.path()).header.run_id;
    let (path, reports) = (folder.path().join("log.jsonl"), folder.path().join("a/b/c"));
    for id_in_log in [&id[..], "../../../evil"] {
        std::fs::write(&path, log_text(folder.path()).replace(&id, id_in_log)).expect("a file");
        let mut report = command(&reports, &["report", "-"]);
        report.stdin(File::open(&path).expect("the log"));
        let report = output(report);
        assert_eq!(report.status.code(), Some(1), "{id_in_log}");
        let page = text(&report.stdout);
        assert!(page.contains("\nFAIL faulty::fails_an_assertion@"), "{page}");
        assert!(!page.contains("Reports: ") && !page.contains("  more: "), "{page}");
        assert!(!folder.path().join("a").exists(), "{id_in_log}");
        assert!(!folder.path().join("evil").exists(), "{id_in_log}");
    }
}

/// Tests that pass or skip themselves on every device.
pub const PASSING: [&str; 10] = [
    "faulty::passes@",
    "faulty::reads_standard_input@",
    "faulty::panics_as_announced@",
    "faulty::skips_itself@",
    "faulty::records_and_passes@",
    "faulty::run@",
    "faulty::closes_standard_output@",
    "faulty::is_ignored@",
    "faulty::prints_after_the_one_that_closed_it@",
    "faulty::forks_and_both_return@",
];

fn a_killed_run_is_reported() {
    for k in 1..=10 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = run(folder.path(), &PASSING);
        // A test that does not end keeps the runner from ending first.
        command.args(["faulty::waits_for_ever@", "--include-ignored"]);
        command.args(["--format", "json"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the child starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let is_result = |line: &String| line.starts_with(r#"{"event":"finished""#);
        let printed = lines.by_ref().map(|line| line.expect("text")).filter(is_result).take(k);
        assert_eq!(printed.count(), k);
        let processes = descendants_of(child.id());
        let early = output(self::command(folder.path(), &["report"]));
        assert_eq!(early.status.code(), Some(3), "{}", text(&early.stderr));
        assert!(text(&early.stdout).contains("CUT SHORT: "), "{}", text(&early.stdout));
        let message = text(&early.stderr);
        let says = format!("the run is still running (process {} on ", child.id());
        assert!(message.contains(&says), "{message}");
        assert!(!reports(folder.path()).join("junit").exists(), "no files of a part of a run");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        wait_for("workers to follow their runner", || {
            processes.iter().all(|process| !is_running(*process)).then_some(())
        });
        let report = output(self::command(folder.path(), &["report"]));
        assert_eq!(report.status.code(), Some(3), "{}", text(&report.stderr));
        let log = log(folder.path());
        let count = |verdict| log.results.iter().filter(|r| r.verdict == verdict).count();
        let not_run = count(Verdict::NotRun);
        assert!(not_run > 0 && log.results.len() - not_run >= k, "{not_run} after {k}");
        assert_eq!(log.results.len(), (PASSING.len() + 1) * log.header.devices.len());
        for device in &log.header.devices {
            let file = reports(folder.path()).join("junit").join(format!("{}.xml", device.id));
            assert!(file.is_file(), "{}", file.display());
        }
        let listed = output(self::command(folder.path(), &["runs"]));
        assert!(text(&listed.stdout).contains(" killed "), "{}", text(&listed.stdout));
        let stale = output(self::command(folder.path(), &["expect", "stale", "latest"]));
        let note = "is unfinished and has only a part of its results";
        assert!(text(&stale.stderr).contains(note), "{}", text(&stale.stderr));
    }
}

/// Compiles a library that is loaded before all others.
pub fn preloaded(folder: &Path, code: &str) -> PathBuf {
    let (source, library) = (folder.join("preloaded.c"), folder.join("preloaded.so"));
    let head = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <stdio.h>\n\
                #include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n";
    std::fs::write(&source, format!("{head}{code}")).expect("the source can be written");
    compile(shared_library(&library, &source));
    library
}

/// A C function that returns whether a descriptor is the log.
pub const IS_LOG: &str = r#"
static int is_log(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "/events.jsonl") != NULL;
}
"#;

const FULL_DISK: &str = r#"
static long used;
ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = dlsym(RTLD_NEXT, "write");
    if (is_log(fd)) {
        long room = atol(getenv("FAULTS_ROOM")) - used;
        if (room <= 0) { errno = ENOSPC; return -1; }
        if ((long)count > room) count = room;
        used += count;
    }
    return next(fd, bytes, count);
}
"#;

fn a_full_disk_costs_the_log_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = ["faulty::passes@", "faulty::panics_as_announced@", "faulty::run@"];
    let arguments = [&tests[..], &["--devices", cpu::platform()]].concat();
    assert_eq!(output(run(folder.path(), &arguments)).status.code(), Some(0));
    let whole = log_text(folder.path());
    // Room up to the middle of the second result.
    let second = whole.match_indices(r#"{"event":"finished""#).nth(1).expect("results").0;
    let whole = log(folder.path());

    let library = preloaded(folder.path(), &[IS_LOG, FULL_DISK].concat());
    let mut command = run(folder.path(), &arguments);
    command.env("LD_PRELOAD", library).env("FAULTS_ROOM", (second + 100).to_string());
    let full = output(command);
    assert_eq!(full.status.code(), Some(2));
    let matrix = text(&full.stdout);
    assert!(matrix.contains(&format!("PASSED: {} tests", whole.results.len())), "{matrix}");
    let message = text(&full.stderr);
    let cut = log(folder.path());
    let first = cut.results.iter().find(|result| result.verdict == Verdict::NotRun).expect("one");
    assert!(message.contains("No space left on device"), "{message}");
    assert!(message.contains(&format!("it has no results from {} on", first.test)), "{message}");
    let (_, device) = first.test_and_device();
    assert!(reports(folder.path()).join("junit").join(format!("{device}.xml")).is_file());

    // The disk has no room for JUnit files either.
    let in_run = IS_LOG.replace("/events.jsonl", "/runs/");
    let library = preloaded(folder.path(), &[&in_run, FULL_DISK].concat());
    let mut command = run(folder.path(), &arguments);
    command.env("LD_PRELOAD", library).env("FAULTS_ROOM", (second + 100).to_string());
    let full = output(command);
    assert_eq!(full.status.code(), Some(2));
    let message = text(&full.stderr);
    assert!(message.contains("it has no results from "), "{message}");
    let run_folder = reports(folder.path());
    let says = format!("the report folder {}: No space left", run_folder.display());
    assert!(message.contains(&says), "{message}");
    let files = std::fs::read_dir(run_folder.join("junit")).expect("a folder").count();
    assert_eq!(files, 0, "no empty file stays");
}

/// Answers the first sync of the log with an error, as Linux reports it: once.
const FAILING_SYNC: &str = r#"
int fdatasync(int fd) {
    static int (*next)(int);
    static int failed;
    if (!next) next = dlsym(RTLD_NEXT, "fdatasync");
    if (is_log(fd) && !failed) { failed = 1; errno = EIO; return -1; }
    return next(fd);
}
"#;

fn an_error_of_a_sync_ends_the_log() {
    for sync in ["each", "1s"] {
        let folder = tempfile::tempdir().expect("a folder");
        let library = preloaded(folder.path(), &[IS_LOG, FAILING_SYNC].concat());
        let mut command = run(folder.path(), &["faulty::passes@", "--devices", cpu::platform()]);
        command.env("CLMATRIX_CONFIG", synced(folder.path(), sync)).env("LD_PRELOAD", library);
        let run = output(command);
        assert_eq!(run.status.code(), Some(2), "{sync}");
        assert!(text(&run.stdout).contains("PASSED: 1 test "), "{sync}: {}", text(&run.stdout));
        let message = text(&run.stderr);
        let reason = "the event log cannot be written: Input/output error";
        assert!(message.contains(reason), "{sync}: {message}");
        // A short run is synced at its end alone, unless each test asks for a sync.
        let names_a_test = message.contains("it has no results from faulty::passes@");
        assert_eq!(names_a_test, sync == "each", "{sync}: {message}");
        let log = log(folder.path());
        assert_eq!(log.has_ended, sync == "1s", "{sync}");
    }
}

/// Writes a configuration with this `sync`.
fn synced(folder: &Path, sync: &str) -> PathBuf {
    let config = folder.join("clmatrix.toml");
    let profile = format!("[profile.default]\nsync = {sync:?}\n");
    std::fs::write(&config, profile).expect("it is written");
    config
}

const NO_LOCKS: &str = "int flock(int fd, int how) { errno = ENOSYS; return -1; }\n";

fn a_file_system_may_lack_locks() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preloaded(folder.path(), NO_LOCKS);
    let mut command = run(folder.path(), &["faulty::passes@", "--devices", cpu::platform()]);
    command.env("LD_PRELOAD", library);
    let ended = output(command);
    let message = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{message}");
    let warning = "has no locks: the folder is not guarded from other runs";
    assert_eq!(message.matches(warning).count(), 1, "{message}");
}

/// Writes a line with the length of the log to a file at each sync.
const LOG_SYNCS: &str = r#"
int fdatasync(int fd) {
    static int (*next)(int);
    if (!next) next = dlsym(RTLD_NEXT, "fdatasync");
    if (is_log(fd)) {
        FILE *lengths = fopen(getenv("FAULTS_SYNCS"), "a");
        fprintf(lengths, "%lld\n", (long long)lseek(fd, 0, SEEK_END));
        fclose(lengths);
    }
    return next(fd);
}
"#;

fn each_test_may_wait_for_the_disk() {
    // The lengths of the log at its syncs, and after each `started`.
    let syncs = |sync: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let config = synced(folder.path(), sync);
        let library = preloaded(folder.path(), &[IS_LOG, LOG_SYNCS].concat());
        let lengths = folder.path().join("syncs");
        let mut command = run(folder.path(), &PASSING);
        command.env("CLMATRIX_CONFIG", &config);
        command.env("LD_PRELOAD", library).env("FAULTS_SYNCS", &lengths);
        assert_eq!(output(command).status.code(), Some(0));
        let lengths = std::fs::read_to_string(lengths).unwrap_or_default();
        let synced: Vec<usize> =
            lengths.lines().map(|length| length.parse().expect("a number")).collect();
        let (mut length, mut started) = (0, Vec::new());
        for line in log_text(folder.path()).split_inclusive('\n') {
            length += line.len();
            if line.starts_with(r#"{"event":"started""#) {
                started.push(length);
            }
        }
        (synced, started, log(folder.path()).duration.as_secs() as usize)
    };
    let (synced, started, _) = syncs("each");
    assert!(!started.is_empty() && started.iter().all(|length| synced.contains(length)));
    let (synced, _, seconds) = syncs("1s");
    // The last one is at the end of the run.
    assert!((1..=seconds + 1).contains(&synced.len()), "{synced:?} in {seconds} s");
    assert!(syncs("off").0.is_empty());
}

fn a_crash_of_a_worker_has_its_own_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["faulty::leaves_a_time_bomb@", "faulty::is_the_victim_of_the_bomb@"];
    let arguments = [&arguments[..], &["--devices", cpu::platform()]].concat();
    assert_eq!(output(run(folder.path(), &arguments)).status.code(), Some(1));
    let events = events(folder.path());
    let of = |event: &Value| {
        let number = |key: &str| event[key].as_u64().unwrap_or_default();
        let kind = event["event"].as_str().expect("a name").to_owned();
        let outcome = event["outcome"].as_str().unwrap_or_default().to_owned();
        (kind, outcome, number("attempt"), number("worker"))
    };
    let found: Vec<_> = events
        .iter()
        .filter(|event| ["started", "finished"].iter().any(|kind| event["event"] == *kind))
        .map(of)
        .collect();
    let expected = [
        ("started", "", 1, 1),
        ("finished", "passed", 1, 1),
        ("started", "", 1, 1),
        ("finished", "crashed", 1, 1),
        ("started", "", 2, 2),
        ("finished", "crashed", 1, 1),
        ("finished", "passed", 2, 2),
    ]
    .map(|(kind, outcome, attempt, worker)| (kind.to_owned(), outcome.to_owned(), attempt, worker));
    assert_eq!(found, expected);
    let log = log(folder.path());
    let victim = results(&log, "is_the_victim_of_the_bomb")[0];
    let [crashed] = &victim.earlier[..] else { panic!("{victim:?}") };
    assert!(crashed.doubtful && !victim.doubtful);
}

fn the_profile_of_the_environment_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    std::fs::write(&config, "[profile.ci]\ntimeout = \"50s\"\n").expect("it is written");
    let with_profile = |mut command: Command| {
        command.env("CLMATRIX_CONFIG", &config).env("CLMATRIX_PROFILE", "ci");
        assert_ne!(output(command).status.code(), Some(2));
    };
    with_profile(run(folder.path(), &["faulty::passes@"]));
    let header = log(folder.path()).header;
    assert_eq!(header.profile.as_deref(), Some("ci"));
    assert!(header.rerun_command.contains(" --profile ci"), "{}", header.rerun_command);
    assert_eq!(header.configuration.as_deref(), config.to_str());

    let mut libtest = child(LIBTEST, &["faulty::passes"]);
    libtest.env("CLMATRIX_REPORT_DIR", folder.path());
    with_profile(libtest);
    let header = log(&folder.path().join("clmatrix-cli/faults")).header;
    assert_eq!(header.profile.as_deref(), Some("ci"));
    assert!(header.rerun_command.starts_with("CLMATRIX_PROFILE=ci cargo test "));
}

fn a_run_is_described() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("clmatrix.toml");
    std::fs::write(&config, "[profile.default]\ntests-per-worker = 7\n").expect("it is written");
    std::fs::create_dir(folder.path().join("expectations")).expect("a folder");
    let expected = "\n[[expect]]\ntest = \"faulty::fails*\"\nid = \"*\"\nstatus = \"fail\"\nreason = \"bug 7\"\n";
    std::fs::write(folder.path().join("expectations/all.toml"), expected).expect("it is written");
    let mut command = run(folder.path(), &["faulty::fails_an_assertion@", "needs_no_device"]);
    command.env("CLMATRIX_CONFIG", &config);
    command.env("POCL_FAULTS", "seen").env("SECRET_FAULTS", "hidden");
    assert_eq!(output(command).status.code(), Some(0));
    let events = events(folder.path());
    let header = &events[0];
    assert_eq!(header["format"], 2);
    assert_eq!(header["environment"]["POCL_FAULTS"], "seen");
    assert!(!header.to_string().contains("SECRET_FAULTS"));
    assert_eq!(header["filter"].as_array().map(Vec::len), Some(2));
    assert!(header["kernel"].as_str().is_some_and(|kernel| kernel.starts_with("Linux ")));
    assert!(header["memory"].as_u64() > Some(1 << 20) && header["cpus"].as_u64() > Some(0));
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).collect::<Vec<_>>();
    let [expectation] = of("expectation")[..] else { panic!("one expectation") };
    assert_eq!((&expectation["number"], &expectation["line"]), (&1.into(), &2.into()));
    assert_eq!(expectation["keys"]["test"], "faulty::fails*");
    let host = header["host"].as_str().expect("a name");
    for device in of("device") {
        assert_eq!(device["settings"]["tests_per_worker"], 7);
        assert!(device["key"].as_str().is_some_and(|key| key.starts_with(&format!("{host}/"))));
        assert!(device["driver"]["size"].as_u64() > Some(0), "{device}");
    }
    let [plan] = of("plan")[..] else { panic!("one part") };
    assert_eq!(plan["tests"][0]["path"], "faulty::fails_an_assertion");
    assert_eq!(of("plan-device").len(), of("device").len() + 1, "the host, too");
    for result in of("finished") {
        let is_of_host = result["test"].as_str().is_some_and(|test| test.ends_with("@host"));
        let number = if is_of_host { Value::Null } else { 1.into() };
        assert_eq!(result["expectation"], number);
    }
    let end = events.last().expect("an end");
    assert_eq!((&end["event"], &end["exit_status"]), (&"end".into(), &0.into()));
    assert_eq!(end["counts"]["expected-fail"], of("device").len());
    assert_eq!(end["counts"]["pass"], 1);
}

fn a_stored_log_is_read_in_its_own_format_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs/format-2.jsonl");
    let stored = std::fs::read_to_string(stored).expect("the log is there");
    let report = |log: &str| {
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, log).expect("it is written");
        let report = output(command(folder.path(), &["report", path.to_str().expect("text")]));
        (report.status.code(), text(&report.stdout) + &text(&report.stderr), validate(&path))
    };
    let (status, page, valid) = report(&stored);
    assert_eq!((status, valid.is_ok()), (Some(1), true));
    assert!(page.contains("pocl"), "{page}");
    let other = stored.replacen("\"format\":2", "\"format\":3", 1);
    let (status, page, _) = report(&other);
    assert_eq!(status, Some(2));
    assert!(page.contains("the log has format 3, but this version reads format 2"), "{page}");
    let unknown = stored.replacen("{\"event\":\"end\"", "{\"event\":\"vanished\"", 1);
    let (status, page, valid) = report(&unknown);
    assert_eq!((status, valid.is_ok()), (Some(2), false));
    assert!(page.contains("not an event: unknown variant `vanished`"), "{page}");
}

/// The order of the `started` events on each device, with the seed in the log.
fn order(mut command: Command, folder: &Path) -> (BTreeMap<String, Vec<u64>>, Option<u64>) {
    command.env("CLMATRIX_REPORT_DIR", folder);
    assert_eq!(output(command).status.code(), Some(0));
    let (mut order, mut seed) = (BTreeMap::<String, Vec<u64>>::new(), None);
    for event in events(folder) {
        if event["event"] == "run" {
            seed = event["seed"].as_u64();
        } else if event["event"] == "started" {
            let device = event["device"].as_str().expect("an id").to_owned();
            order.entry(device).or_default().push(event["test"].as_u64().expect("a position"));
        }
    }
    (order, seed)
}

fn a_seed_gives_an_order_again() {
    let ordered = |options: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        order(child(COMMAND, &[&["run"], &PASSING[..], options].concat()), folder.path())
    };
    let (plain, none) = ordered(&[]);
    let (first, seed) = ordered(&["--shuffle", "--seed", "7"]);
    assert_eq!((none, seed), (None, Some(7)));
    assert_eq!(ordered(&["--seed", "7"]), (first.clone(), seed));
    let (random, seed) = ordered(&["--shuffle"]);
    assert_eq!(ordered(&["--seed", &seed.expect("a seed").to_string()]), (random, seed));
    for (device, mut tests) in first {
        assert_ne!(tests, plain[&device], "{device}");
        tests.sort_unstable();
        assert_eq!(tests, plain[&device], "{device}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [&PASSING[..1], &["--shuffle-seed=7"]].concat();
    let reports = folder.path().join("clmatrix-cli").join("faults");
    let mut command = child(LIBTEST, &arguments);
    command.env("CLMATRIX_REPORT_DIR", folder.path());
    assert_eq!(output(command).status.code(), Some(0));
    assert_eq!(log(&reports).header.seed, Some(7));
}
