//! The command line `clmatrix` and its commands: `run`, `report`, `runs`, `bisect`, `diff`, `merge`, `fleet`, `expect`,
//! `config`, `list`, `devices`, `characterize`, `provision`, `completions`.

mod bisect;
mod characterize;
mod common;
mod devices;
mod diff;
mod expect;
mod fleet;
mod list;
mod merge;
mod parent;
#[cfg(feature = "provision")]
mod provision;
mod report;
mod run;
mod run_arguments;
mod runs;
mod selection;
mod shard;

use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use clmatrix_runner::target::{CANNOT_RUN, SUCCESS, Target};
use clmatrix_runner::terminal::{self, AnyError, print, set_bars, status_line};
use clmatrix_runner::worker::child;

use self::common::ReportPlace;
use self::run_arguments::RunArguments;
use crate::bars::BarsOfCommand;

const CONFIG_EXAMPLES: &str = "\
Examples:
  clmatrix config schema > clmatrix.schema.json   for editors: begin clmatrix.toml with the line
                                                  #:schema clmatrix.schema.json";

/// Made by `cargo xtask schema`.
const SCHEMA: &str = include_str!("../../config/clmatrix.schema.json");

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  clmatrix completions bash > ~/.local/share/bash-completion/completions/clmatrix
  clmatrix completions zsh > ~/.zfunc/_clmatrix
  clmatrix completions fish > ~/.config/fish/completions/clmatrix.fish";

/// Runs test suites on every OpenCL device of this machine and reports for each device which tests
/// passed, failed, crashed, timed out or were skipped, and why.
///
/// The tests of a device run in a process of their own that loads only the driver of that device. A crash or a hang
/// loses one test, not the run.
#[derive(Parser)]
#[command(
    name = "clmatrix",
    version,
    after_help = "Exit status: 0 all results are as expected, 1 some are not, 2 the command could not be carried out, 3 nothing was unexpected, but not all tests were run.\n\n\
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
    #[command(after_help = run_arguments::EXAMPLES)]
    Run(Box<RunArguments>),
    /// Print the matrix and write the page, the summary and the JUnit files of a stored run, even of one that was
    /// killed.
    ///
    /// Needs no device. For `-`, and a run that is still running, only the matrix is printed.
    ///
    /// The exit status is that of the run; without an end in its log: 1 if a result was unexpected,
    /// else 3. It is 2 if the log cannot be read or a file cannot be written.
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArguments),
    /// List the stored runs, the newest last: id, time, state, duration, devices, and the number of
    /// results of each verdict.
    ///
    /// The state is `done`, `cut short` (by Ctrl-C), `running`, `killed`, or `resumed` (by a later run).
    Runs(ReportPlace),
    /// Find the test that makes another test fail or crash, by repetition.
    ///
    /// The run has the tests that the worker had run before it. The test is repeated after them and, as a
    /// control, alone, each time in a fresh worker, until it goes wrong more often after them than by chance
    /// (Fisher's exact test, p < 0.01). Then the tests before it are halved in the same way. After a crash, each
    /// repetition waits for a crash that comes late.
    ///
    /// The exit status is 1 if no single test is found.
    #[command(after_help = bisect::EXAMPLES)]
    Bisect(bisect::BisectArguments),
    /// Compare the expectations of the configuration with stored runs. Needs no device.
    #[command(subcommand, after_help = expect::EXAMPLES)]
    Expect(expect::ExpectCommand),
    /// Compare two runs, or two sets of runs, by test and device: drivers and settings that differ,
    /// regressions, other ways of going wrong, fixes, new and gone results, slower and faster tests.
    ///
    /// Needs no device. The exit status is 1 if a test goes wrong unexpectedly that passed, and 2 if a run
    /// is unfinished.
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::DiffArguments),
    /// Merge several runs into one: all shards of a run, or whole runs of different hosts.
    ///
    /// Needs no device. The exit status is that of the merged run. It is 2 if a run is missing, is passed twice, or
    /// does not match the others.
    #[command(after_help = merge::EXAMPLES)]
    Merge(merge::MergeArguments),
    /// Show the runs of many hosts: a line for each, the facts in which hosts differ, and measurements
    /// far from the median of their model.
    ///
    /// Needs no device. The exit status is 1 if a host has failed or is missing.
    #[command(after_help = fleet::EXAMPLES)]
    Fleet(fleet::FleetArguments),
    /// Tools for the configuration, `clmatrix.toml`.
    #[command(subcommand, after_help = CONFIG_EXAMPLES)]
    Config(ConfigCommand),
    /// List the tests and their requirements.
    List(list::ListArguments),
    /// List the platforms, the devices, and the drivers that failed.
    #[command(after_help = devices::EXAMPLES)]
    Devices(devices::DevicesArguments),
    /// Show the properties of the devices, and measure them.
    #[command(after_help = characterize::EXAMPLES)]
    Characterize(characterize::CharacterizeArguments),
    /// Install an OpenCL device for the CPU from PyPI, in the cache folder of the user.
    ///
    /// Installs PoCL and checks that kernels build and run with it. If they do not, for example since PoCL does not
    /// support the processor, installs Intel's CPU runtime as well, which is large and proprietary. Sizes and
    /// licences are printed before a download. The result of the check is kept. Needs no root and changes nothing
    /// else: files are downloaded with Python's pip, verified by their checksums, and kept in
    /// $XDG_CACHE_HOME/clmatrix or ~/.cache/clmatrix. For x86-64 Linux with glibc; PoCL needs a C linker. The exit
    /// status is 2 if no driver works.
    #[cfg(feature = "provision")]
    #[command(after_help = provision::EXAMPLES)]
    Provision(provision::ProvisionArguments),
    /// Print the completions of this command for a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print the JSON Schema of `clmatrix.toml`, by which editors complete and check keys.
    Schema,
}

/// The entry point that `command!` expands to.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    set_bars(&BarsOfCommand);
    let command_line = CommandLine::parse();
    let color = match command_line.color {
        // anstream assumes colours where CI is set.
        ColorChoice::Auto if !terminal::is_dumb() => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Auto | ColorChoice::Never => anstream::ColorChoice::Never,
    };
    color.write_global();
    let status = match &command_line.command {
        Command::Run(arguments) => run::run(target, arguments),
        Command::Report(arguments) => report::report(target, arguments),
        Command::Runs(place) => runs::runs(target, place),
        Command::Bisect(arguments) => bisect::bisect(target, arguments),
        Command::Expect(command) => expect::expect(target, command),
        Command::Diff(arguments) => diff::diff(target, arguments),
        Command::Fleet(arguments) => fleet::fleet(arguments),
        Command::Merge(arguments) => merge::merge(target, arguments),
        Command::Config(ConfigCommand::Schema) => print(SCHEMA).map(|()| SUCCESS),
        Command::List(arguments) => list::list(target, arguments),
        Command::Devices(arguments) => devices::devices(target, arguments),
        Command::Characterize(arguments) => characterize::characterize(target, arguments),
        #[cfg(feature = "provision")]
        Command::Provision(arguments) => provision::provision(arguments),
        Command::Completions { shell } => {
            let script = completion_script(*shell, target.name);
            script.and_then(|script| print(&script)).map(|()| SUCCESS)
        }
    };
    ExitCode::from(status.unwrap_or_else(|error| {
        status_line(&format!("error: {error}"));
        CANNOT_RUN
    }))
}

fn completion_script(shell: Shell, name: &str) -> Result<String, AnyError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), name, &mut script);
    Ok(String::from_utf8(script)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_know_the_commands_and_options() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = completion_script(shell.parse().unwrap(), "faults").unwrap();
            for word in ["faults", "report-dir", "show-output", "characterize"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }

    #[test]
    fn the_commands_of_stored_runs_are_explained() {
        for (name, words) in [("runs", "`running`, `killed`, or"), ("report", "Needs no device.")] {
            let mut command = CommandLine::command();
            let command = command.find_subcommand_mut(name).unwrap();
            let help = command.render_long_help().to_string();
            assert!(help.contains(words), "{help}");
        }
    }

    #[test]
    fn arguments_without_an_effect_or_a_meaning_are_refused() {
        let is_read = |words: &str| CommandLine::try_parse_from(words.split(' ')).is_ok();
        for (words, expected) in [
            ("clmatrix run --resume latest --quiet", true),
            ("clmatrix run --resume latest --profile ci", false),
            ("clmatrix run --resume latest --config clmatrix.toml", false),
            ("clmatrix list --ids --shard 1/2 --balance latest --profile ci --report-dir r", true),
            ("clmatrix run -q -v", false),
            ("clmatrix run --deadline 5s --timeout 5s", true),
            ("clmatrix run --deadline 0s", false),
            ("clmatrix run --timeout 0s", false),
            ("clmatrix completions tcsh", false),
            ("clmatrix characterize --measure --budget 1s --memory 64MiB", true),
            ("clmatrix characterize --budget 1s", false),
            ("clmatrix characterize --measure --budget soon", false),
            ("clmatrix characterize --measure --memory much", false),
            ("clmatrix characterize --compare a b", true),
            ("clmatrix characterize --compare a b --devices pocl", false),
        ] {
            assert_eq!(is_read(words), expected, "{words}");
        }
    }
}
