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
use crate::terminal::{AnyError, all_of, print, status_line};

pub const EXAMPLES: &str = "\
Examples:
  clmatrix report                           the last run in the report folder
  clmatrix report 19a1                      the run whose id begins so
  clmatrix report ci/events.jsonl --all     all unexpected results of a log from elsewhere
  ssh host cat events.jsonl | clmatrix report -";

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
    let output = if arguments.show_output { ShownOutput::All } else { ShownOutput::FewUnexpected };
    show(&log, &reports, folder.as_deref(), output, arguments.all)?;
    Ok(ExitCode::from(log.exit_status()))
}

/// Prints the matrix, and writes the JUnit files to the folder of the run, if there is one.
pub(super) fn show(
    log: &RunLog,
    reports: &Path,
    folder: Option<&Path>,
    output: ShownOutput,
    all: bool,
) -> Result<(), AnyError> {
    let layout = Layout::of_terminal(folder, output, false, all);
    let printed = print(&report::matrix::matrix(log, layout));
    let written = folder.map_or(Ok(()), |folder| write_files(log, reports, folder));
    all_of([printed, written].into_iter().filter_map(Result::err).collect())
}

/// Writes the JUnit files to the folder of the run, and shows them in the report folder.
fn write_files(log: &RunLog, reports: &Path, folder: &Path) -> Result<(), AnyError> {
    let written = report::write_all(log, folder);
    let written = written.and(store::publish(reports, folder));
    written.map_err(|error| format!("the report folder {}: {error}", folder.display()).into())
}

impl ReportArguments {
    /// Reads the log. Returns it with the folder for its JUnit files, if these are to be written.
    fn read(&self, reports: &Path) -> Result<(RunLog, Option<PathBuf>), AnyError> {
        if self.run == "-" {
            let log = RunLog::read_stream(std::io::stdin().lock(), Path::new("standard input"))?;
            return Ok((log, None));
        }
        let path = store::find(reports, &self.run)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // Before the log is read: a run that ends meanwhile writes its own files.
        let running = store::running(folder);
        let log = RunLog::read(&path)?;
        if let Some(running) = running {
            status_line(&format!("{running}: its JUnit files are not written yet"));
            return Ok((log, None));
        }
        Ok((log, Some(folder.to_owned())))
    }
}
