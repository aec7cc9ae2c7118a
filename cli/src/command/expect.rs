//! `clmatrix expect`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use clmatrix_harness::private::config::{Config, DEFAULT_PROFILE, WrittenExpectation};
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::log::selected_tests::SelectedTests;
use clmatrix_harness::private::replace_file::replace_file;
use clmatrix_harness::private::shard::Shard;
use clmatrix_harness::private::target::{SUCCESS, Target, UNEXPECTED};
use clmatrix_harness::private::terminal::{AnyError, print, status_line};
use clmatrix_harness::private::text::counted;

use super::common::ReportPlace;
use super::filter::Filter;
use crate::expect::explain::explain;
use crate::expect::stale::stale;
use crate::expect::update::{Updated, update};
use crate::external::listing::all_cases;
use crate::stored_runs;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix expect explain buffer::fill::works@pocl-cpu   the entries for one test on one device
  clmatrix expect explain buffer::fill@                  the entries for one test on every device
  clmatrix expect stale latest                           the entries that the last run does not need
  clmatrix expect update latest --dry-run                the changes by which that run is as expected";

/// The configuration that is made where there is none.
const NEW_FILE: &str = "clmatrix.toml";

const NEW_TEXT: &str =
    "# The configuration of clmatrix. Expectations stand in expectations/*.toml beside it.\n";

#[derive(Subcommand)]
pub enum ExpectCommand {
    /// List the entries that match a test, in order, with file and line, the one that counts, and the reason
    /// why others do not.
    Explain(ExplainArguments),
    /// List the entries of expectations/*.toml that the runs do not need: entries that matched no test, no
    /// device, only tests that were skipped or not run, or were always hidden by a later one.
    ///
    /// The exit status is 1 if there are any.
    Stale(StaleArguments),
    /// Change expectations/*.toml so that the runs are as expected.
    ///
    /// Removes entries for a driver whose results all passed and should not, or leaves them to other versions of the
    /// driver. Entries with the status `skip` stay as they are. Adds an entry for each test, platform and driver
    /// version with another unexpected result, one for the cases of a test that went wrong alike: with its status, or
    /// all if attempts or runs differ, its message and its place, and a short time limit if it hangs. All other bytes
    /// of the files stay. Makes clmatrix.toml if there is no configuration.
    ///
    /// Nothing is taken from unfinished runs (killed or cut short), and from results that a lost device may have caused.
    Update(UpdateArguments),
}

#[derive(Args)]
pub struct ExplainArguments {
    /// The test: a part of the id (`suite::test::case@device`), a whole id (with an `@`;
    /// `suite::test@` is the test on every device), or a glob.
    #[arg(value_name = "TEST[@DEVICE]")]
    test: String,
    /// The run whose tests and devices are looked at.
    #[arg(long, default_value = "latest")]
    run: String,
    #[command(flatten)]
    place: ReportPlace,
}

#[derive(Args)]
pub struct StaleArguments {
    /// The runs: folders, log files, ids or their beginnings, or `latest`.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    place: ReportPlace,
}

#[derive(Args)]
pub struct UpdateArguments {
    /// The runs: folders, log files, ids or their beginnings, or `latest`.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Print the changes, and write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: ReportPlace,
}

pub fn expect(target: Target, command: &ExpectCommand) -> Result<ExitCode, AnyError> {
    match command {
        ExpectCommand::Explain(arguments) => {
            let ExplainArguments { test, run, place } = arguments;
            let config = place.config(target)?;
            let log = read(&place.folder(target)?, run)?;
            let filter = Filter::new(std::slice::from_ref(test))?;
            let strict = strict(&config);
            let text = explain(&config.expectations, &log, &strict, |id| filter.accepts(id));
            if text.is_empty() {
                return Err(format!("no test of run {} matches {test}", log.header.run_id).into());
            }
            print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        ExpectCommand::Stale(StaleArguments { runs, place }) => {
            let config = place.config(target)?;
            let logs = read_all(target, place, runs, "has only a part of its results")?;
            let stale = stale(&config.expectations, &logs, &strict(&config));
            let line = |(entry, reason): &(&WrittenExpectation, String)| {
                format!("{}: {:?}: {reason}\n", entry.place(), entry.keys["test"])
            };
            print(&stale.iter().map(line).collect::<String>())?;
            let all = counted(config.expectations.own().len(), "expectation");
            status_line(&format!("{} of {all} stale", stale.len()));
            Ok(ExitCode::from(if stale.is_empty() { SUCCESS } else { UNEXPECTED }))
        }
        ExpectCommand::Update(arguments) => arguments.update(target),
    }
}

impl UpdateArguments {
    fn update(&self, target: Target) -> Result<ExitCode, AnyError> {
        let config = self.place.config(target)?;
        let file = config.file().unwrap_or(Path::new(NEW_FILE));
        let logs = read_all(target, &self.place, &self.runs, "is not used")?;
        let paths: Vec<_> =
            all_cases(&config, target.home)?.iter().map(|test| test.path(target.home)).collect();
        let folder = file.with_file_name("expectations");
        let files = &config.expectation_files;
        let Updated { files: new, changes } =
            update(files, &folder, &logs, &strict(&config), &paths, SystemTime::now())?;
        print(&changes.iter().map(|change| format!("{change}\n")).collect::<String>())?;
        let is_new = config.file().is_none() && !changes.is_empty();
        if is_new {
            status_line(&format!(
                "note: {NEW_FILE} is new, so that runs in this folder read expectations/"
            ));
        }
        if !self.dry_run {
            if is_new {
                fs::write(NEW_FILE, NEW_TEXT).map_err(|error| format!("{NEW_FILE}: {error}"))?;
            }
            if !changes.is_empty() {
                fs::create_dir_all(&folder)?;
            }
            let changed = new.own.iter().filter(|(path, text)| files.own.get(*path) != Some(text));
            for (path, text) in changed {
                replace_file(path, text.as_bytes())
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        status_line(&counted(changes.len(), "change"));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the strictness of the profile of a run; none if the configuration has no such profile any more.
fn strict(config: &Config) -> impl Fn(&RunLog) -> bool {
    |log| {
        let profile = log.header.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        config.profile(profile).is_ok_and(|profile| profile.strict_versions())
    }
}

/// Reads stored runs. Says that an unfinished one has this effect.
fn read_all(
    target: Target,
    place: &ReportPlace,
    runs: &[String],
    unfinished: &str,
) -> Result<Vec<RunLog>, AnyError> {
    let folder = place.folder(target)?;
    let logs: Vec<_> = runs.iter().map(|run| read(&folder, run)).collect::<Result<_, _>>()?;
    for log in logs.iter().filter(|log| log.interrupted) {
        status_line(&format!("note: run {} is unfinished and {unfinished}", log.header.run_id));
    }
    Ok(logs)
}

/// Reads a stored run. Says so if it has only a part of the tests.
fn read(folder: &Path, run: &str) -> Result<RunLog, AnyError> {
    let log = RunLog::read(&stored_runs::find(folder, run)?)?;
    let RunHeader { run_id, filter, selected_tests, shard, .. } = &log.header;
    let list = selected_tests.iter().map(SelectedTests::to_string);
    let part = shard.iter().filter(|shard| shard.total > 1);
    let part = part.map(|Shard { index, total, .. }| format!("shard {index} of {total}"));
    let selection: Vec<_> = filter.iter().cloned().chain(list).chain(part).collect();
    if !selection.is_empty() {
        status_line(&format!("note: run {run_id} has only the tests of {}", selection.join(" ")));
    }
    Ok(log)
}
