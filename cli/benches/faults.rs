//! The time that a device costs a run when the device stops working: `cargo xtask bench faults`.
//!
//! 160 tests on PoCL, each with a context, under the layer of the fault tests. With all contexts in
//! order, probes and leaving workers may take 2 % of the time. If each context hangs from the 41st on, one
//! test and two probes wait for their limits. If each fails or crashes, nothing waits. Each figure has a limit; a
//! limit that is missed makes the exit status 1.
//!
//! This executable is the benchmark when cargo calls it with `--bench`, and by the variable
//! `CLMATRIX_BENCH` the command line that is timed.

#[path = "common/figure.rs"]
mod figure;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clmatrix_harness::{CtxFactory, ctx_factory};
use clmatrix_runner::target::Target;
use figure::Figure;
use rstest::rstest;
use serde_json::Value;

const TARGET: Target =
    Target { home: "faults", package: "clmatrix-cli", version: "0", name: "faults", config: None };

/// The tests before the 41st context. The probe before the first test and the worker take one each.
const PASSES: u64 = 38;

/// Makes a process of this executable the command line.
const ROLE: &str = "CLMATRIX_BENCH";

#[rstest]
#[clmatrix_harness::test]
fn makes_a_context(
    ctx_factory: CtxFactory,
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)] _tens: u32,
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] _ones: u32,
) -> clmatrix::Result<()> {
    let context = ctx_factory()?;
    thread::sleep(Duration::from_millis(10));
    drop(context);
    Ok(())
}

fn main() -> ExitCode {
    if std::env::var_os(ROLE).is_some() {
        return clmatrix_cli::main(TARGET);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let layer = folder.path().join("liblayer.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/context_layer.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&layer).arg(source);
    assert!(compiler.status().expect("a C compiler").success(), "{compiler:?}");
    let run = |mode, timeout| run(folder.path(), &layer, mode, timeout);

    let healthy = run("hang", None);
    assert_eq!(healthy.passed, 160, "PoCL is there, and its contexts are in order");
    let [short, long] = ["5s", "60s"].map(|timeout| run("hang", Some(timeout)));
    assert_eq!((short.passed, long.passed), (PASSES, PASSES), "of the 41st context on, all hang");
    let [error, crash] = ["error", "crash"].map(|mode| run(mode, Some("60s")));
    assert_eq!(
        (error.passed, crash.passed),
        (PASSES, PASSES),
        "of the 41st context on, all go wrong"
    );
    figure::report(&[
        Figure {
            what: "no fault: probes and leaving, of the time of the run",
            measured: 100.0 * healthy.probes.as_secs_f64() / healthy.time.as_secs_f64(),
            limit: 2.0,
            unit: "%",
        },
        Figure {
            what: "contexts hang from the 41st on, limit of a test 5 s",
            measured: short.time.as_secs_f64(),
            limit: 35.0,
            unit: "s",
        },
        Figure {
            what: "contexts hang from the 41st on, limit of a test 60 s",
            measured: long.time.as_secs_f64(),
            limit: 90.0,
            unit: "s",
        },
        Figure {
            what: "contexts fail from the 41st on",
            measured: error.time.as_secs_f64(),
            limit: 90.0,
            unit: "s",
        },
        Figure {
            what: "contexts crash from the 41st on",
            measured: crash.time.as_secs_f64(),
            limit: 90.0,
            unit: "s",
        },
    ])
}

/// A run that has ended.
struct Ended {
    time: Duration,
    passed: u64,
    probes: Duration,
}

/// Runs the tests. With a limit of a test, contexts go wrong from the 41st on.
fn run(folder: &Path, layer: &Path, mode: &str, timeout: Option<&str>) -> Ended {
    let count = folder.join("count");
    // The first run has none.
    let _ = std::fs::remove_file(&count);
    let mut command = Command::new(std::env::current_exe().expect("this executable has a path"));
    command.env(ROLE, "").args(["run", "--format", "json", "--devices", "pocl", "--report-dir"]);
    command.arg(folder).args(["--slots", "1"]).env("CLMATRIX_CACHE", "0");
    command.env("OPENCL_LAYERS", layer).env("FAULTS_COUNT", count);
    command.env("FAULTS_MODE", mode).env("FAULTS_CONTEXTS", "1000000-1000000");
    if let Some(timeout) = timeout {
        command.args(["--timeout", timeout]).env("FAULTS_CONTEXTS", "41-1000000");
    }
    let begin = Instant::now();
    let output = command.stderr(Stdio::null()).output().expect("the command starts");
    let time = begin.elapsed();
    let mut ended = Ended { time, passed: 0, probes: Duration::ZERO };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let event: Value = serde_json::from_str(line).expect("an event");
        match event["event"].as_str() {
            Some("finished") if event["verdict"] == "pass" => ended.passed += 1,
            Some("probed") => {
                let duration = event["duration_ns"].as_u64().unwrap_or_default();
                ended.probes += Duration::from_nanos(duration);
            }
            _ => {}
        }
    }
    ended
}
