//! `clmatrix report`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clmatrix_runner::files::{is_standard_output, write_named};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::store;
use clmatrix_runner::target::{SUCCESS, Target};
use clmatrix_runner::terminal::{AnyError, all_of, print_beside, print_styled, status_line};

use super::common::ReportPlace;
use crate::compare::difference::Difference;
use crate::compare::side::Side;
use crate::report;
use crate::report::matrix::{Layout, ShownOutput, matrix};
use crate::report::page::Format;
use crate::report::summary::{self, summary};
use crate::report::trace::Trace;
use crate::stored_runs;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix report                           the last run in the report folder
  clmatrix report 19a1                      the run whose id begins so
  clmatrix report ci/events.jsonl --all     all unexpected results of a log from elsewhere
  clmatrix report --format markdown --baseline 19a1
                                            a summary with the results that differ from those of 19a1
  clmatrix report --trace trace.json        a trace for ui.perfetto.dev
  clmatrix report --trace - | gzip > trace.json.gz
                                            a trace in standard output, and the matrix in standard error
  clmatrix report --html page.html 19a1 19b 19c
                                            a page of three runs, with the history of each test
  ssh host cat events.jsonl | clmatrix report -";

#[derive(Args)]
pub struct ReportArguments {
    /// The run: a folder, a log file, an id or its beginning, `latest`, or `-` for standard input.
    /// Several with --html.
    #[arg(value_name = "RUN", default_value = "latest")]
    runs: Vec<String>,
    /// Write a page of the runs to this file, with the history of each test, and nothing else; `-` is standard output.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "show_output", "format", "baseline", "trace"])]
    html: Option<PathBuf>,
    #[command(flatten)]
    place: ReportPlace,
    /// Show all unexpected results, not only the first 20 of each device; with --baseline, all results that differ,
    /// not only the first 20 of each kind.
    #[arg(long)]
    all: bool,
    /// Show the end of the captured output of all tests [default: of unexpected results, if there are
    /// at most ten].
    #[arg(long)]
    show_output: bool,
    /// Print the matrix, or the summary in Markdown, of at most 900 KiB.
    #[arg(long, value_enum, default_value_t = ReportFormat::Matrix)]
    format: ReportFormat,
    /// With `--format markdown`, also print the results that differ from those of this run: a folder, a log
    /// file, an id or its beginning.
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// Also write a trace of the run for Perfetto or `chrome://tracing`: a track for each slot of each device, with
    /// tests, starts of workers and probes. `-` is standard output; the matrix goes to standard error then.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Matrix,
    Markdown,
}

pub fn report(target: Target, arguments: &ReportArguments) -> Result<u8, AnyError> {
    if arguments.baseline.is_some() && arguments.format == ReportFormat::Matrix {
        return Err("--baseline needs --format markdown".into());
    }
    let reports = arguments.place.folder(target)?;
    if let Some(file) = &arguments.html {
        return arguments.write_page(&reports, file).map(|()| SUCCESS);
    }
    let [run] = &arguments.runs[..] else { return Err("several runs need --html FILE".into()) };
    let is_beside = arguments.trace.as_deref().is_some_and(is_standard_output);
    let print = if is_beside { print_beside } else { print_styled };
    let (log, folder) = read(&reports, run)?;
    if let Some(file) = &arguments.trace {
        let path = log.files.last().ok_or("--trace needs the log in a file")?;
        let trace = Trace::read(path)?;
        let written = write_named(file, |to| trace.write(to));
        written.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let folder = folder.as_deref();
    let text = match arguments.format {
        ReportFormat::Markdown => {
            let news = |run: &String| news_since(run, &log, &reports, arguments.all);
            let news = arguments.baseline.as_ref().map(news).transpose()?;
            summary(&log, news.as_deref(), summary::MOST_BYTES)
        }
        ReportFormat::Matrix => {
            let shows_all = arguments.show_output;
            let output = if shows_all { ShownOutput::All } else { ShownOutput::FewUnexpected };
            matrix(&log, Layout::of_terminal(folder, output, false, arguments.all))
        }
    };
    show(print(&text), &log, &reports, folder)?;
    Ok(log.exit_status())
}

/// Writes the other reports to the folder of the run, if there is one, and shows them in the report folder, once the
/// text is printed.
pub(super) fn show(
    printed: Result<(), AnyError>,
    log: &RunLog,
    reports: &Path,
    folder: Option<&Path>,
) -> Result<(), AnyError> {
    let written = folder.map_or(Ok(()), |folder| {
        let written = report::write_all(log, folder, Some(reports));
        let written = written.and(store::publish(reports, folder));
        written.map_err(|error| format!("the report folder {}: {error}", folder.display()).into())
    });
    all_of([printed, written].into_iter().filter_map(Result::err).collect())
}

impl ReportArguments {
    /// Writes a page of the runs, the newest first.
    fn write_page(&self, reports: &Path, file: &Path) -> Result<(), AnyError> {
        let read = |run: &String| Ok::<_, AnyError>(read(reports, run)?.0);
        let mut logs = self.runs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        logs.sort_by_key(|log| std::cmp::Reverse(log.header.time));
        logs.dedup_by(|log, other| log.header.run_id == other.header.run_id);
        let logs: Vec<_> = logs.iter().collect();
        let written = write_named(file, report::page(&logs, Some(reports)));
        written.map_err(|error| format!("{}: cannot be written: {error}", file.display()).into())
    }
}

/// Reads the log of a run. Returns it with the folder for its reports, if they will be written.
fn read(reports: &Path, run: &str) -> Result<(RunLog, Option<PathBuf>), AnyError> {
    if run == "-" {
        let log = RunLog::read_stream(std::io::stdin().lock(), Path::new("standard input"))?;
        return Ok((log, None));
    }
    let path = stored_runs::find(reports, run)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Before the log is read: a run that ends meanwhile writes its own files.
    let running = store::running(folder);
    let log = RunLog::read(&path)?;
    if let Some(running) = &running {
        status_line(&format!("{running}: its reports are not written yet"));
    }
    Ok((log, running.is_none().then(|| folder.to_owned())))
}

/// Returns the results that differ from those of an earlier run, in Markdown: the first of each kind, or all.
fn news_since(run: &str, log: &RunLog, reports: &Path, all: bool) -> Result<String, AnyError> {
    let baseline = RunLog::read(&stored_runs::find(reports, run)?)?;
    let side = |log: &RunLog| {
        let mut side = Side::default();
        side.add(log);
        side
    };
    let difference = Difference::new(&side(&baseline), &side(log), None)?;
    Ok(Format::Markdown.text(&difference, difference.news(all).into_iter())?)
}
