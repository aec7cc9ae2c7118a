//! The command line `clmatrix`: `run`, `list`, `devices`, `characterize`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use globset::{GlobBuilder, GlobMatcher};

use super::{AnyError, CANNOT_RUN, Target, print, tell};
use crate::devices::TestDevice;
use crate::events::TestResult;
use crate::execution::Execution;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::registry::{self, Test};
use crate::report::{self, shell_quoted};
use crate::run_log::RunLog;
use crate::setup::{Options, Setup, SetupError};
use crate::worker::child;

mod characterize;
mod devices;
mod list;

/// Something was not as expected.
const UNEXPECTED: u8 = 1;

const RUN_EXAMPLES: &str = "\
Examples:
  clmatrix run                              everything, everywhere
  clmatrix run buffer::                     one suite
  clmatrix run 'buffer::fill*@pocl-cpu'     by id, as the matrix prints it
  clmatrix run --devices 'nvidia:*;pocl'    on some devices
  clmatrix run --icd /opt/lib/libpocl.so    with a driver that has no .icd file
  clmatrix run --profile ci                 and fail if an expected device is absent";

const DEVICES_EXAMPLES: &str = "\
Examples:
  clmatrix devices                          what there is, `*` before what is selected
  clmatrix devices --devices '*:gpu*'       try a selection
  clmatrix devices --format json --all      for other programs, failed drivers too";

/// Runs test suites on every OpenCL device of this machine and reports per device what passed,
/// failed, crashed, hung or was skipped, and why.
///
/// Each device's tests run in a process of their own that sees only that device's driver, so a
/// crash or a hang costs one test and not the run.
#[derive(Parser)]
#[command(
    name = "clmatrix",
    version,
    after_help = "Exit status: 0 all as expected, 1 something was not, 2 the run could not be made.\n\n\
        Devices are chosen by the first of --devices, CLMATRIX_TEST, PYOPENCL_TEST and the profile \
        that says something, else all are taken."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the suites on the selected devices and write the reports.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// List the tests and what they require.
    List(list::ListArguments),
    /// List platforms and devices, and drivers that failed.
    #[command(after_help = DEVICES_EXAMPLES)]
    Devices(devices::DevicesArguments),
    /// Show what the devices are like.
    #[command(after_help = characterize::EXAMPLES)]
    Characterize(characterize::CharacterizeArguments),
}

/// What all commands share.
#[derive(Args)]
struct Common {
    /// Devices: `platform`, `platform:device,device`, several separated by `;`. A name is an index
    /// or a part of 'name vendor type', first match taken; a glob (`intel:*`, `*:*gpu*`) takes all.
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    devices: Option<String>,
    /// Profile of the configuration [default: CLMATRIX_PROFILE, else `default`].
    #[arg(long, value_name = "P")]
    profile: Option<String>,
    /// Configuration file [default: CLMATRIX_CONFIG, else clmatrix.toml or config/clmatrix.toml
    /// here or in a folder above, else built in].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A driver's library, or an .icd file, beside those that the loader knows; may be repeated.
    /// CLMATRIX_ICD is a list of such paths, separated by `:`.
    #[arg(long, value_name = "PATH")]
    icd: Vec<PathBuf>,
}

impl Common {
    fn setup(&self) -> Result<Setup, SetupError> {
        Setup::new(Options {
            config: self.config.clone(),
            profile: self.profile.clone(),
            devices: self.devices.clone(),
            icd: self.icd.clone(),
            ..Options::default()
        })
    }
}

impl RunArguments {
    /// Where the reports go.
    fn report_folder(&self, setup: &Setup) -> PathBuf {
        let folder = self.report_dir.clone().unwrap_or_else(|| setup.report_folder());
        if self.filter.is_empty() { folder } else { report::partial(&folder) }
    }

    /// How a person gets the same devices and expectations again: by the wrapper that set the
    /// environment up, if one did, and with the options that say what is there.
    fn rerun_command(&self) -> String {
        let mut command =
            std::env::var("CLMATRIX_RERUN").unwrap_or_else(|_| "clmatrix run".to_owned());
        let mut add = |option: &str, value: &str| {
            command += &format!(" {option} {}", shell_quoted(value));
        };
        for icd in &self.common.icd {
            add("--icd", &icd.display().to_string());
        }
        if let Some(config) = &self.common.config {
            add("--config", &config.display().to_string());
        }
        if let Some(profile) = &self.common.profile {
            add("--profile", profile);
        }
        if self.include_ignored {
            command += " --include-ignored";
        }
        command
    }
}

#[derive(Args)]
struct RunArguments {
    /// Run the tests whose id (`suite::test::case@device`) contains one of these, or is it where
    /// there is an `@` (`suite::test@` is on every device), or matches it where it is a glob.
    filter: Vec<String>,
    #[command(flatten)]
    common: Common,
    /// Folder for events.jsonl and junit/<device>.xml; with a FILTER, its folder `partial` [default:
    /// CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
    /// What to print: the matrix, or each event as a line of JSON as it happens.
    #[arg(long, value_enum, default_value_t = RunFormat::Matrix)]
    format: RunFormat,
    /// Run tests that are marked `#[ignore]` too.
    #[arg(long)]
    include_ignored: bool,
    /// Show the output of tests as it comes.
    #[arg(long, visible_alias = "no-capture")]
    nocapture: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunFormat {
    Matrix,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TableFormat {
    Table,
    Json,
}

/// What `clmatrix_harness::command!` calls.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    let command_line = CommandLine::parse();
    let result = match &command_line.command {
        Command::Run(arguments) => run(target, arguments),
        Command::List(arguments) => list::list(target, arguments),
        Command::Devices(arguments) => devices::devices(arguments),
        Command::Characterize(arguments) => characterize::characterize(arguments),
    };
    result.unwrap_or_else(|error| {
        tell(&format!("error: {error}"));
        ExitCode::from(CANNOT_RUN)
    })
}

fn run(target: Target, arguments: &RunArguments) -> Result<ExitCode, AnyError> {
    let setup = arguments.common.setup()?;
    let tests = registry::tests()?;
    let devices = setup.devices_for(&tests)?;
    let filter = Filter::new(&arguments.filter)?;
    let plan = Plan::new(target.home, &tests, devices, |id, _, _| filter.accepts(id));
    if plan.entries.is_empty() {
        return Err(no_test_matches(&arguments.filter, &plan.devices).into());
    }
    warn(&setup, &tests, target);
    let expectation = setup.expectations(&plan);
    let mut run = setup.run(&plan, &expectation)?;
    run.include_ignored = arguments.include_ignored;
    run.echo = arguments.nocapture;
    let folder = arguments.report_folder(&setup);
    let execution = Execution {
        target,
        setup: &setup,
        plan: &plan,
        run,
        rerun_command: arguments.rerun_command(),
        report_dir: Some(folder.clone()),
        print_events: arguments.format == RunFormat::Json,
    };
    let progress = Progress::new(&plan);
    let observer = |position: usize, result: &TestResult| progress.advance(position, result);
    let (log, ()) = execution.run(&observer, || ())?;
    progress.finish();
    let log = log.expect("a run with a report folder has a log");
    if arguments.format == RunFormat::Matrix {
        print_matrix(&log, &folder)?;
    }
    Ok(if log.is_success() { ExitCode::SUCCESS } else { ExitCode::from(UNEXPECTED) })
}

/// Says what will not be in the matrix.
fn warn(setup: &Setup, tests: &[&'static Test], target: Target) {
    for failed in &setup.machine.failed {
        tell(&format!("warning: driver {}: {}", failed.driver.name(), failed.reason));
    }
    let paths: Vec<String> = tests.iter().map(|test| test.path(target.home)).collect();
    for test in setup.config.expectations.without_test(paths.iter().map(String::as_str)) {
        tell(&format!("warning: no test matches the expectation for {test:?}"));
    }
}

fn print_matrix(log: &RunLog, folder: &Path) -> Result<(), AnyError> {
    let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    print(&report::matrix::matrix(log, 80, color, folder))
}

fn no_test_matches(filter: &[String], devices: &[TestDevice]) -> String {
    let ids: Vec<&str> = devices.iter().map(|device| device.run.id.as_str()).collect();
    match filter {
        [] => "there is no test in this executable".to_owned(),
        filter => format!(
            "no test matches {} (devices: {}); `clmatrix list` shows all tests",
            filter.join(" or "),
            ids.join(", "),
        ),
    }
}

/// The patterns of which an id must match one, if there is any.
struct Filter {
    patterns: Vec<Pattern>,
}

enum Pattern {
    Part(String),
    /// A whole id; an empty device stands for each.
    Id {
        test: String,
        device: String,
    },
    Glob(GlobMatcher),
}

impl Filter {
    fn new(patterns: &[String]) -> Result<Self, globset::Error> {
        let patterns = patterns.iter().map(|text| Pattern::new(text)).collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    fn accepts(&self, id: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(id))
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, globset::Error> {
        if text.contains(['*', '?', '[']) {
            GlobBuilder::new(text).build().map(|glob| Self::Glob(glob.compile_matcher()))
        } else if let Some((test, device)) = text.rsplit_once('@') {
            Ok(Self::Id { test: test.to_owned(), device: device.to_owned() })
        } else {
            Ok(Self::Part(text.to_owned()))
        }
    }

    fn matches(&self, id: &str) -> bool {
        match self {
            Self::Part(part) => id.contains(part.as_str()),
            Self::Id { test, device } => {
                id.rsplit_once('@').is_some_and(|(its_test, its_device)| {
                    its_test == test && (device.is_empty() || its_device == device)
                })
            }
            Self::Glob(glob) => glob.is_match(id),
        }
    }
}
