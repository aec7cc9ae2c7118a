//! The commands of `clmatrix`: `run`, `report`, `runs`, `bisect`, `diff`, `merge`, `fleet`, `expect`, `external`,
//! `config`, `list`, `devices`, `characterize`, `provision`, `completions`.

mod bisect;
mod bisect_arguments;
mod characterize;
mod command_line;
mod common;
mod config;
mod devices;
mod diff;
mod expect;
mod external;
mod filter;
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
mod test_set;

use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, Parser};
use clap_complete::Shell;
use clmatrix_runner::target::{CANNOT_RUN, Target};
use clmatrix_runner::terminal::{self, AnyError, print, set_bars, status_line};
use clmatrix_runner::worker::child;

use self::command_line::{Command, CommandLine};
use crate::bars::BarsOfCommand;

/// The entry point that `command!` expands to.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    set_bars(&BarsOfCommand);
    let command_line = CommandLine::parse();
    color_choice(command_line.color).write_global();
    let result = match &command_line.command {
        Command::Run(arguments) => run::run(target, arguments),
        Command::Report(arguments) => report::report(target, arguments),
        Command::Runs(place) => runs::runs(target, place),
        Command::Bisect(arguments) => bisect::bisect(target, arguments),
        Command::Expect(command) => expect::expect(target, command),
        Command::External(command) => external::external(command),
        Command::Diff(arguments) => diff::diff(target, arguments),
        Command::Fleet(arguments) => fleet::fleet(arguments),
        Command::Merge(arguments) => merge::merge(target, arguments),
        Command::Config(command) => config::config(command),
        Command::List(arguments) => list::list(target, arguments),
        Command::Devices(arguments) => devices::devices(target, arguments),
        Command::Characterize(arguments) => characterize::characterize(target, arguments),
        #[cfg(feature = "provision")]
        Command::Provision(arguments) => provision::provision(arguments),
        Command::Completions { shell } => completions(*shell, target),
    };
    result.unwrap_or_else(|error| {
        status_line(&format!("error: {error}"));
        ExitCode::from(CANNOT_RUN)
    })
}

fn color_choice(choice: ColorChoice) -> anstream::ColorChoice {
    match choice {
        // anstream assumes colours where CI is set.
        ColorChoice::Auto if terminal::is_dumb() => anstream::ColorChoice::Never,
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
}

fn completions(shell: Shell, target: Target) -> Result<ExitCode, AnyError> {
    print(&completion_script(shell, target.name)?)?;
    Ok(ExitCode::SUCCESS)
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
}
