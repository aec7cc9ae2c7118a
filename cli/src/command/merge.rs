//! `clmatrix merge`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clmatrix_runner::config::Sync;
use clmatrix_runner::files::read_list;
use clmatrix_runner::folders::entries;
use clmatrix_runner::header::new_run_id;
use clmatrix_runner::log::LOG;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::store::Place;
use clmatrix_runner::target::Target;
use clmatrix_runner::terminal::{AnyError, print_styled, status_line};

use super::common::ReportPlace;
use super::report;
use crate::merge::input::Input;
use crate::merge::{Merge, listed_hosts};
use crate::report::github;
use crate::report::matrix::{Layout, ShownOutput, matrix};
use crate::stored_runs;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix merge reports/shard-*             the shards of a run
  clmatrix merge --hosts nodes/* --out fleet whole runs of several hosts
  clmatrix merge --hosts --expect-hosts nodes.txt nodes/*";

#[derive(Args)]
pub struct MergeArguments {
    /// The runs: report folders, folders of runs, or log files.
    #[arg(required = true, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// Store the merged run in this report folder [default: CLMATRIX_REPORT_DIR, else the profile's, else
    /// target/clmatrix].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Merge whole runs of different hosts. Each device is its own, with the id `ID%HOST`.
    #[arg(long)]
    hosts: bool,
    /// Fail if a host of this list has no run: a name a line; `-` is standard input.
    #[arg(long, value_name = "FILE", requires = "hosts")]
    expect_hosts: Option<PathBuf>,
}

pub fn merge(target: Target, arguments: &MergeArguments) -> Result<u8, AnyError> {
    let place = ReportPlace { report_dir: arguments.out.clone(), profile: None, config: None };
    let folder = place.folder(target)?;
    let inputs = arguments.runs.iter().map(|run| Input::read(&log_of(run)?));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let merge = match arguments.hosts {
        false => Merge::of_shards(inputs),
        true => Merge::of_hosts(inputs, &expected_hosts(arguments.expect_hosts.as_deref())?),
    }?;
    let step = github::Step::open();
    let place = Place { folder, run_id: new_run_id(), is_full: merge.is_full(), resumes: None };
    let (folder, run) = (&place.folder, place.run_folder());
    let log = write(&merge, &place).map_err(|error| format!("{}: {error}", folder.display()))?;
    status_line(&format!("merged run: {}", run.display()));
    let layout = Layout::of_terminal(Some(&run), ShownOutput::FewUnexpected, false, false);
    report::show(print_styled(&matrix(&log, layout)), &log, folder, Some(&run))?;
    step.map_or(Ok(()), |step| step.report(&log, true))?;
    Ok(log.exit_status())
}

/// Writes the merged log. A log that is not whole is removed.
fn write(merge: &Merge, place: &Place) -> Result<RunLog, AnyError> {
    let (run, log) = place.create(usize::MAX, Sync::Off)?;
    let written = merge.write(log, &place.run_id);
    let mut log = written.inspect_err(|_| drop(fs::remove_dir_all(&run.path)))?;
    log.files = vec![run.path.join(LOG)];
    Ok(log)
}

/// Returns the log of a run: of a folder, of the only run in the folders below it, or the file itself.
pub(super) fn log_of(run: &Path) -> Result<PathBuf, AnyError> {
    let name = run.to_str().ok_or_else(|| format!("{}: not in UTF-8", run.display()))?;
    if !run.exists() {
        return Err(format!("{name}: no such file or folder").into());
    }
    // A report folder, a folder of a run, or a log.
    if let Ok(log) = stored_runs::find(run, name) {
        return Ok(log);
    }
    let mut below = runs_below(run)?;
    let header = |log: &PathBuf| RunHeader::read(log).ok();
    let resumed = below.iter().filter_map(|log| Some(header(log)?.goes_on_with()?.to_owned()));
    let resumed: HashSet<String> = resumed.collect();
    // A log is read with those that it resumes.
    below.retain(|log| header(log).is_none_or(|header| !resumed.contains(&header.run_id)));
    match &below[..] {
        [log] => Ok(log.clone()),
        [] => Err(format!("{name}: the folder has no run").into()),
        several => {
            let folders: Vec<_> = several.iter().map(|log| log.display().to_string()).collect();
            Err(format!("{name}: the folder has several runs; name one: {}", folders.join(", "))
                .into())
        }
    }
}

/// Returns the logs of the runs in the folders below one. CI services unpack artifacts with the folders around them.
fn runs_below(folder: &Path) -> Result<Vec<PathBuf>, AnyError> {
    let mut logs = Vec::new();
    let entries = entries(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for folder in entries.into_iter().filter(|path| path.is_dir() && !path.is_symlink()) {
        match folder.to_str().and_then(|name| stored_runs::find(&folder, name).ok()) {
            Some(log) => logs.push(log),
            None => logs.extend(runs_below(&folder)?),
        }
    }
    Ok(logs)
}

/// Returns the hosts of a file.
pub(super) fn expected_hosts(file: Option<&Path>) -> Result<Vec<String>, AnyError> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let text = read_list(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(listed_hosts(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clmatrix_runner::log::events::Event;
    use clmatrix_runner::log::sample::{goes_on_with, header};

    /// Writes the log of a run without results.
    fn write(folder: &Path, id: &str, before: Option<&str>) -> PathBuf {
        let parent = before.map(goes_on_with);
        let header = RunHeader { run_id: id.to_owned(), parent, ..header(Vec::new()) };
        let log = folder.join(id).join(LOG);
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        fs::write(&log, serde_json::to_string(&Event::Run(Box::new(header))).unwrap()).unwrap();
        log
    }

    #[test]
    fn a_run_is_found_with_those_that_it_goes_on_with() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "1", None);
        write(folder.path(), "2", Some("1"));
        let last = write(folder.path(), "3", Some("2"));
        assert_eq!(log_of(folder.path()).unwrap(), last);
        write(folder.path(), "4", None);
        let error = log_of(folder.path()).unwrap_err().to_string();
        assert!(error.contains("the folder has several runs; name one: "), "{error}");
        // Each artifact of a CI service is a folder with the folders of its files.
        let artifact = tempfile::tempdir().unwrap();
        let only = write(&artifact.path().join("of shard/target"), "1", None);
        assert_eq!(log_of(artifact.path()).unwrap(), only);
    }
}
