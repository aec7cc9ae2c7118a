//! The cost of isolation: `cargo xtask bench harness`.
//!
//! 500 trivial tests (context, queue, one buffer) on one device, run through the worker of this
//! harness, in one process without it, and by `cargo nextest`; the listing of a large plan; and the
//! expectations of this repository, which the other figures do without. Each figure has a
//! limit; a limit that is missed makes the exit status 1.
//!
//! Two parts of the time are no overhead of the harness. A worker is idle for a moment before it ends, so
//! that a crash in that time is seen. A request to a sleeping thread and its answer take their time, whatever
//! the threads do: two threads that only exchange bytes show that time.
//!
//! This executable is the benchmark when cargo calls it with `--bench`, a target with 500 tests
//! when anyone else does, and by the variable `CLMATRIX_BENCH` one of the things that are timed.

#[path = "common/figure.rs"]
mod figure;
#[path = "common/simulated_device.rs"]
mod simulated_device;
#[path = "common/usage.rs"]
mod usage;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser as _;
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::select::{Selection, platforms};
use clmatrix::{CommandQueue, Context, Device};
use clmatrix_harness::{CtxFactory, ctx_factory};
use clmatrix_runner::cargo_test;
use clmatrix_runner::case::Case;
use clmatrix_runner::registry::{Ignore, ShouldPanic, Test};
use clmatrix_runner::setup::{Options, Setup};
use clmatrix_runner::target::Target;
use clmatrix_runner::worker::child::LAST_MOMENT;
use figure::Figure;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rstest::rstest;
use simulated_device::simulated_device;
use usage::Usage;

const TARGET: Target = Target {
    home: "overhead",
    package: "clmatrix-cli",
    version: "0",
    name: "overhead",
    config: None,
};

/// Makes a process of this executable one of the things that are timed.
const ROLE: &str = "CLMATRIX_BENCH";
/// How many tests `in-process` runs, if not all.
const TESTS_VARIABLE: &str = "CLMATRIX_BENCH_TESTS";
const TESTS: usize = 500;
const RUNS: usize = 30;
/// The configuration of this repository. Its expectations lie beside it.
const EXPECTATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/clmatrix.toml");
/// The work of a bare request: about that of a worker for a trivial test.
const WORK: Duration = Duration::from_micros(100);

#[rstest]
#[clmatrix_harness::test]
fn trivial(
    ctx_factory: CtxFactory,
    #[values(0, 1, 2, 3, 4)] _hundreds: u32,
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] _tens: u32,
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] _ones: u32,
) {
    use_a_buffer(&ctx_factory().expect("a context"));
}

fn use_a_buffer(context: &Context) {
    let _queue = CommandQueue::new(context).expect("a queue");
    let _buffer = Buffer::new(context, MemFlags::READ_WRITE, 4096).expect("a buffer");
}

fn main() -> ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok("in-process") => return run_in_process(),
        Ok("list") => return list_a_large_plan(),
        _ => {}
    }
    if std::env::args().any(|argument| argument == "--bench") {
        benchmark()
    } else {
        cargo_test::main(TARGET)
    }
}

/// The same tests under libtest-mimic alone.
fn run_in_process() -> ExitCode {
    let device = chosen_device();
    let tests = std::env::var(TESTS_VARIABLE).map_or(TESTS, |n| n.parse().expect("a number"));
    let trials = (0..tests).map(|number| {
        let device = device.clone();
        libtest_mimic::Trial::test(format!("trivial_{number}"), move || {
            use_a_buffer(&Context::new([&device])?);
            Ok(())
        })
    });
    let arguments =
        libtest_mimic::Arguments { test_threads: Some(1), ..libtest_mimic::Arguments::default() };
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Returns the devices of CLMATRIX_TEST, else PoCL.
fn chosen() -> String {
    std::env::var("CLMATRIX_TEST").unwrap_or_else(|_| "Portable Computing Language".to_owned())
}

fn chosen_device() -> Device {
    let platforms = platforms().expect("platforms");
    let infos: Vec<_> = platforms.iter().map(|platform| platform.info.clone()).collect();
    let found =
        Selection::parse_clmatrix(&chosen()).and_then(|selection| selection.resolve(&infos));
    let (platform, device) = found.expect("a device")[0];
    platforms[platform].devices[device].clone()
}

/// 10,000 tests on 100 devices that do not exist, listed as `--list` does.
fn list_a_large_plan() -> ExitCode {
    let tests: Vec<Case> = (0..10_000)
        .map(|number| {
            let name: &'static str = Box::leak(format!("case_{number:05}").into_boxed_str());
            Case::Registered(Box::leak(Box::new(Test {
                module: "overhead::a_suite_of_many_tests",
                name,
                file: file!(),
                line: line!(),
                run: || Ok(()),
                ignore: Ignore::No,
                should_panic: ShouldPanic::No,
                once: false,
                alone: false,
                fresh_context: false,
                own_worker: false,
                requires: &[],
                timeout: None,
            })))
        })
        .collect();
    let devices = (0..100).map(simulated_device).collect();
    let command_line = cargo_test::CommandLine::parse_from(["overhead", "--list"]);
    cargo_test::list(
        &command_line.plan("overhead", &tests, devices, None),
        std::io::stdout().lock(),
    )
    .expect("the list can be printed");
    eprintln!("{}", Usage::now().memory);
    ExitCode::SUCCESS
}

fn benchmark() -> ExitCode {
    // The device of the isolated runs, and the environment in which a process sees its driver alone.
    let options = Options { devices: Some(chosen()), ..Options::default() };
    let setup = Setup::new(options).unwrap_or_else(|error| panic!("{error}"));
    let device = setup.devices().unwrap_or_else(|error| panic!("{error}")).swap_remove(0);
    let state = std::env::temp_dir().join(format!("clmatrix-bench-{}", std::process::id()));
    let one_driver = device.driver.environment(&state).expect("a private vendors folder");
    let no_expectations = state.join("clmatrix.toml");
    std::fs::create_dir_all(&state).expect("a folder for temporary files");
    std::fs::write(&no_expectations, "").expect("the folder can be written");
    let id = format!("trivial::_hundreds_1_0::_tens_01_0::_ones_01_0@{}", device.run.id);
    println!("{TESTS} tests on {} ({})", device.run.id, device.run.info.driver_version);

    let choose = |command: &mut Command| {
        command.env("CLMATRIX_TEST", &device.run.platform.name);
        command.env("CLMATRIX_CONFIG", &no_expectations);
    };
    let isolated = || {
        let mut command = this_executable(&["-q"]);
        choose(&mut command);
        command
    };
    let in_process = |one: bool| {
        let mut command = this_executable(&[]);
        command.env(ROLE, "in-process");
        choose(&mut command);
        if one {
            for (name, value) in &one_driver {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
        }
        command
    };
    let under_nextest = || {
        let mut command = this_executable(&["--exact", &id, "--nocapture"]);
        command.env("NEXTEST", "1");
        choose(&mut command);
        command
    };
    let loads_one_driver = || {
        let mut command = in_process(true);
        command.env(TESTS_VARIABLE, "1");
        command
    };

    let idle = LAST_MOMENT.as_secs_f64() * 1000.0;
    let with_expectations = || {
        let mut command = under_nextest();
        command.env("CLMATRIX_CONFIG", EXPECTATIONS);
        command
    };
    let [isolated, all_drivers, one_driver, exact, start, with_expectations, exchange] = fastest([
        &|| wall_time(isolated()),
        &|| wall_time(in_process(false)),
        &|| wall_time(in_process(true)),
        &|| wall_time(under_nextest()),
        &|| wall_time(loads_one_driver()),
        &|| wall_time(with_expectations()),
        &exchange,
    ]);
    let nextest = nextest(&device.run.platform.name, &no_expectations);
    let _ = std::fs::remove_dir_all(&state);
    let (list, list_memory) = list();
    println!("a bare request and its answer take {exchange:.3} ms");
    let mut figures = vec![
        Figure {
            what: "isolated, against in process with all drivers",
            measured: isolated,
            limit: all_drivers,
            unit: "ms",
        },
        Figure {
            what: "isolation of one more test, over in process with one driver",
            measured: ((isolated - exact) - (one_driver - start)) / (TESTS - 1) as f64,
            limit: 0.1 + exchange,
            unit: "ms",
        },
        Figure {
            what: "one test as nextest runs it, over one start of the driver",
            measured: exact - idle - start,
            limit: 10.0,
            unit: "ms",
        },
        Figure {
            what: "the expectations of this repository in such a test",
            measured: with_expectations - exact,
            limit: 10.0,
            unit: "ms",
        },
        Figure {
            what: "listing 10,000 tests x 100 devices",
            measured: list,
            limit: 1000.0,
            unit: "ms",
        },
        Figure { what: "memory of that listing", measured: list_memory, limit: 300.0, unit: "MB" },
    ];
    match nextest {
        Some(nextest) => figures.insert(
            2,
            Figure {
                what: "isolated, against a twentieth of cargo nextest run",
                measured: isolated,
                limit: nextest / 20.0,
                unit: "ms",
            },
        ),
        None => println!("cargo-nextest is not installed: not compared with it"),
    }
    figure::report(&figures)
}

fn this_executable(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this executable has a path"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Each time in the run that the machine disturbed least. The runs of all take turns, since the speed of a
/// machine changes from minute to minute.
fn fastest<const N: usize>(times: [&dyn Fn() -> f64; N]) -> [f64; N] {
    let mut fastest = [f64::INFINITY; N];
    for _ in 0..RUNS {
        for (fastest, time) in fastest.iter_mut().zip(times) {
            *fastest = fastest.min(time());
        }
    }
    fastest
}

/// The wall time of a process in milliseconds.
fn wall_time(mut command: Command) -> f64 {
    let begin = Instant::now();
    let status = command.status().expect("the process starts");
    assert!(status.success(), "{command:?}: {status}");
    begin.elapsed().as_secs_f64() * 1000.0
}

/// The time in milliseconds of a request to another thread and its answer, over a socket, without the work between
/// them. Each thread sleeps while it waits for the other one.
fn exchange() -> f64 {
    let (mut runner, mut worker) = UnixStream::pair().expect("two sockets");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut request = [0; 100];
            while read(&mut worker, &mut request).is_ok() {
                let begin = Instant::now();
                while begin.elapsed() < WORK {}
                worker.write_all(&request).expect("the runner reads");
            }
        });
        let mut answer = [0; 100];
        let begin = Instant::now();
        for _ in 0..TESTS {
            runner.write_all(&answer).expect("the worker reads");
            read(&mut runner, &mut answer).expect("the worker answers");
        }
        // The worker's `read` ends with an error.
        drop(runner);
        (begin.elapsed() / TESTS as u32).saturating_sub(WORK).as_secs_f64() * 1000.0
    })
}

/// Waits in `poll`, as runner and worker do, and reads.
fn read(socket: &mut UnixStream, bytes: &mut [u8]) -> std::io::Result<()> {
    poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE)?;
    socket.read_exact(bytes)
}

/// Wall time in milliseconds and peak memory in MB of listing the large plan.
fn list() -> (f64, f64) {
    let mut command = this_executable(&[]);
    command.env(ROLE, "list").stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let output = command.output().expect("the process starts");
    let time = begin.elapsed().as_secs_f64() * 1000.0;
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 1_000_000);
    let megabytes = String::from_utf8_lossy(&output.stderr).trim().parse().expect("a number");
    (time, megabytes)
}

/// Measures `cargo nextest run` on the same tests, in milliseconds, if it is installed.
fn nextest(platform: &str, config: &Path) -> Option<f64> {
    let output = Command::new(env!("CARGO"))
        .args(["nextest", "run", "--release", "-p", "clmatrix-cli", "--bench", "overhead"])
        .env("CLMATRIX_TEST", platform)
        .env("CLMATRIX_CONFIG", config)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("no such command") {
        return None;
    }
    assert!(output.status.success(), "{text}");
    let summary = text.lines().find(|line| line.trim_start().starts_with("Summary"))?;
    let seconds = summary.split('[').nth(1)?.split('s').next()?.trim();
    seconds.parse::<f64>().ok().map(|seconds| seconds * 1000.0)
}
