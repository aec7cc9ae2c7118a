//! `cargo xtask`: provides OpenCL devices and runs the tests on them.
//!
//! No variable has to be set by hand: [`environment`] selects the devices, `provision` of the harness
//! and [`ci_matrix`] install them, and each command passes the variables to the program that it starts.
//! All downloads are in `opencl/` in cargo's target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clmatrix_runner::provision::environment::Format;
use clmatrix_runner::provision::{Environment, Runtime};

mod apt;
mod build_bench;
mod cargo_test;
mod ci_embedded;
mod ci_matrix;
mod cts;
mod embedded;
mod environment;
mod files;
mod oracle;
mod page;
mod process;
mod progress;
mod root;
mod sanitize;
mod schema;
mod skipped;
mod slurm;
mod stress;
mod tried;
mod venv;
mod windows;
mod workflows;
mod workspace;

use environment::{Facts, Source, Wish, choose};
use root::Root;
use workspace::Workspace;

/// Provides OpenCL devices and runs the tests on them
///
/// Commands that need devices use the first of: the drivers that OCL_ICD_VENDORS,
/// OCL_ICD_FILENAMES or OPENCL_DYLIB_PATH name; the CI matrix, if `provision` was run or
/// CLMATRIX_PROFILE is `ci`; the devices of this machine; a CPU device that is downloaded from PyPI
/// without root: PoCL, or Intel's CPU runtime where PoCL does not work. Downloads are in
/// target/opencl; `cargo clean` removes them.
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
    /// Builds the `clmatrix` binary, provides a device if there is none, and runs `clmatrix run` in
    /// the root of the workspace. The exit status is that of `clmatrix run`.
    #[command(after_help = MATRIX_EXAMPLES)]
    Matrix {
        #[command(flatten)]
        devices: Devices,
        /// Run on the drivers of another release, in the root that `provision --root` has made: the optimized
        /// binary, with the configuration and the report folder of this checkout (Linux; root)
        #[arg(long, value_enum, value_name = "RELEASE", conflicts_with_all = ["wish", "no_provision", "driver"])]
        root: Option<Root>,
        /// Arguments of `clmatrix run`
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// Run all tests, from unit tests to the device matrix: `cargo test --workspace`
    ///
    /// Provides a device if there is none, then runs `cargo test --workspace --no-fail-fast` in the
    /// root of the workspace; without `--workspace` if the arguments choose packages. If they do not, probes
    /// the devices first, and starts no test if none of them works. All tests run even if some fail, and the
    /// last lines name what failed. Says what runs at least every 10 s. The exit status is that of `cargo test`.
    #[command(after_help = TEST_EXAMPLES)]
    Test {
        #[command(flatten)]
        devices: Devices,
        /// Run the tests that are left out without this option, and no others: planted faults, code that must not
        /// compile, packages outside of the workspace
        #[arg(long, conflicts_with = "arguments")]
        slow: bool,
        /// Arguments of `cargo test`
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// Run the built-in suites on PoCL under AddressSanitizer and LeakSanitizer
    ///
    /// Builds the suites instrumented, in target/sanitize, checks that the sanitizers catch
    /// examples/known_bad.rs, and runs `clmatrix run` on PoCL: that of the CI matrix, if `provision`
    /// was run, else that from PyPI. Prints the sanitizers' reports at the end and keeps them in
    /// target/sanitize/reports. config/sanitize/lsan.supp lists intended leaks. ASAN_OPTIONS and
    /// LSAN_OPTIONS of the environment are added to the built-in options. The exit status is that
    /// of `clmatrix run`, and 1 if there is a report.
    #[command(after_help = SANITIZE_EXAMPLES)]
    Sanitize {
        /// Download nothing: without PoCL, fail with advice
        #[arg(long)]
        no_provision: bool,
        /// Arguments of `clmatrix run`
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// Run random commands of several threads on every device: the suite `stress`
    ///
    /// A seed determines the commands of each thread. A run that fails prints its seed and the last
    /// commands of the threads, and ends this command. The exit status is that of `clmatrix run`.
    #[command(after_help = STRESS_EXAMPLES)]
    Stress {
        #[command(flatten)]
        devices: Devices,
        #[command(flatten)]
        options: stress::Options,
    },
    /// Build groups of the OpenCL conformance test suite and run them on every device
    ///
    /// config/cts.toml names the groups. The build needs cmake and a C++ compiler and takes a few minutes. Runs
    /// `clmatrix run`, then each program by itself, and prints the results that differ. All results are in
    /// target/cts/results.md. The exit status is that of `clmatrix run`, and 1 if results differ.
    #[command(after_help = CTS_EXAMPLES)]
    Cts {
        #[command(flatten)]
        devices: Devices,
        #[command(flatten)]
        options: cts::Options,
    },
    /// Compare the library's answers about devices with PyOpenCL's
    ///
    /// Installs PyOpenCL from PyPI into target/oracle, characterizes every device of this machine and
    /// some thousand synthetic ones with both, and prints each difference. The exit status is 1 if
    /// there is one.
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
    /// PyPI into target/opencl. Runtimes that are installed already are kept. From then on, `matrix`,
    /// `test`, `env` and `bench` use these four, and `sanitize` uses PoCL. The expectations are for
    /// Debian 12: a warning names each runtime that has another version or is missing in the
    /// release.
    Provision {
        /// Make a root of another release with its drivers instead, by debootstrap in target/opencl, for
        /// `matrix --root`: 1.7 GB, some minutes (Debian or Ubuntu; root)
        #[arg(long, value_enum, value_name = "RELEASE")]
        root: Option<Root>,
    },
    /// Run `matrix` and `test` on the embedded default alone, as on a machine without OpenCL
    ///
    /// Hides the machine's loader and drivers, the CI matrix, and all variables of OpenCL and
    /// clmatrix from both. Prints the size of cargo's target folder afterwards, and fails if it is
    /// larger than 2 GB without the driver. Runs three suites on Intel's runtime, too, where PoCL is
    /// the embedded default.
    CiEmbedded,
    /// Run the scripts of config/slurm on a Slurm cluster of four nodes (Debian or Ubuntu; root)
    ///
    /// Installs Debian's packages slurm-wlm and munge. Starts the daemons in a temporary folder, on the
    /// loopback interface, without systemd, and ends them with this command. Runs the suites `buffer`
    /// and `fill` on the CI matrix without Slurm and by each script, and fails unless all have the same
    /// results. The reports and the output of daemons and jobs are in target/slurm.
    TestSlurm,
    /// Test the page `report.html` in a browser (Debian or Ubuntu; root or sudo)
    ///
    /// Installs Debian's package chromium-headless-shell, and axe-core from PyPI into target/page. Writes
    /// pages of the logs in cli/tests/logs, compares their texts with the files there, opens every
    /// unexpected result by keys alone, uses the filters, checks the names that assistive programs see and
    /// the rules of axe-core in light and dark, and opens the page of a run whose names and outputs are
    /// hostile and one with curves. The pages are in target/page.
    TestPage {
        /// Write the texts of the pages to cli/tests/logs
        #[arg(long)]
        update: bool,
    },
    /// Check the crates for Windows, macOS and Linux on ARM, and test for Windows under Wine (Debian or Ubuntu; root or sudo)
    ///
    /// Installs Debian's packages gcc-mingw-w64-x86-64 and wine64, and targets by rustup. Runs suites, the faults of
    /// cli/tests/portable and the tests of the downstream example under Wine, on PoCL: that of the CI matrix, if
    /// `provision` was run, else that from PyPI. The prefix of Wine and the reports are in target/wine.
    TestWindows,
    /// Print the variables that give other programs the same devices
    ///
    /// Prints nothing if no variable is needed. Like `matrix`, provides a device if there is none,
    /// with a note on standard error.
    #[command(after_help = ENV_EXAMPLES)]
    Env {
        #[command(flatten)]
        devices: Devices,
        /// How to print the variables
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Write the JSON Schemas of the event log and of the configuration
    ///
    /// They are made from the types of the harness: docs/log.schema.json and config/clmatrix.schema.json.
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema {
        /// Write nothing; fail if a file is out of date
        #[arg(long)]
        check: bool,
        /// Fail if a log is not of a run with this profile
        #[arg(long, requires = "logs")]
        profile: Option<String>,
        /// Also fail if a line of these logs is not valid, or if a run did not come to its end on all devices
        /// that its profile expects
        #[arg(requires = "check", value_name = "LOG")]
        logs: Vec<PathBuf>,
    },
    /// Fail if a test was skipped on every device
    ///
    /// The log is that of a run of all suites on the CI matrix. xtask/src/skipped.rs lists the tests that none of
    /// its devices can run; one that runs after all also fails this command.
    Skipped {
        /// The event log
        log: PathBuf,
    },
    /// Fail if an expectation of another version of a driver counts for a test
    ///
    /// The log is that of a run of all suites on drivers whose versions config/expectations/tried.toml has.
    Tried {
        /// The event log
        log: PathBuf,
    },
    /// Check the workflows in docs/guide/ci.md
    ///
    /// Installs check-jsonschema and a parser of Groovy from PyPI into target/workflows, and checks each
    /// workflow with the schema or the grammar of its system.
    Workflows,
    /// Run a benchmark: `cargo bench`, with devices
    Bench {
        /// The benchmark
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
  cargo xtask matrix -- --help                the options of `clmatrix run`
  cargo xtask matrix --from machine           the machine's own drivers, also after `provision`
  cargo xtask matrix --root trixie            the drivers of Debian 13, after `provision --root trixie`";

const TEST_EXAMPLES: &str = "Examples:
  cargo xtask test                            everything but slow tests, on every device
  cargo xtask test --slow                     the slow tests
  cargo xtask test -- --package clmatrix      one package
  cargo xtask test -- -- buffer               tests with `buffer` in their names";

const SANITIZE_EXAMPLES: &str = "Examples:
  cargo xtask sanitize                        everything
  cargo xtask sanitize -- buffer              tests with `buffer` in their names";

const STRESS_EXAMPLES: &str = "Examples:
  cargo xtask stress --minutes 10             new seeds, on every device
  cargo xtask stress --api --minutes 2        calls of all kinds, also invalid ones
  cargo xtask stress --seed 5 --threads 1 --device 'pocl-*' --trace
                                              one seed again, with each command";

const CTS_EXAMPLES: &str = "Examples:
  cargo xtask cts --source ~/khronos          DIR has OpenCL-CTS, OpenCL-Headers, SPIRV-Headers
  cargo xtask cts --source ~/khronos -- 'cts::buffers::*' --devices 'pocl*'
                                              one group on one device";

const ORACLE_EXAMPLES: &str = "Examples:
  cargo xtask oracle                          on every device
  cargo xtask oracle --record suites/src/characterize/recorded
                                              for the suite `characterize`";

const ENV_EXAMPLES: &str = "Examples:
  eval \"$(cargo xtask env)\"                   then `cargo test --workspace` by hand
  cargo xtask env --format json               one object; null stands for a variable to unset";

const SCHEMA_EXAMPLES: &str = "Examples:
  cargo xtask schema                          after a change of the types of the log or the configuration
  cargo xtask schema --check target/clmatrix/events.jsonl
                                              the files, and the log of the last full `matrix`";

#[derive(Args)]
struct Devices {
    /// Source of the devices
    #[arg(long = "from", value_enum, value_name = "SOURCE", default_value_t)]
    wish: Wish,
    /// Download nothing: without a device, fail with advice
    #[arg(long)]
    no_provision: bool,
    /// The driver of the embedded default: `pocl` or `intel` [default: the first of these that works]
    #[arg(long, value_enum, hide_possible_values = true)]
    driver: Option<Runtime>,
}

/// The benchmarks. Each variant's comment is its line in `--help`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Benchmark {
    /// Time that the harness adds to a test
    Harness,
    /// Time and memory of the harness in runs with up to a million results
    Matrix,
    /// Time and size of `report.html` in a browser, which is installed as by `test-page`
    Page,
    /// Time of a run on a device that stops working
    Faults,
    /// Cost of safe calls, compared with the same calls of cl3
    Memory,
    /// Cost of memory from a pool, compared with PyOpenCL's algorithm and with the driver
    Pool,
    /// Repeatability and duration of the measurements of a device
    Characterize,
    /// Time that the suites take on GPUs, one and all at once
    Gpu,
    /// Crates and processor time that the harness adds to the build of a downstream crate
    Build,
}

impl Benchmark {
    /// The package and the bench target; `None` for [`build_bench`], which needs no device.
    fn target(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Harness => ("clmatrix-cli", "overhead"),
            Self::Matrix => ("clmatrix-cli", "matrix"),
            Self::Page => ("clmatrix-cli", "page"),
            Self::Faults => ("clmatrix-cli", "faults_time"),
            Self::Memory => ("clmatrix", "memory"),
            Self::Pool => ("clmatrix", "pool"),
            Self::Characterize => ("clmatrix-characterize", "repeat"),
            Self::Gpu => ("clmatrix-cli", "gpu"),
            Self::Build => return None,
        })
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
            // The status of a run that could not be made; 1 means an unexpected result.
            ExitCode::from(2)
        }
    }
}

fn dispatch(task: Task) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    let done = match task {
        Task::Matrix { root: Some(root), arguments, .. } => root::run(&workspace, root, &arguments),
        Task::Matrix { devices, root: None, arguments } => matrix(&workspace, &devices, &arguments),
        Task::Test { devices, slow: true, .. } => {
            return test(&workspace, &devices, &cargo_test::SLOW.map(str::to_owned));
        }
        Task::Test { devices, arguments, .. } => return test(&workspace, &devices, &arguments),
        Task::Stress { devices, options } => return stress(&workspace, &devices, &options),
        Task::Cts { devices, options } => return cts(&workspace, &devices, &options),
        Task::CiEmbedded => return ci_embedded::run(&workspace),
        Task::TestSlurm => slurm::run(&workspace),
        Task::TestPage { update } => page::run(&workspace, update),
        Task::TestWindows => windows::run(&workspace, &pocl(&workspace, false)?),
        Task::Provision { root: Some(root) } => root::provision(&workspace, root),
        Task::Provision { root: None } => ci_matrix::provision(&workspace.runtimes),
        Task::Env { devices, format } => print_environment(&workspace, &devices, format),
        Task::Schema { check, profile, logs } => {
            schema::run(&workspace, check, profile.as_deref(), &logs)
        }
        Task::Skipped { log } => skipped::check(&log),
        Task::Tried { log } => tried::check(&workspace, &log),
        Task::Workflows => workflows::check(&workspace),
        Task::Bench { benchmark, devices, arguments } => {
            return bench(&workspace, benchmark, &devices, &arguments);
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
    run.env("CLMATRIX_RERUN", rerun_prefix(devices));
    environment.apply(&mut run);
    Err(process::exec(run))
}

/// The command that `clmatrix` prints before the id of a test to rerun.
fn rerun_prefix(devices: &Devices) -> String {
    let mut command = "cargo xtask matrix".to_owned();
    if devices.wish != Wish::Auto
        && let Some(value) = devices.wish.to_possible_value()
    {
        command += &format!(" --from {}", value.get_name());
    }
    if let Some(driver) = devices.driver {
        command += &format!(" --driver {}", driver.name());
    }
    command + " --"
}

fn test(workspace: &Workspace, devices: &Devices, arguments: &[String]) -> Result<ExitCode> {
    let environment = set_up(workspace, devices, || workspace.build_clmatrix())?;
    if cargo_test::is_of_workspace(arguments) {
        // Otherwise each target would say the same.
        workspace::check_devices(&workspace.build_clmatrix()?, &environment)?;
    }
    cargo_test::run(workspace, &environment, arguments)
}

fn sanitize(workspace: &Workspace, no_provision: bool, arguments: &[String]) -> Result<ExitCode> {
    let environment = pocl(workspace, no_provision)?;
    sanitize::run(workspace, &environment, arguments)
}

/// The PoCL of the CI matrix, or else that from PyPI.
fn pocl(workspace: &Workspace, no_provision: bool) -> Result<Environment> {
    match ci_matrix::pocl_environment(&workspace.runtimes) {
        Some(environment) => Ok(environment),
        None => {
            let clmatrix = workspace.build_clmatrix()?;
            embedded::environment(workspace, &clmatrix, Some(Runtime::Pocl), no_provision)
        }
    }
}

fn stress(workspace: &Workspace, devices: &Devices, options: &stress::Options) -> Result<ExitCode> {
    let clmatrix = workspace.build_clmatrix()?;
    let environment = set_up(workspace, devices, || Ok(clmatrix.clone()))?;
    stress::run(workspace, &clmatrix, &environment, options)
}

fn cts(workspace: &Workspace, devices: &Devices, options: &cts::Options) -> Result<ExitCode> {
    let clmatrix = workspace.build_clmatrix()?;
    let environment = set_up(workspace, devices, || Ok(clmatrix.clone()))?;
    cts::run(workspace, &clmatrix, &environment, options)
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
    print!("{}", environment.to_text(format));
    Ok(())
}

fn bench(
    workspace: &Workspace,
    benchmark: Benchmark,
    devices: &Devices,
    arguments: &[String],
) -> Result<ExitCode> {
    let Some((package, target)) = benchmark.target() else {
        return build_bench::run(workspace);
    };
    let environment = set_up(workspace, devices, || workspace.build_clmatrix())?;
    let mut bench = workspace.cargo();
    bench.args(["bench", "--package", package, "--bench", target]);
    if package == "clmatrix-cli" && benchmark != Benchmark::Gpu {
        // The others have tests of their own.
        bench.args(["--no-default-features", "--features", "clmatrix-runner/default"]);
        bench.args(["--features", "provision,stacks"]);
    }
    bench.arg("--").args(arguments);
    environment.apply(&mut bench);
    if let Benchmark::Page = benchmark {
        bench.env("CLMATRIX_BROWSER", page::install_browser()?);
    }
    Err(process::exec(bench))
}

/// Chooses the devices, puts them in place, and returns the variables that show them.
///
/// `clmatrix` returns the path of the binary; it is called only if the machine's devices or the embedded
/// default matter.
fn set_up(
    workspace: &Workspace,
    devices: &Devices,
    clmatrix: impl Fn() -> Result<PathBuf>,
) -> Result<Environment> {
    let runtimes = &workspace.runtimes;
    let machine = environment::machine(runtimes);
    let facts = Facts::gather(runtimes, ci_matrix::is_provisioned(runtimes));
    let machine_has_device = || workspace::sees_device(&clmatrix()?, &machine);
    match choose(devices.wish, &facts, machine_has_device)? {
        Source::Machine => Ok(machine),
        Source::Ci => ci_matrix::environment(runtimes),
        Source::Embedded => {
            let Devices { driver, no_provision, .. } = *devices;
            embedded::environment(workspace, &clmatrix()?, driver, no_provision)
        }
    }
}

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
        let Task::Test { devices, arguments, .. } = cli.command else { panic!("not `test`") };
        assert!(devices.no_provision);
        assert_eq!(arguments, ["--release", "--", "x"]);
    }

    #[test]
    fn a_root_has_the_devices_of_its_release_only() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| cli.command);
        let task = parse("xtask matrix --root trixie -- buffer").unwrap();
        assert!(matches!(task, Task::Matrix { root: Some(Root::Trixie), .. }));
        for devices in ["--from ci", "--no-provision", "--driver pocl"] {
            assert!(parse(&format!("xtask matrix --root trixie {devices}")).is_err(), "{devices}");
        }
    }

    #[test]
    fn a_rerun_takes_its_devices_from_the_same_place() {
        let prefix = |wish, driver| rerun_prefix(&Devices { wish, no_provision: false, driver });
        assert_eq!(prefix(Wish::Auto, None), "cargo xtask matrix --");
        let embedded = prefix(Wish::Embedded, Some(Runtime::Intel));
        assert_eq!(embedded, "cargo xtask matrix --from embedded --driver intel --");
    }
}
