//! The event log: its content, its safety, its place, and the commands that read it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clmatrix_runner::verdict::Verdict;
use serde_json::Value;

use crate::support::{
    COMMAND, Folder, LIBTEST, child, compile, descendants_of, is_running, log, output, reports,
    shared_library, wait_for,
};
use crate::valid::validate;
use crate::{check, cpu};

/// The log of the last run.
fn log_text(folder: &Path) -> String {
    std::fs::read_to_string(reports(folder).join("events.jsonl")).expect("a log")
}

/// The events of the last run.
fn events(folder: &Path) -> Vec<Value> {
    log_text(folder).lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

check!(a_stored_run_is_reported_again, {
    let folder = Folder::new();
    let first = output(folder.run(&["faulty::fails_an_assertion@", "faulty::floods@"]));
    assert_eq!(first.status.code(), Some(1));
    let first_id = folder.log().header.run_id;
    let second = output(folder.run(&["faulty::passes@"]));
    assert_eq!(second.status.code(), Some(0));
    let second_id = folder.log().header.run_id;

    let listed = output(folder.command(&["runs"])).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines[1].starts_with(&first_id) && lines[2].starts_with(&second_id), "{listed}");
    assert!(lines[1].contains(" done ") && lines[1].contains(" failed"), "{listed}");

    let run_folder = folder.at("runs").join(&first_id);
    let junit = run_folder.join("junit").join(cpu::id() + ".xml");
    let of_run = std::fs::read_to_string(&junit).expect("a file");
    std::fs::remove_file(&junit).expect("it is there");
    let again = output(folder.command(&["report", &first_id]));
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(std::fs::read_to_string(&junit).expect("a file"), of_run);
    assert_eq!(output(folder.command(&["report"])).status.code(), Some(0));

    let mut here = folder.command(&["report", "events.jsonl"]);
    let here = output(here.current_dir(&run_folder)).stdout;
    assert!(here.ends_with("\nReports: .\n"), "{here}");

    // The matrix does not need a place for files.
    std::fs::remove_dir_all(run_folder.join("junit")).expect("a folder");
    std::fs::write(run_folder.join("junit"), "no folder").expect("it is written");
    let full = output(folder.command(&["report", &first_id]));
    assert_eq!(full.status.code(), Some(2));
    assert_eq!(full.stdout, first.stdout);
    let message = full.stderr;
    assert!(
        message.contains(&format!("the report folder {}: ", run_folder.display())),
        "{message}"
    );
});

check!(a_log_from_standard_input_writes_no_files, {
    let folder = Folder::new();
    let run = output(folder.run(&["faulty::fails_an_assertion@", "--devices", cpu::platform()]));
    assert_eq!(run.status.code(), Some(1));
    let id = folder.log().header.run_id;
    let (path, reports) = (folder.at("log.jsonl"), folder.at("a/b/c"));
    for id_in_log in [&id[..], "../../../evil"] {
        std::fs::write(&path, log_text(folder.path()).replace(&id, id_in_log)).expect("a file");
        let mut report = child(COMMAND, &["report", "-", "--report-dir"]);
        report.arg(&reports).stdin(File::open(&path).expect("the log"));
        let report = output(report);
        assert_eq!(report.status.code(), Some(1), "{id_in_log}");
        let page = report.stdout;
        assert!(page.contains("\nFAIL faulty::fails_an_assertion@"), "{page}");
        assert!(!page.contains("Reports: ") && !page.contains("  more: "), "{page}");
        assert!(!folder.at("a").exists(), "{id_in_log}");
        assert!(!folder.at("evil").exists(), "{id_in_log}");
    }
});

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

check!(a_killed_run_is_reported, {
    for k in 1..=10 {
        let folder = Folder::new();
        let mut command = folder.run(&PASSING);
        // A test that does not end keeps the runner from ending first.
        command.args(["faulty::waits_for_ever@", "--include-ignored"]);
        command.args(["--format", "json"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the child starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let is_result = |line: &String| line.starts_with(r#"{"event":"finished""#);
        let printed = lines.by_ref().map(|line| line.expect("text")).filter(is_result).take(k);
        assert_eq!(printed.count(), k);
        let processes = descendants_of(child.id());
        let early = output(folder.command(&["report"]));
        assert_eq!(early.status.code(), Some(3), "{}", early.stderr);
        assert!(early.stdout.contains("CUT SHORT: "), "{}", early.stdout);
        let message = early.stderr;
        let says = format!("the run is still running (process {} on ", child.id());
        assert!(message.contains(&says), "{message}");
        assert!(!reports(folder.path()).join("junit").exists(), "no files of a part of a run");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        wait_for("workers to follow their runner", || {
            processes.iter().all(|process| !is_running(*process)).then_some(())
        });
        let report = output(folder.command(&["report"]));
        assert_eq!(report.status.code(), Some(3), "{}", report.stderr);
        let log = folder.log();
        let count = |verdict| log.results.iter().filter(|r| r.verdict == verdict).count();
        let not_run = count(Verdict::NotRun);
        assert!(not_run > 0 && log.results.len() - not_run >= k, "{not_run} after {k}");
        assert_eq!(log.results.len(), (PASSING.len() + 1) * log.header.devices.len());
        for device in &log.header.devices {
            folder.junit(&device.id);
        }
        let listed = output(folder.command(&["runs"]));
        assert!(listed.stdout.contains(" killed "), "{}", listed.stdout);
        let stale = output(folder.command(&["expect", "stale", "latest"]));
        let note = "is unfinished and has only a part of its results";
        assert!(stale.stderr.contains(note), "{}", stale.stderr);
    }
});

/// Compiles a library of `preload.c` that is loaded before all others, with these macros.
pub fn preloaded(folder: &Path, macros: &[&str]) -> PathBuf {
    let library = folder.join("preloaded.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/preload.c");
    let mut shared = shared_library(&library, Path::new(source));
    shared.args(macros.iter().map(|name| format!("-D{name}")));
    compile(shared);
    library
}

check!(a_full_disk_costs_the_log_alone, {
    let folder = Folder::new();
    let tests = ["faulty::passes@", "faulty::panics_as_announced@", "faulty::run@"];
    let arguments = [&tests[..], &["--devices", cpu::platform()]].concat();
    assert_eq!(output(folder.run(&arguments)).status.code(), Some(0));
    let whole = log_text(folder.path());
    // Room up to the middle of the second result.
    let second = whole.match_indices(r#"{"event":"finished""#).nth(1).expect("results").0;
    let whole = folder.log();

    let without_room = |macros: &[&str]| {
        let library = preloaded(folder.path(), macros);
        let mut command = folder.run(&arguments);
        command.env("LD_PRELOAD", library).env("FAULTS_ROOM", (second + 100).to_string());
        let full = output(command);
        assert_eq!(full.status.code(), Some(2));
        (full.stdout, full.stderr)
    };
    let (matrix, message) = without_room(&["FULL_DISK"]);
    assert!(matrix.contains(&format!("PASSED: {} tests", whole.results.len())), "{matrix}");
    let cut = folder.log();
    let first = cut.results.iter().find(|result| result.verdict == Verdict::NotRun).expect("one");
    assert!(message.contains("No space left on device"), "{message}");
    assert!(message.contains(&format!("it has no results from {} on", first.test)), "{message}");
    folder.junit(first.test.device());

    // The disk has no room for JUnit files either.
    let (_, message) = without_room(&["FULL_DISK", r#"FILES="/runs/""#]);
    assert!(message.contains("it has no results from "), "{message}");
    let run_folder = reports(folder.path());
    let says = format!("the report folder {}: No space left", run_folder.display());
    assert!(message.contains(&says), "{message}");
    let files = std::fs::read_dir(run_folder.join("junit")).expect("a folder").count();
    assert_eq!(files, 0, "no empty file stays");
});

check!(an_error_of_a_sync_ends_the_log, {
    for sync in ["each", "1s"] {
        let folder = Folder::new();
        let library = preloaded(folder.path(), &["FAILING_SYNC"]);
        let mut command = folder.run(&["faulty::passes@", "--devices", cpu::platform()]);
        sync_log(&folder, command.env("LD_PRELOAD", library), sync);
        let run = output(command);
        assert_eq!(run.status.code(), Some(2), "{sync}");
        assert!(run.stdout.contains("PASSED: 1 test "), "{sync}: {}", run.stdout);
        let message = run.stderr;
        let reason = "the event log cannot be written: Input/output error";
        assert!(message.contains(reason), "{sync}: {message}");
        // A short run is synced at its end alone, unless each test asks for a sync.
        let names_a_test = message.contains("it has no results from faulty::passes@");
        assert_eq!(names_a_test, sync == "each", "{sync}: {message}");
        let log = folder.log();
        assert_eq!(log.has_ended, sync == "1s", "{sync}");
    }
});

/// Lets a command write its log with this `sync`.
fn sync_log(folder: &Folder, command: &mut Command, sync: &str) {
    folder.configure(command, &format!("[profile.default]\nsync = {sync:?}\n"));
}

check!(a_file_system_may_lack_locks, {
    let folder = Folder::new();
    let library = preloaded(folder.path(), &["NO_LOCKS"]);
    let mut command = folder.run(&["faulty::passes@", "--devices", cpu::platform()]);
    command.env("LD_PRELOAD", library);
    let ended = output(command);
    let message = ended.stderr;
    assert_eq!(ended.status.code(), Some(0), "{message}");
    let warning = "has no locks: the folder is not guarded from other runs";
    assert_eq!(message.matches(warning).count(), 1, "{message}");
});

check!(each_test_may_wait_for_the_disk, {
    // The lengths of the log at its syncs, and after each `started`.
    let syncs = |sync: &str| {
        let folder = Folder::new();
        let library = preloaded(folder.path(), &["LOG_SYNCS"]);
        let lengths = folder.at("syncs");
        let mut command = folder.run(&PASSING);
        command.env("LD_PRELOAD", library).env("FAULTS_SYNCS", &lengths);
        sync_log(&folder, &mut command, sync);
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
        (synced, started, folder.log().duration.as_secs() as usize)
    };
    let (synced, started, _) = syncs("each");
    assert!(!started.is_empty() && started.iter().all(|length| synced.contains(length)));
    let (synced, _, seconds) = syncs("1s");
    // The last one is at the end of the run.
    assert!((1..=seconds + 1).contains(&synced.len()), "{synced:?} in {seconds} s");
    assert!(syncs("off").0.is_empty());
});

check!(the_profile_of_the_environment_is_kept, {
    let folder = Folder::new();
    let config = folder.write("clmatrix.toml", "[profile.ci]\ntimeout = \"50s\"\n");
    let with_profile = |mut command: Command| {
        command.env("CLMATRIX_CONFIG", &config).env("CLMATRIX_PROFILE", "ci");
        assert_ne!(output(command).status.code(), Some(2));
    };
    with_profile(folder.run(&["faulty::passes@"]));
    let header = folder.log().header;
    assert_eq!(header.profile.as_deref(), Some("ci"));
    assert!(header.rerun_command.contains(" --profile ci"), "{}", header.rerun_command);
    assert_eq!(header.configuration.as_deref(), config.to_str());

    let mut libtest = child(LIBTEST, &["faulty::passes"]);
    libtest.env("CLMATRIX_REPORT_DIR", folder.path());
    with_profile(libtest);
    let target = folder.at("clmatrix-cli/faults");
    let header = log(&target).header;
    assert_eq!(header.profile.as_deref(), Some("ci"));
    assert!(header.rerun_command.starts_with("CLMATRIX_PROFILE=ci cargo test "));
    let page = reports(&target).join("report.html");
    assert!(!page.exists(), "a target makes none");
    output(child(COMMAND, &["report", "--report-dir"]).arg(&target));
    assert!(page.is_file());
});

check!(a_run_is_described, {
    let folder = Folder::new();
    let config = folder.write("clmatrix.toml", "[profile.default]\ntests-per-worker = 7\n");
    let expected = "\n[[expect]]\ntest = \"faulty::fails*\"\nid = \"*\"\nstatus = \"fail\"\nreason = \"bug 7\"\n";
    folder.write("expectations/all.toml", expected);
    let mut command = folder.run(&["faulty::fails_an_assertion@", "needs_no_device"]);
    command.env("CLMATRIX_CONFIG", &config);
    command.env("POCL_FAULTS", "seen").env("SECRET_FAULTS", "hidden");
    assert_eq!(output(command).status.code(), Some(0));
    let events = events(folder.path());
    let header = &events[0];
    assert_eq!(header["format"], 3);
    assert_eq!(header["environment"]["POCL_FAULTS"], "seen");
    assert!(!header.to_string().contains("SECRET_FAULTS"));
    assert_eq!(header["filter"].as_array().map(Vec::len), Some(2));
    assert!(header["boot_id"].is_string());
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
    let unknown = log_text(folder.path()).replacen(r#""event":"end""#, r#""event":"gone""#, 1);
    assert!(validate(&folder.write("log.jsonl", &unknown)).is_err(), "no event of the schema");
});

/// The order of tests that pass on one device with these options, and the seed in the log.
fn ordered(options: &[&str]) -> (Vec<String>, Option<u64>) {
    let folder = Folder::new();
    let device = ["--devices", cpu::platform()];
    let (status, log) = folder.ran(&[&PASSING[..], &device, options].concat());
    assert_eq!(status, Some(0));
    let mut results: Vec<_> = log.results.iter().collect();
    results.sort_by_key(|result| result.attempt.started);
    (results.iter().map(|result| result.test.to_string()).collect(), log.header.seed)
}

check!(a_seed_gives_an_order_again, {
    let (plain, none) = ordered(&[]);
    let (first, seed) = ordered(&["--shuffle", "--seed", "7"]);
    assert_eq!((none, seed), (None, Some(7)));
    assert_eq!(ordered(&["--seed", "7"]), (first.clone(), seed));
    let (random, seed) = ordered(&["--shuffle"]);
    assert_eq!(ordered(&["--seed", &seed.expect("a seed").to_string()]), (random, seed));
    assert_ne!(first, plain);
    let folder = Folder::new();
    let arguments = [&PASSING[..1], &["--shuffle-seed=7"]].concat();
    let reports = folder.at("clmatrix-cli").join("faults");
    let mut command = child(LIBTEST, &arguments);
    command.env("CLMATRIX_REPORT_DIR", folder.path());
    assert_eq!(output(command).status.code(), Some(0));
    assert_eq!(log(&reports).header.seed, Some(7));
});
