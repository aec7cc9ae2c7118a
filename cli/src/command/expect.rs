//! `clmatrix expect`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use clap::Subcommand;
use clmatrix_runner::config::{Config, DEFAULT_PROFILE, WrittenExpectation};
use clmatrix_runner::files::write_named;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::selected_tests::SelectedTests;
use clmatrix_runner::shard::Shard;
use clmatrix_runner::target::{SUCCESS, Target, UNEXPECTED};
use clmatrix_runner::terminal::{AnyError, print_text, status_line};
use clmatrix_runner::text::counted;

use super::common::ReportPlace;
use super::selection::Filter;
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

/// The configuration that is created if there is none.
const NEW_FILE: &str = "clmatrix.toml";

const NEW_TEXT: &str =
    "# The configuration of clmatrix. Expectations stand in expectations/*.toml beside it.\n";

#[derive(Subcommand)]
pub enum ExpectCommand {
    /// List the entries that match a test, in order, with file and line, the one that counts, and the reason
    /// why others do not.
    Explain {
        /// The test: a part of the id (`suite::test::case@device`), a whole id (with an `@`;
        /// `suite::test@` is the test on every device), or a glob.
        #[arg(value_name = "TEST[@DEVICE]")]
        test: String,
        /// The run whose tests and devices are checked.
        #[arg(long, default_value = "latest")]
        run: String,
        #[command(flatten)]
        place: ReportPlace,
    },
    /// List the entries of expectations/*.toml that the runs do not need: entries that matched no test, no
    /// device, only tests that were skipped or not run, or were always hidden by a later one.
    ///
    /// The exit status is 1 if there are any.
    Stale {
        /// The runs: folders, log files, ids or their beginnings, or `latest`.
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        #[command(flatten)]
        place: ReportPlace,
    },
    /// Change expectations/*.toml so that the runs are as expected.
    ///
    /// Removes entries for a driver whose results all passed and should not, or leaves them to other versions of the
    /// driver. Entries with the status `skip` stay as they are. Adds an entry for each test, platform and driver
    /// version with another unexpected result, one for the cases of a test that went wrong in the same way: with its
    /// status, or all if attempts or runs differ, its message and its place, and a short time limit if it hangs. All
    /// other bytes of the files stay. Creates clmatrix.toml if there is no configuration.
    ///
    /// Ignores unfinished runs (killed or cut short), and results that a lost device may have caused.
    Update {
        /// The runs: folders, log files, ids or their beginnings, or `latest`.
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        /// Print the changes, and write nothing.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        place: ReportPlace,
    },
}

pub fn expect(target: Target, command: &ExpectCommand) -> Result<u8, AnyError> {
    match command {
        ExpectCommand::Explain { test, run, place } => {
            let config = place.config(target)?;
            let log = read(&stored_runs::find(&place.folder(target)?, run)?)?;
            let filter = Filter::new(std::slice::from_ref(test))?;
            let strict = strict(&config);
            let text = explain(&config.expectations, &log, &strict, |id| filter.accepts(id));
            if text.is_empty() {
                return Err(format!("no test of run {} matches {test}", log.header.run_id).into());
            }
            print_text(&text)?;
            Ok(SUCCESS)
        }
        ExpectCommand::Stale { runs, place } => {
            let config = place.config(target)?;
            let logs = read_all(target, place, runs, "has only a part of its results")?;
            let stale = stale(&config.expectations, &logs, &strict(&config));
            let line = |(entry, reason): &(&WrittenExpectation, String)| {
                format!("{}: {:?}: {reason}\n", entry.place(), entry.keys["test"])
            };
            print_text(&stale.iter().map(line).collect::<String>())?;
            let all = counted(config.expectations.own().len(), "expectation");
            status_line(&format!("{} of {all} stale", stale.len()));
            Ok(if stale.is_empty() { SUCCESS } else { UNEXPECTED })
        }
        ExpectCommand::Update { runs, dry_run, place } => change(target, place, runs, *dry_run),
    }
}

/// Changes the expectations so that the runs are as expected.
fn change(
    target: Target,
    place: &ReportPlace,
    runs: &[String],
    dry_run: bool,
) -> Result<u8, AnyError> {
    let config = place.config(target)?;
    let file = config.file().unwrap_or(Path::new(NEW_FILE));
    let logs = read_all(target, place, runs, "is not used")?;
    let tests = all_cases(&config, target.home)?;
    let paths: Vec<_> = tests.iter().map(|test| test.path(target.home)).collect();
    let folder = file.with_file_name("expectations");
    let files = &config.expectation_files;
    let Updated { files: new, changes } =
        update(files, &folder, &logs, &strict(&config), &paths, SystemTime::now())?;
    print_text(&changes.iter().map(|change| format!("{change}\n")).collect::<String>())?;
    let is_new = config.file().is_none() && !changes.is_empty();
    if is_new {
        status_line(&format!(
            "note: {NEW_FILE} is new, so that runs in this folder read expectations/"
        ));
    }
    if !dry_run && !changes.is_empty() {
        if is_new {
            write_text(file, NEW_TEXT)?;
        }
        fs::create_dir_all(&folder)?;
        let changed = new.own.iter().filter(|(path, text)| files.own.get(*path) != Some(text));
        for (path, text) in changed {
            write_text(path, text)?;
        }
    }
    status_line(&counted(changes.len(), "change"));
    Ok(SUCCESS)
}

/// Writes a file of the configuration. The error has its path.
fn write_text(path: &Path, text: &str) -> Result<(), String> {
    write_named(path, |file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the strictness of the profile of a run; none if the configuration has no such profile any more.
fn strict(config: &Config) -> impl Fn(&RunLog) -> bool {
    |log| {
        let profile = log.header.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        config.profile(profile).is_ok_and(|profile| profile.strict_versions)
    }
}

/// Reads stored runs. Prints a note that an unfinished run has this effect.
fn read_all(
    target: Target,
    place: &ReportPlace,
    runs: &[String],
    unfinished: &str,
) -> Result<Vec<RunLog>, AnyError> {
    let folder = place.folder(target)?;
    let logs = stored_runs::find_all(&folder, runs)?;
    let logs: Vec<_> = logs.iter().map(|log| read(log)).collect::<Result<_, _>>()?;
    for log in logs.iter().filter(|log| log.interrupted) {
        status_line(&format!("note: run {} is unfinished and {unfinished}", log.header.run_id));
    }
    Ok(logs)
}

/// Reads a stored run. Prints a note if it has only a part of the tests.
fn read(log: &Path) -> Result<RunLog, AnyError> {
    let log = RunLog::read(log)?;
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
