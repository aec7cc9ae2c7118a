//! `clmatrix report`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::ReportPlace;
use crate::log::read::RunLog;
use crate::log::store;
use crate::report;
use crate::report::matrix::{Layout, ShownOutput};
use crate::target::Target;
use crate::terminal::{AnyError, print, status_line};

pub const EXAMPLES: &str = "\
Examples:
  clmatrix report                           the last run in the report folder
  clmatrix report 19a1                      the run whose id begins so
  clmatrix report ci/events.jsonl --all     all unexpected results of a log from elsewhere
  ssh host cat events.jsonl | clmatrix report -";

/// Prints the matrix and writes the JUnit files of a stored run, also of one that was killed.
///
/// Needs no device. The exit status is that of the run; without an end in its log: 1 if a result was
/// unexpected, else 3.
#[derive(Args)]
pub struct ReportArguments {
    /// The run: a folder, a log file, an id or its beginning, `latest`, or `-` for standard input.
    #[arg(default_value = "latest")]
    run: String,
    #[command(flatten)]
    place: ReportPlace,
    /// Show all unexpected results, not only the first 20 of each device.
    #[arg(long)]
    all: bool,
    /// Show the end of the captured output of all tests [default: of unexpected results, if there are
    /// at most ten].
    #[arg(long)]
    show_output: bool,
}

pub fn report(target: Target, arguments: &ReportArguments) -> Result<ExitCode, AnyError> {
    let reports = arguments.place.folder(target)?;
    let (log, folder) = arguments.read(&reports)?;
    if log.unknown_events + log.unknown_fields > 0 {
        status_line(&format!(
            "the log is of a later version: {}, {} passed over",
            report::counted(log.unknown_events as usize, "unknown event"),
            report::counted(log.unknown_fields as usize, "unknown field"),
        ));
    }
    report::write_all(&log, &folder)
        .and_then(|_| store::publish(&reports, &folder))
        .map_err(|error| format!("the report folder {}: {error}", folder.display()))?;
    let output = if arguments.show_output { ShownOutput::All } else { ShownOutput::FewUnexpected };
    print(&report::matrix::matrix(
        &log,
        Layout::of_terminal(&folder, output, false, arguments.all),
    ))?;
    Ok(ExitCode::from(log.exit_status()))
}

impl ReportArguments {
    /// Reads the log. Returns it with the folder for its JUnit files.
    fn read(&self, reports: &Path) -> Result<(RunLog, PathBuf), AnyError> {
        if self.run == "-" {
            let log = RunLog::read_stream(std::io::stdin().lock(), Path::new("standard input"))?;
            let folder = store::run_folder(reports, &log.header.run_id);
            return Ok((log, folder));
        }
        let path = store::find(reports, &self.run)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok((RunLog::read(&path)?, folder))
    }
}
