//! The promises of the harness when tests go wrong, on each system: `cargo test --test portable`.
//!
//! This executable is two things, as the one of `tests/faults` is. As a child it is a command line over the tests in
//! [`faulty`]. By itself it runs that child and looks at what was reported. It uses the standard library alone, so that
//! it runs on Windows, too.

mod faulty;

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clmatrix_cli::__private::stored_runs;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::target::Target;
use clmatrix_runner::verdict::Outcome;
use libtest_mimic::{Arguments, Trial};

const TARGET: Target = Target {
    home: "portable",
    package: "clmatrix-cli",
    version: "0",
    name: "portable",
    config: None,
};

/// The variable that makes a child of this executable, and its values.
const ROLE: &str = "CLMATRIX_PORTABLE";
const COMMAND: &str = "command";
const SLEEPER: &str = "sleeper";

/// The test of a copy of this executable, in the role of another program.
const OTHER_TEST: &str = "waits_in_another_program";

/// The variable with the folder for locks. A process that holds a lock runs.
const FOLDER: &str = "CLMATRIX_PORTABLE_FOLDER";

/// More than any step here needs on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok(COMMAND) if std::env::args().nth(1).as_deref() == Some(OTHER_TEST) => {
            faulty::sleep_with_lock("other");
        }
        Ok(COMMAND) => return clmatrix_cli::main(TARGET),
        Ok(SLEEPER) => faulty::sleep_with_lock("sleeper"),
        _ => {}
    }
    let trial = |name: &str, check: fn()| {
        Trial::test(name, move || {
            check();
            Ok(())
        })
    };
    let mut arguments = Arguments::from_args();
    // Each check keeps the device busy.
    arguments.test_threads = Some(1);
    let trials = vec![
        trial("each_fault_costs_one_result", each_fault_costs_one_result),
        trial("stored_runs_are_read_again", stored_runs_are_read_again),
        trial("a_library_that_is_no_driver_is_named", a_library_that_is_no_driver_is_named),
        trial("the_devices_are_listed", the_devices_are_listed),
        trial("drivers_are_downloaded_on_linux_alone", drivers_are_downloaded_on_linux_alone),
        trial("another_program_is_run_by_its_name", another_program_is_run_by_its_name),
        trial("memory_is_limited_on_linux_alone", memory_is_limited_on_linux_alone),
        trial(
            "a_killed_runner_loses_nothing_and_leaves_no_process",
            a_killed_runner_loses_nothing_and_leaves_no_process,
        ),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A run of the faulty tests with these arguments, which reports to `folder`.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = subcommand(folder, &["run", "--slots", "1"]);
    command.args(arguments);
    command
}

/// A command over the faulty tests, with the reports in `folder`.
fn subcommand(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this executable has a path"));
    command.env(ROLE, COMMAND).env(FOLDER, folder).stdin(Stdio::null());
    command.env_remove("CLMATRIX_PROFILE");
    command
        .env("CLMATRIX_CONFIG", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/clmatrix.toml"));
    command.env("CLMATRIX_REPORT_DIR", folder).args(arguments);
    command
}

/// Returns the log of the only run in a folder of reports.
fn log(folder: &Path) -> Option<RunLog> {
    RunLog::read(&stored_runs::find(folder, "latest").ok()?).ok()
}

fn result<'a>(log: &'a RunLog, test: &str) -> &'a TestResult {
    let path = format!("faulty::{test}");
    let found = log.results.iter().find(|result| result.test.path() == path);
    found.unwrap_or_else(|| panic!("{path} is in the log"))
}

/// Returns whether no process holds the lock.
fn is_free(folder: &Path, lock: &str) -> bool {
    File::open(folder.join(lock)).expect("the lock is there").try_lock_shared().is_ok()
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The text by which the system names an access to memory that is not there.
const ACCESS_VIOLATION: &str =
    if cfg!(windows) { "STATUS_ACCESS_VIOLATION (0xC0000005)" } else { "SIGSEGV" };

/// The text by which the system names an abort.
const ABORT: &str =
    if cfg!(windows) { "STATUS_STACK_BUFFER_OVERRUN (0xC0000409)" } else { "SIGABRT" };

fn each_fault_costs_one_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(folder.path(), &[]).output().expect("the run starts");
    println!("{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    let log = log(folder.path()).expect("a log");
    assert!(log.has_ended);
    let outcome = |test| &result(&log, test).attempt.outcome;
    for neighbour in ["passes_1", "passes_2", "passes_3", "passes_4"] {
        assert_eq!(outcome(neighbour), &Outcome::Passed, "{neighbour}");
        let [stdout, stderr] =
            ["output", "error"].map(|stream| format!("{stream} of {neighbour}\n"));
        let result = log.with_output(result(&log, neighbour));
        assert_eq!((&result.attempt.stdout, &result.attempt.stderr), (&stdout, &stderr));
    }
    for panics in ["panics", "panics_on_a_thread"] {
        let failed = matches!(outcome(panics), Outcome::Failed { message, .. } if message.contains("on purpose"));
        assert!(failed, "{panics}: {:?}", outcome(panics));
    }
    for crashes in ["accesses_memory_that_is_not_there", "overflows_its_stack", "aborts"] {
        assert!(matches!(outcome(crashes), Outcome::Crashed { .. }), "{:?}", outcome(crashes));
    }
    for (crash, cause) in [
        ("accesses_memory_that_is_not_there", ACCESS_VIOLATION),
        ("aborts", ABORT),
        ("exits", "exited with status 0 in the middle of the test"),
    ] {
        assert_eq!(outcome(crash).to_string(), cause);
    }
    assert!(matches!(outcome("waits_for_ever"), Outcome::TimedOut { .. }));
    assert_eq!(outcome("floods"), &Outcome::Passed);
    assert!(
        log.with_output(result(&log, "floods")).attempt.stdout.len() < 10 << 20,
        "most of it is cut"
    );
    assert_eq!(outcome("leaves_a_process"), &Outcome::Passed);
    assert_eq!(outcome("closes_its_streams"), &Outcome::Passed);
    wait_for("the end of the process that a test started", || is_free(folder.path(), "sleeper"));
    let mut junit = std::fs::read_dir(folder.path().join("junit")).expect("JUnit files");
    let junit = junit.next().expect("a file").expect("it can be read").path();
    let junit = std::fs::read_to_string(junit).expect("it is text");
    assert!(junit.contains("waits_for_ever") && junit.contains(ACCESS_VIOLATION));
}

/// Runs a command to its end; returns its exit status and all that it has printed.
fn printed(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("the command starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    println!("{text}");
    (output.status.code(), text)
}

fn stored_runs_are_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, _) = printed(&mut command(folder.path(), &["faulty::passes_1", "faulty::aborts"]));
    assert_eq!(status, Some(1));
    for (arguments, expected_status, expected) in [
        (&["list", "faulty::passes"][..], 0, "faulty::passes_4"),
        (&["runs"], 0, "1 passed, 1 crashed"),
        (&["report", "latest"], 1, "1 crashed"),
        (&["diff", "latest", "latest"], 0, "A = "),
        (&["expect", "update", "latest", "--dry-run"], 0, "\"faulty::aborts\""),
    ] {
        let (status, text) = printed(&mut subcommand(folder.path(), arguments));
        assert_eq!(status, Some(expected_status), "{arguments:?}");
        assert!(text.contains(expected), "{arguments:?}");
    }
    let (status, text) = printed(&mut subcommand(folder.path(), &["characterize"]));
    assert!(status == Some(0) && text.contains("has_double_support"));
}

/// A library that is on each machine and is no OpenCL driver.
const OTHER_LIBRARY: &str =
    if cfg!(windows) { r"C:\windows\system32\version.dll" } else { "libm.so.6" };

fn a_library_that_is_no_driver_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let absent = folder.path().join("absent.driver").display().to_string();
    let text_file = folder.path().join("text.driver");
    std::fs::write(&text_file, "not a library").expect("a file");
    let text_file = text_file.display().to_string();
    for (library, reason) in [
        (&*absent, "no such file"),
        (&*text_file, "not a shared library"),
        (OTHER_LIBRARY, "no OpenCL entry point"),
    ] {
        let mut run = command(folder.path(), &["faulty::passes_1", "--icd", library]);
        let (status, text) = printed(&mut run);
        assert_eq!(status, Some(2), "{library}");
        assert!(text.contains(&format!("{library}: {reason}")), "{library}");
    }
}

fn the_devices_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, text) = printed(&mut subcommand(folder.path(), &["devices"]));
    assert!(status == Some(0) && text.contains("Portable Computing Language"));
    assert_eq!(text.contains("loads all drivers in each worker"), cfg!(windows));
}

fn drivers_are_downloaded_on_linux_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut provision = subcommand(folder.path(), &["provision", "--no-download", "--folder"]);
    let (status, text) = printed(provision.arg(folder.path()));
    assert_eq!(status, Some(2));
    assert_eq!(text.contains("x86-64 Linux with glibc only"), cfg!(windows));
    assert!(!text.contains("Setting up"));
}

fn another_program_is_run_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(format!("test_program{}", std::env::consts::EXE_SUFFIX));
    let this = std::env::current_exe().expect("this executable has a path");
    std::fs::copy(this, &file).expect("a copy");
    let suite = format!(
        "[[external]]\nname = 'other'\nkind = 'opencl-cts'\nprograms = ['{}']\ntests = ['{OTHER_TEST}']\ntimeout = '3s'",
        file.display()
    );
    let configuration = folder.path().join("clmatrix.toml");
    std::fs::write(&configuration, suite).expect("a file");
    let id = format!("other::program::{OTHER_TEST}");
    let mut run = command(folder.path(), &[&id]);
    let (status, text) = printed(run.env("CLMATRIX_CONFIG", configuration));
    assert_eq!(status, Some(1));
    assert!(text.contains(&format!("TIMEOUT {id}@")));
    wait_for("the end of the program", || is_free(folder.path(), "other"));
}

fn memory_is_limited_on_linux_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = folder.path().join("clmatrix.toml");
    std::fs::write(&configuration, "[profile.default]\nmemory = '4 GiB'").expect("a file");
    let mut run = command(folder.path(), &["faulty::passes_1"]);
    let (status, text) = printed(run.env("CLMATRIX_CONFIG", configuration));
    assert_eq!(status, Some(0));
    assert_eq!(text.contains("`memory` has no effect"), cfg!(windows));
}

fn a_killed_runner_loses_nothing_and_leaves_no_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = ["faulty::passes_1", "faulty::waits_with_a_process", "--include-ignored"];
    let mut run = command(folder.path(), &tests);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let locks = ["worker", "sleeper"];
    wait_for("the test that waits", || {
        locks.iter().all(|lock| folder.path().join(lock).is_file() && !is_free(folder.path(), lock))
    });
    run.kill().and_then(|()| run.wait()).expect("the runner can be killed");
    wait_for("the end of all processes", || locks.iter().all(|lock| is_free(folder.path(), lock)));
    let killed = log(folder.path()).expect("a log");
    assert!(!killed.has_ended);
    assert_eq!(result(&killed, "passes_1").attempt.outcome, Outcome::Passed);

    let (status, text) = printed(&mut subcommand(folder.path(), &["run", "--resume"]));
    assert_eq!(status, Some(0));
    assert!(!text.contains(r"\\?\"), "a path that no user knows");
    let whole = log(folder.path()).expect("a log");
    assert!(whole.has_ended && !whole.resumed.is_empty());
    assert_eq!(result(&whole, "passes_1"), result(&killed, "passes_1"));
    assert_eq!(result(&whole, "waits_with_a_process").attempt.outcome, Outcome::Passed);
}
