//! The time that the suites take on GPUs: `cargo xtask bench gpu`.
//!
//! All suites on the first GPU alone and on all GPUs at once, and a test that makes a context, a queue and a
//! buffer, which reuses its context. Each figure has a limit; a limit that is missed makes the exit status 1.
//! `--icd` and `--devices` are those of `clmatrix run`; `--devices` may choose other devices than GPUs.
//!
//! This executable is the benchmark when cargo calls it with `--bench`, and else the command line that is timed.

#[path = "common/figure.rs"]
mod figure;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::Parser;
use clmatrix::CommandQueue;
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix_harness::CtxFactory;
use clmatrix_runner::setup::{Options, Setup};
use clmatrix_runner::target::Target;
// Registers the suites.
use clmatrix_suites as _;
use figure::Figure;

const TARGET: Target = Target {
    home: "clmatrix_suites",
    package: "clmatrix-cli",
    version: "0",
    name: "gpu",
    config: None,
};

/// The rounds of the test that is timed.
const ROUNDS: u32 = 2000;
/// The seconds that all suites may take on one GPU.
const LONGEST: f64 = 35.0;
/// The part of its speed alone that each GPU must keep beside others. Drivers make the contexts of all GPUs one
/// after another.
const KEPT: f64 = 1.0 / 1.3;

#[derive(Parser)]
struct Arguments {
    /// Adds a driver: its library or an .icd file
    #[arg(long)]
    icd: Vec<PathBuf>,
    /// Selects devices, as `clmatrix run --devices` does
    #[arg(long, default_value = "*:*gpu*")]
    devices: String,
    /// Writes the reports of the runs to this folder
    #[arg(long, default_value = "target/bench-gpu")]
    report_dir: PathBuf,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

#[clmatrix_harness::test]
fn context_queue_and_buffer(ctx_factory: CtxFactory) -> clmatrix::Result<()> {
    let context = ctx_factory()?;
    let _queue = CommandQueue::new(&context)?;
    let _buffer = Buffer::new(&context, MemFlags::READ_WRITE, 4096)?;
    Ok(())
}

fn main() -> ExitCode {
    if !std::env::args_os().any(|argument| argument == "--bench") {
        return clmatrix_cli::main(TARGET);
    }
    let arguments = Arguments::parse();
    let options = Options {
        devices: Some(arguments.devices.clone()),
        icd: arguments.icd.clone(),
        ..Options::default()
    };
    let devices = Setup::new(options).and_then(|setup| setup.devices());
    let devices = devices.unwrap_or_else(|error| panic!("{error}"));
    let first = &devices[0].run;
    println!("{} devices; the first is {} ({})", devices.len(), first.id, first.info.name);

    let test = format!("gpu::context_queue_and_buffer@{}", first.id);
    let rounds = ROUNDS.to_string();
    // With the start of the run.
    let all_rounds = seconds(&arguments, &[&test, "--contexts", "reuse", "--repeat", &rounds]);
    let alone = seconds(&arguments, &[&format!("*@{}", first.id)]);
    let mut figures = vec![
        Figure {
            what: "a test with context, queue and buffer",
            measured: all_rounds * 1000.0 / f64::from(ROUNDS),
            limit: 2.0,
            unit: "ms",
        },
        Figure { what: "all suites on one GPU", measured: alone, limit: LONGEST, unit: "s" },
    ];
    if devices.len() > 1 {
        figures.push(Figure {
            what: "all suites on all GPUs at once",
            measured: seconds(&arguments, &[]),
            limit: alone / KEPT,
            unit: "s",
        });
    }
    figure::report(&figures)
}

/// Returns the wall time of `clmatrix run` with these arguments.
fn seconds(arguments: &Arguments, more: &[&str]) -> f64 {
    let mut command = Command::new(std::env::current_exe().expect("this executable has a path"));
    command.arg("run").args(["--devices", &arguments.devices]);
    for icd in &arguments.icd {
        command.arg("--icd").arg(icd);
    }
    command.arg("--report-dir").arg(&arguments.report_dir).args(more).stdin(Stdio::null());
    let begin = Instant::now();
    let status = command.status().expect("the process starts");
    let took = begin.elapsed().as_secs_f64();
    // Unexpected results are shown, and do not change the time.
    assert!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}");
    took
}
