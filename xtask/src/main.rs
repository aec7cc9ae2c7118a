//! `cargo xtask`: gets OpenCL devices onto a machine and runs the tests on them.
//!
//! Nobody has to set a variable by hand: [`environment`] decides which devices to use, [`embedded`]
//! and [`ci_matrix`] put them in place, and each command below hands the variables to the program
//! that it then becomes. All that is fetched lies in `opencl/` in cargo's target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};

mod apt;
mod cargo_test;
mod ci_embedded;
mod ci_matrix;
mod embedded;
mod environment;
mod files;
mod oracle;
mod process;
mod sanitize;
mod valgrind;
mod vendors;
mod wheels;
mod workspace;

use environment::{Environment, Facts, Source, Wish, choose};
use workspace::Workspace;

/// Gets OpenCL devices onto a machine and runs the tests on them
///
/// Commands that need devices take, in this order: what your own OCL_ICD_VENDORS,
/// OCL_ICD_FILENAMES or OPENCL_DYLIB_PATH name; the CI matrix, if `provision` was run or
/// CLMATRIX_PROFILE=ci demands it; the devices that this machine has; else a CPU device (PoCL) that
/// is fetched from PyPI without root. Whatever is fetched lies in target/opencl; `cargo clean`
/// removes it.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the built-in suites on every device: `clmatrix run`
    ///
    /// Builds the `clmatrix` binary, makes sure that there is a device, and runs `clmatrix run` in
    /// the root of the workspace. The exit status is that of `clmatrix run`.
    #[command(after_help = MATRIX_EXAMPLES)]
    Matrix {
        #[command(flatten)]
        devices: Devices,
        /// Arguments of `clmatrix run`
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// Run all tests, from unit tests to the device matrix: `cargo test --workspace`
    ///
    /// Makes sure that there is a device, then runs `cargo test --workspace --no-fail-fast` in the
    /// root of the workspace; without `--workspace` if the arguments choose packages. Without
    /// arguments, `loom` comes first. All tests run even if some fail, and the last lines name what
    /// failed. The exit status is that of `cargo test`, and 1 if only `loom` failed.
    #[command(after_help = TEST_EXAMPLES)]
    Test {
        #[command(flatten)]
        devices: Devices,
        /// Arguments of `cargo test`
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// Run the built-in suites on PoCL under AddressSanitizer and LeakSanitizer
    ///
    /// Builds the suites instrumented, in target/sanitize, checks that the sanitizers catch
    /// examples/known_bad.rs, and runs `clmatrix run` on PoCL: the CI matrix's, if `provision` was
    /// run, else the one from PyPI. Reports are printed at the end, and lie in
    /// target/sanitize/reports. What a test leaks on purpose is listed in
    /// config/sanitize/lsan.supp. Your own ASAN_OPTIONS and LSAN_OPTIONS are added to ours. The
    /// exit status is that of `clmatrix run`, and 1 if there was a report.
    #[command(after_help = SANITIZE_EXAMPLES)]
    Sanitize {
        /// Fetch nothing: without PoCL, fail and say what to do
        #[arg(long)]
        no_provision: bool,
        /// Arguments of `clmatrix run`
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// Try every order in which threads can get in each other's way, with loom
    ///
    /// Builds the library's tests with `--cfg loom`, in target/loom. No device is needed. `test`
    /// without arguments does this, too.
    Loom,
    /// Compare the library's answers about devices with PyOpenCL's
    ///
    /// Installs PyOpenCL from PyPI into target/oracle, asks it and the library to characterize every
    /// device that is here and some thousand that are made up, and prints each difference. The exit
    /// status is 1 if there is one.
    #[command(after_help = ORACLE_EXAMPLES)]
    Oracle {
        #[command(flatten)]
        devices: Devices,
        /// Write PyOpenCL's answers into this folder
        #[arg(long, value_name = "FOLDER")]
        record: Option<PathBuf>,
    },
    /// Install the four OpenCL runtimes that CI tests on (Debian or Ubuntu; root or sudo)
    ///
    /// PoCL, rusticl on llvmpipe and Oclgrind are installed as packages, Intel's CPU runtime from
    /// PyPI into target/opencl. What is there already is left alone. From then on, `matrix`,
    /// `test`, `env` and `bench` use these four, and `sanitize` uses PoCL. The expectations are for
    /// Debian 12: where a release has another version of a runtime, or none, that is pointed out.
    /// Valgrind is installed as well.
    Provision,
    /// Run `matrix` and `test` on the embedded default alone, as on a machine without OpenCL
    ///
    /// The machine's loader and drivers, the CI matrix and your own variables about OpenCL and
    /// clmatrix are hidden from both. Prints how large cargo's target folder is then, and fails if
    /// it is larger than 2 GB.
    CiEmbedded,
    /// Print the variables that show the devices to other programs
    ///
    /// Prints nothing where nothing needs to be set. Like `matrix`, it first makes sure that there
    /// is a device, and says so on standard error.
    #[command(after_help = ENV_EXAMPLES)]
    Env {
        #[command(flatten)]
        devices: Devices,
        /// How to print the variables
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Run a benchmark with devices: `cargo bench`
    Bench {
        /// Which one
        #[arg(value_enum)]
        benchmark: Benchmark,
        #[command(flatten)]
        devices: Devices,
        /// Arguments of the benchmark
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
}

const MATRIX_EXAMPLES: &str = "Examples:
  cargo xtask matrix                          everything, on every device
  cargo xtask matrix -- buffer                tests with `buffer` in their names
  cargo xtask matrix -- --help                what `clmatrix run` can do
  cargo xtask matrix --from machine           this machine's own drivers, whatever is provisioned";

const TEST_EXAMPLES: &str = "Examples:
  cargo xtask test                            everything, on every device
  cargo xtask test -- --package clmatrix      one package
  cargo xtask test -- -- buffer               tests with `buffer` in their names";

const SANITIZE_EXAMPLES: &str = "Examples:
  cargo xtask sanitize                        everything
  cargo xtask sanitize -- buffer              tests with `buffer` in their names";

const ORACLE_EXAMPLES: &str = "Examples:
  cargo xtask oracle                          on every device
  cargo xtask oracle --record suites/src/characterize/recorded
                                              for the suite `characterize`";

const ENV_EXAMPLES: &str = "Examples:
  eval \"$(cargo xtask env)\"                   then `cargo test --workspace` by hand
  cargo xtask env --format json               one object; null stands for a variable to unset";

#[derive(Args)]
struct Devices {
    /// Where devices come from
    #[arg(long = "from", value_enum, value_name = "SOURCE", default_value_t)]
    wish: Wish,
    /// Fetch nothing: without a device, fail and say what to do
    #[arg(long)]
    no_provision: bool,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    /// Commands for a POSIX shell
    #[default]
    Sh,
    /// A JSON object
    Json,
}

/// The benchmarks. Each variant's comment is its line in `--help`.
#[derive(Clone, Copy, ValueEnum)]
enum Benchmark {
    /// What the harness adds to the time of a test
    Harness,
    /// What safe calls cost beside the same calls of cl3
    Memory,
    /// What memory from a pool costs, beside PyOpenCL's algorithm and beside the driver
    Pool,
    /// How well measurements of a device repeat, and how long they take
    Characterize,
}

impl Benchmark {
    /// The package and the bench target.
    fn target(self) -> (&'static str, &'static str) {
        match self {
            Self::Harness => ("clmatrix-harness", "overhead"),
            Self::Memory => ("clmatrix", "memory"),
            Self::Pool => ("clmatrix", "pool"),
            Self::Characterize => ("clmatrix", "characterize"),
        }
    }
}

fn main() -> ExitCode {
    match dispatch(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  caused by: {cause}");
            }
            // As of a run that could not be made: 1 is for one in which something was not as expected.
            ExitCode::from(2)
        }
    }
}

fn dispatch(task: Task) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    let done = match task {
        Task::Matrix { devices, arguments } => matrix(&workspace, &devices, &arguments),
        Task::Test { devices, arguments } => return test(&workspace, &devices, &arguments),
        Task::Loom => process::run(&mut cargo_test::loom(&workspace)),
        Task::CiEmbedded => return ci_embedded::run(&workspace),
        Task::Provision => ci_matrix::provision(&workspace.runtimes),
        Task::Env { devices, format } => print_environment(&workspace, &devices, format),
        Task::Bench { benchmark, devices, arguments } => {
            bench(&workspace, benchmark, &devices, &arguments)
        }
        Task::Oracle { devices, record } => {
            return oracle(&workspace, &devices, record.as_deref());
        }
        Task::Sanitize { no_provision, arguments } => {
            return sanitize(&workspace, no_provision, &arguments);
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}

fn matrix(workspace: &Workspace, devices: &Devices, arguments: &[String]) -> Result<()> {
    let clmatrix = workspace.build_clmatrix()?;
    let environment = set_up(workspace, devices, || Ok(clmatrix.clone()))?;
    let mut run = Command::new(clmatrix);
    run.current_dir(&workspace.root).arg("run").args(arguments);
    run.env("CLMATRIX_RERUN", rerun_prefix(devices.wish));
    environment.apply(&mut run);
    Err(process::exec(run))
}

/// What `clmatrix` puts before its arguments when it says how to run a failed test again.
fn rerun_prefix(wish: Wish) -> String {
    match wish.to_possible_value() {
        Some(value) if wish != Wish::Auto => {
            format!("cargo xtask matrix --from {} --", value.get_name())
        }
        _ => "cargo xtask matrix --".to_owned(),
    }
}

fn test(workspace: &Workspace, devices: &Devices, arguments: &[String]) -> Result<ExitCode> {
    let environment = set_up(workspace, devices, || workspace.build_clmatrix())?;
    cargo_test::run(workspace, &environment, arguments)
}

fn sanitize(workspace: &Workspace, no_provision: bool, arguments: &[String]) -> Result<ExitCode> {
    let environment = match ci_matrix::pocl_environment(&workspace.runtimes) {
        Some(environment) => environment,
        None => embedded_environment(workspace, no_provision)?,
    };
    sanitize::run(workspace, &environment, arguments)
}

fn oracle(workspace: &Workspace, devices: &Devices, record: Option<&Path>) -> Result<ExitCode> {
    let environment = set_up(workspace, devices, || workspace.build_clmatrix())?;
    let differences = oracle::run(workspace, &environment, record)?;
    for line in &differences {
        println!("{line}");
    }
    Ok(ExitCode::from(u8::from(!differences.is_empty())))
}

fn print_environment(workspace: &Workspace, devices: &Devices, format: Format) -> Result<()> {
    let environment = set_up(workspace, devices, || workspace.build_clmatrix())?;
    match format {
        Format::Sh => print!("{}", environment.to_shell()),
        Format::Json => println!("{:#}", environment.to_json()),
    }
    Ok(())
}

fn bench(
    workspace: &Workspace,
    benchmark: Benchmark,
    devices: &Devices,
    arguments: &[String],
) -> Result<()> {
    let environment = set_up(workspace, devices, || workspace.build_clmatrix())?;
    let (package, target) = benchmark.target();
    let mut bench = workspace.cargo();
    bench.args(["bench", "--package", package, "--bench", target, "--"]).args(arguments);
    environment.apply(&mut bench);
    Err(process::exec(bench))
}

/// Chooses the devices, puts them in place, and returns the variables that show them.
///
/// `clmatrix` returns the path of the binary; it is called only if the machine's devices matter.
fn set_up(
    workspace: &Workspace,
    devices: &Devices,
    clmatrix: impl FnOnce() -> Result<PathBuf>,
) -> Result<Environment> {
    let runtimes = &workspace.runtimes;
    let machine = Environment::machine(runtimes);
    let facts = Facts::gather(runtimes, ci_matrix::is_provisioned(runtimes));
    let machine_has_device = || workspace::sees_device(&clmatrix()?, &machine);
    match choose(devices.wish, &facts, machine_has_device)? {
        Source::Machine => Ok(machine),
        Source::Ci => ci_matrix::environment(runtimes),
        Source::Embedded => embedded_environment(workspace, devices.no_provision),
    }
}

fn embedded_environment(workspace: &Workspace, no_provision: bool) -> Result<Environment> {
    let runtimes = &workspace.runtimes;
    ensure!(embedded::is_ready(runtimes) || !no_provision, FORBIDDEN);
    embedded::provision(runtimes)?;
    embedded::environment(runtimes)
}

const FORBIDDEN: &str = "an OpenCL device would have to be fetched, and --no-provision forbids it.
Run without --no-provision: a CPU device is put into cargo's target folder, without root (59 MB);
or install a driver (Debian, Ubuntu: `apt-get install pocl-opencl-icd ocl-icd-libopencl1`);
or point OCL_ICD_VENDORS at a folder of .icd files, or OPENCL_DYLIB_PATH at an OpenCL library";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_after_two_dashes_are_passed_on() {
        let line = "xtask test --no-provision -- --release -- x";
        let cli = Cli::parse_from(line.split(' '));
        let Task::Test { devices, arguments } = cli.command else { panic!("not `test`") };
        assert!(devices.no_provision);
        assert_eq!(arguments, ["--release", "--", "x"]);
    }

    #[test]
    fn a_rerun_takes_its_devices_from_the_same_place() {
        assert_eq!(rerun_prefix(Wish::Auto), "cargo xtask matrix --");
        let embedded = rerun_prefix(Wish::Embedded);
        assert_eq!(embedded, "cargo xtask matrix --from embedded --");
    }
}
