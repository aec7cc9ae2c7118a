//! Groups of the OpenCL conformance test suite on every device.
//!
//! `config/cts.toml` has the groups. Each program runs twice: by clmatrix, and by itself. Both must have the same
//! results.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result};
use clap::Args;

use crate::files::{self, cannot};
use crate::process;
use crate::workspace::Workspace;
use clmatrix_runner::provision::Environment;
use clmatrix_runner::text::shell_quoted;

mod alone;
mod device;
mod difference;
mod group;
mod page;
mod run_log;
mod source;

use alone::Alone;
use device::Device;
use difference::Difference;
use group::Group;
use page::Origin;
use run_log::RunLog;
use source::Source;

/// The configuration, in the root of the workspace. Its folder has the expectations.
const CONFIG: &str = "config/cts.toml";

/// The tests, without arguments of the user.
const TESTS: &str = "cts::*";

/// The options of `cargo xtask cts`.
#[derive(Args)]
pub struct Options {
    /// The folder of the checkouts OpenCL-CTS, OpenCL-Headers and SPIRV-Headers
    #[arg(long, value_name = "DIR")]
    source: PathBuf,
    /// Do not run the programs by themselves
    #[arg(long)]
    no_compare: bool,
    /// Arguments of `clmatrix run` [default: 'cts::*']
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Builds the programs, runs them on every device, compares the results, and writes a page of them.
pub fn run(
    workspace: &Workspace,
    clmatrix: &Path,
    environment: &Environment,
    options: &Options,
) -> Result<ExitCode> {
    let source = Source::find(&options.source)?;
    let config = workspace.root.join(CONFIG);
    let groups = group::read(&config)?;
    let folder = workspace.target.join("cts");
    let build = folder.join("build");
    source.build(&build, &groups)?;

    let report = folder.join("report");
    files::remove_tree(&report)?;
    let mut run = Command::new(clmatrix);
    run.current_dir(&build).arg("run").arg("--config").arg(&config);
    run.arg("--report-dir").arg(&report).env_remove("CLMATRIX_PROFILE");
    match &options.arguments[..] {
        [] => run.arg(TESTS),
        arguments => run.args(arguments),
    };
    environment.apply(&mut run);
    let status = process::status(&mut run)?;
    let log = RunLog::read(&report)?;

    let compared = match options.no_compare {
        true => None,
        false => {
            let has_selected = !options.arguments.is_empty();
            let alone = folder.join("alone");
            Some(compare(&log, &groups, has_selected, &build, &alone, environment)?)
        }
    };
    let page = folder.join("results.md");
    let origin = Origin {
        command: command_line(options),
        commits: source.commits()?,
        folder: source.suite().join("").display().to_string(),
    };
    let text = page::text(&origin, &log, compared.as_deref());
    fs::write(&page, text).with_context(|| cannot("write", &page))?;
    println!("results: {}", page.display());
    for difference in compared.iter().flatten() {
        println!("{difference}");
    }
    Ok(process::exit_code(status, compared.is_none_or(|differences| differences.is_empty())))
}

/// The command line, with `DIR` as the folder of the checkouts.
fn command_line(options: &Options) -> String {
    let mut line = "cargo xtask cts --source DIR".to_owned();
    if options.no_compare {
        line += " --no-compare";
    }
    if !options.arguments.is_empty() {
        line += " --";
    }
    for argument in &options.arguments {
        line += &format!(" {}", shell_quoted(argument));
    }
    line
}

/// Runs the programs by themselves, those of different devices at once. Returns the results that differ.
fn compare(
    log: &RunLog,
    groups: &[Group],
    has_selected: bool,
    build: &Path,
    folder: &Path,
    environment: &Environment,
) -> Result<Vec<Difference>> {
    files::remove_tree(folder)?;
    let compare = |device: &Device| {
        let alone = Alone::new(build, folder, environment, device)?;
        let mut differences = Vec::new();
        for group in groups {
            let tests: BTreeSet<String> = alone.list(group)?.into_iter().collect();
            differences.extend(device.compare(group, &tests, has_selected, &alone)?);
        }
        anyhow::Ok(differences)
    };
    // Only the first device of a driver has a known position.
    let devices = log.first_devices();
    eprintln!("Running the programs by themselves on {} devices", devices.len());
    thread::scope(|scope| {
        let threads: Vec<_> =
            devices.into_iter().map(|device| scope.spawn(move || compare(device))).collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        Ok(ended.collect::<Result<Vec<_>>>()?.concat())
    })
}
