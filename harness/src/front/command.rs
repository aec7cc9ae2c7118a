//! The command line `clmatrix`: `run`, `list`, `devices`, `characterize`, `completions`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anstream::AutoStream;
use clap::{Args, ColorChoice, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use globset::{GlobBuilder, GlobMatcher};

use super::{AnyError, CANNOT_RUN, Target, print, tell, terminal_is_dumb, unmatched_expectations};
use crate::devices::TestDevice;
use crate::execution::Execution;
use crate::plan::Plan;
use crate::progress::{self, Detail, Progress};
use crate::registry;
use crate::report::matrix::{Layout, ShownOutput};
use crate::report::{self, shell_quoted};
use crate::run_log::RunLog;
use crate::setup::{Options, Setup, SetupError};
use crate::worker::child;

mod characterize;
mod devices;
mod list;

/// The exit status of a run with an unexpected result.
const UNEXPECTED: u8 = 1;

const RUN_EXAMPLES: &str = "\
Examples:
  clmatrix run                              all tests on all devices
  clmatrix run buffer::                     one suite
  clmatrix run 'buffer::fill*@pocl-cpu'     tests and devices by a glob
  clmatrix run buffer::fill@                one test on every device
  clmatrix run --devices 'nvidia:*;pocl'    on some devices
  clmatrix run --icd /opt/lib/libpocl.so    with a driver that has no .icd file
  clmatrix run --profile ci                 fail if an expected device is absent";

const DEVICES_EXAMPLES: &str = "\
Examples:
  clmatrix devices                          list all devices; `*` marks the selected ones
  clmatrix devices --devices '*:gpu*'       try a selection
  clmatrix devices --format json --all      for other programs, with the drivers that failed";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  clmatrix completions bash > ~/.local/share/bash-completion/completions/clmatrix
  clmatrix completions zsh > ~/.zfunc/_clmatrix
  clmatrix completions fish > ~/.config/fish/completions/clmatrix.fish";

/// Runs test suites on every OpenCL device of this machine and reports for each device which tests
/// passed, failed, crashed, timed out or were skipped, and why.
///
/// The tests of a device run in a process of their own that loads only the driver of that device. A
/// crash or a hang costs one test and not the run.
#[derive(Parser)]
#[command(
    name = "clmatrix",
    version,
    after_help = "Exit status: 0 all results are as expected, 1 some are not, 2 the command could not be carried out.\n\n\
        The devices are selected by the first of these that is set: --devices, CLMATRIX_TEST, \
        PYOPENCL_TEST, `devices` of the profile. Otherwise all devices are selected."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    /// Use colours; `auto`: on a terminal, unless NO_COLOR is set or TERM is `dumb`.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
}

#[derive(Subcommand)]
enum Command {
    /// Run the suites on the selected devices and write the reports.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// List the tests and their requirements.
    List(list::ListArguments),
    /// List the platforms, the devices, and the drivers that failed.
    #[command(after_help = DEVICES_EXAMPLES)]
    Devices(devices::DevicesArguments),
    /// Show the properties of the devices, and measure them.
    #[command(after_help = characterize::EXAMPLES)]
    Characterize(characterize::CharacterizeArguments),
    /// Print the completions of this command for a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// The options of all commands that need devices.
#[derive(Args)]
struct Common {
    /// Select devices: `platform` or `platform:device,device`; separate several with `;`. A name is an
    /// index, or a part of 'name vendor type', which selects the first match, or a glob (`intel:*`,
    /// `*:*gpu*`), which selects all matches.
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    devices: Option<String>,
    /// Use this profile of the configuration [default: CLMATRIX_PROFILE, else `default`].
    #[arg(long, value_name = "P")]
    profile: Option<String>,
    /// Read this configuration file, which adds to the built-in configuration [default:
    /// CLMATRIX_CONFIG, else clmatrix.toml or config/clmatrix.toml here or in a folder above].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Add a driver: its library or an .icd file; may be repeated. CLMATRIX_ICD is a list of such
    /// paths, separated by `:`.
    #[arg(long, value_name = "PATH")]
    icd: Vec<PathBuf>,
}

impl Common {
    fn options(&self, target: Target) -> Options {
        Options {
            embedded: target.config,
            config: self.config.clone(),
            profile: self.profile.clone(),
            devices: self.devices.clone(),
            icd: self.icd.clone(),
            ..Options::default()
        }
    }

    fn setup(&self, target: Target) -> Result<Setup, SetupError> {
        Setup::new(self.options(target))
    }
}

impl RunArguments {
    /// Returns the folder of the reports.
    fn report_folder(&self, setup: &Setup, plan: &Plan) -> PathBuf {
        let folder = self.report_dir.clone().unwrap_or_else(|| setup.report_folder());
        let is_whole = self.filter.is_empty() && !plan.lacks_devices();
        if is_whole { folder } else { report::partial(&folder) }
    }

    /// Returns the command that selects the same devices and expectations again. CLMATRIX_RERUN holds
    /// the command of a wrapper that has set the environment up.
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

    fn progress(&self, plan: &Plan) -> Progress {
        let detail = match self {
            Self { quiet: true, .. } => Detail::Quiet,
            Self { verbose: true, .. } => Detail::Verbose,
            _ => Detail::Normal,
        };
        Progress::new(plan, detail, self.progress_interval, self.no_capture)
    }

    fn print_matrix(&self, log: &RunLog, folder: &Path) -> Result<(), AnyError> {
        let output = match self {
            Self { show_output: true, .. } => ShownOutput::All,
            // The output has been shown already.
            Self { no_capture: true, .. } => ShownOutput::Hidden,
            _ => ShownOutput::FewUnexpected,
        };
        let color = AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let layout = Layout { width: 80, color, reports: folder, output, quiet: self.quiet };
        print(&report::matrix::matrix(log, layout))
    }
}

#[derive(Args)]
struct RunArguments {
    /// Tests to run: parts of the id (`suite::test::case@device`), whole ids (with an `@`;
    /// `suite::test@` is the test on every device), or globs [default: all tests].
    filter: Vec<String>,
    #[command(flatten)]
    common: Common,
    /// Write events.jsonl and junit/DEVICE.xml to this folder; with a FILTER or without a device, to
    /// its folder `partial`
    /// [default: CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
    /// Print the matrix after the run, or each event as a line of JSON when it happens.
    #[arg(long, value_enum, default_value_t = RunFormat::Matrix)]
    format: RunFormat,
    /// Fail the run if a driver of this machine shows no platform [default: the profile's
    /// `strict-drivers`].
    #[arg(long)]
    strict_drivers: bool,
    /// Also run the tests that are marked `#[ignore]`.
    #[arg(long)]
    include_ignored: bool,
    /// Show the output of running tests at once, line by line, on standard error.
    #[arg(long, visible_alias = "nocapture")]
    no_capture: bool,
    /// Show the end of the captured output of all tests, also of those that pass [default: of
    /// unexpected results, if there are at most ten].
    #[arg(long)]
    show_output: bool,
    /// Print only the unexpected results and the summary.
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print each result when its test has ended.
    #[arg(short, long)]
    verbose: bool,
    /// Print a line per device at this interval, where standard error is not a terminal; 0s: never.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    progress_interval: Duration,
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

/// The entry point that `clmatrix_harness::command!` expands to.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    let command_line = CommandLine::parse();
    color_choice(command_line.color).write_global();
    let result = match &command_line.command {
        Command::Run(arguments) => run(target, arguments),
        Command::List(arguments) => list::list(target, arguments),
        Command::Devices(arguments) => devices::devices(target, arguments),
        Command::Characterize(arguments) => characterize::characterize(target, arguments),
        Command::Completions { shell } => completions(*shell, target),
    };
    result.unwrap_or_else(|error| {
        tell(&format!("error: {error}"));
        ExitCode::from(CANNOT_RUN)
    })
}

fn color_choice(choice: ColorChoice) -> anstream::ColorChoice {
    match choice {
        // anstream takes colours for granted where CI is set.
        ColorChoice::Auto if terminal_is_dumb() => anstream::ColorChoice::Never,
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
}

fn completions(shell: Shell, target: Target) -> Result<ExitCode, AnyError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), target.name, &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

fn run(target: Target, arguments: &RunArguments) -> Result<ExitCode, AnyError> {
    let options = arguments.common.options(target);
    let setup = Setup::new(Options { strict_drivers: arguments.strict_drivers, ..options })?;
    if !arguments.quiet {
        tell(&setup.config.summary());
    }
    let tests = registry::tests()?;
    let devices = setup.devices_if_any()?;
    let filter = Filter::new(&arguments.filter)?;
    let plan = Plan::new(target.home, &tests, devices, |id, _, _| filter.accepts(id));
    if plan.entries.is_empty() {
        return Err(no_test_matches(&arguments.filter, &plan.devices).into());
    }
    tell_failed_drivers(&setup);
    for test in unmatched_expectations(&setup, &tests, target.home) {
        tell(&format!("warning: no test of this target matches the expectation for {test:?}"));
    }
    let expectation = setup.expectations(&plan);
    let mut run = setup.run(&plan, &expectation)?;
    run.include_ignored = arguments.include_ignored;
    run.echo = arguments.no_capture;
    let folder = arguments.report_folder(&setup, &plan);
    let execution = Execution {
        target,
        setup: &setup,
        plan: &plan,
        run,
        rerun_command: arguments.rerun_command(),
        report_dir: Some(folder.clone()),
        print_events: arguments.format == RunFormat::Json,
    };
    let progress = arguments.progress(&plan);
    let finished = execution.run(&progress, || progress.watch());
    progress::clear();
    let (log, ()) = finished?;
    let log = log.expect("a run with a report folder has a log");
    if arguments.format == RunFormat::Matrix {
        arguments.print_matrix(&log, &folder)?;
    }
    setup.require_devices(&plan)?;
    Ok(if log.is_success() { ExitCode::SUCCESS } else { ExitCode::from(UNEXPECTED) })
}

/// Warns about drivers that do not show in the matrix.
fn tell_failed_drivers(setup: &Setup) {
    for failed in &setup.machine.failed {
        tell(&format!("warning: driver {failed}"));
    }
}

fn no_test_matches(filter: &[String], devices: &[TestDevice]) -> String {
    let mut ids: Vec<&str> = devices.iter().map(|device| device.run.id.as_str()).collect();
    if ids.is_empty() {
        ids.push("none");
    }
    match filter {
        [] => "there is no test in this executable".to_owned(),
        filter => format!(
            "no test matches {} (devices: {}); `clmatrix list` shows all tests",
            filter.join(" or "),
            ids.join(", "),
        ),
    }
}

/// Accepts the ids that match one of its patterns, or all ids where it has none.
struct Filter {
    patterns: Vec<Pattern>,
}

enum Pattern {
    Part(String),
    /// A whole id; an empty device matches every device.
    Id {
        test: String,
        device: String,
    },
    Glob {
        id: GlobMatcher,
        /// The part before the device.
        test: GlobMatcher,
    },
}

impl Filter {
    fn new(patterns: &[String]) -> Result<Self, globset::Error> {
        let patterns = patterns.iter().map(|text| Pattern::new(text)).collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    fn accepts(&self, id: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(id))
    }

    /// Accepts `suite::test::case` by the patterns without their devices.
    fn accepts_test(&self, path: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches_test(path))
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, globset::Error> {
        if text.contains(['*', '?', '[']) {
            let glob = |text| GlobBuilder::new(text).build().map(|glob| glob.compile_matcher());
            let (test, _) = text.rsplit_once('@').unwrap_or((text, ""));
            Ok(Self::Glob { id: glob(text)?, test: glob(test)? })
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
            Self::Glob { id: glob, .. } => glob.is_match(id),
        }
    }

    fn matches_test(&self, path: &str) -> bool {
        match self {
            Self::Part(part) => path.contains(part.as_str()),
            Self::Id { test, .. } => test == path,
            Self::Glob { test, .. } => test.is_match(path),
        }
    }
}
