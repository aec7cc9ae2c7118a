//! Time and memory of large runs: `cargo xtask bench matrix`.
//!
//! Part 1: a plan, a log and reports of 10,000 tests on 100 devices that do not exist. Part 2: the same
//! tests on 64 devices of a stub driver, in worker processes. Each figure has a limit; a limit that is
//! missed makes the exit status 1. Times are CPU times, and those of one process, without its workers.
//!
//! By the variable `CLMATRIX_BENCH` this executable is a process that is measured.

#[path = "../common/figure.rs"]
mod figure;
mod large_run;
mod log_lines;
#[path = "../common/simulated_device.rs"]
mod simulated_device;
mod simulated_run;
mod tests;
#[path = "../common/usage.rs"]
mod usage;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clmatrix_runner::target::Target;
use figure::Figure;
use log_lines::LogLines;
use usage::Usage;

const TARGET: Target =
    Target { home: "matrix", package: "clmatrix-cli", version: "0", name: "matrix", config: None };

/// Makes a process of this executable one that is measured.
const ROLE: &str = "CLMATRIX_BENCH";
/// The command line of `clmatrix`.
const COMMAND: &str = "command";
/// Writes the log of a run without running it.
const SIMULATE: &str = "simulate";

const TESTS: usize = 10_000;

fn main() -> ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok(COMMAND) => {
            let code = clmatrix_cli::main(TARGET);
            eprintln!("{}", Usage::now());
            code
        }
        Ok(SIMULATE) => simulated_run::simulate(),
        _ => benchmark(),
    }
}

fn benchmark() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut figures = simulated_run::figures(&folder.path().join("simulated"));
    figures.extend(large_run::figures(&folder.path().join("run")));
    figure::report(&figures)
}

/// This executable in a role.
fn process(role: &str, arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this executable has a path"));
    command.env(ROLE, role).args(arguments).arg(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs a process. Returns the last line of its standard error.
fn last_line(mut command: Command) -> String {
    let output = command.output().expect("the process starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    // 1: the run has a test that failed.
    let is_right = matches!(output.status.code(), Some(0 | 1));
    assert!(is_right, "{command:?}: {}\n{stderr}", output.status);
    stderr.lines().last().expect("the process writes figures").to_owned()
}

/// The figures of the lines of a log.
fn lines(log: &Path, results: usize) -> [Figure; 2] {
    let lines = LogLines::of(log);
    assert_eq!(lines.passed, results, "{} has all results", log.display());
    [
        Figure {
            what: "    the longest two lines of a passed result",
            measured: (lines.longest_started + lines.longest_passed) as f64,
            limit: 450.0,
            unit: "B ",
        },
        Figure {
            what: "    the longest line",
            measured: lines.longest as f64 / 1024.0,
            limit: 256.0,
            unit: "KiB",
        },
    ]
}
