//! Reports of a run for people: the page `report.html`, the [`matrix`] for the terminal, the [`summary`] in Markdown,
//! the [`trace`], and [`code_quality`] for GitLab. All are functions of the log; the page also has the measurements of `characterize.json`.
//! [`progress`] shows a run while it goes on. [`facts`] has the machine, the drivers and the settings of a run. The
//! JUnit files are the harness's.

pub(crate) mod code_quality;
mod conclusion;
mod excerpt;
pub(crate) mod facts;
pub(crate) mod github;
mod html;
pub(crate) mod matrix;
mod not_run;
mod other_versions;
pub(crate) mod page;
pub(crate) mod progress;
mod result_line;
pub(crate) mod summary;
mod table;
mod tally;
pub(crate) mod trace;
pub(crate) mod without_numbers;

use std::fs;
use std::io;
use std::path::Path;

use clmatrix_characterize::Devices;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::log::store::{PAGE, SUMMARY};
use clmatrix_harness::private::replace_file::{replace_file, replace_file_with};
use clmatrix_harness::private::report::write_junit;

pub(crate) use table::cut;
pub(crate) use tally::counts;

/// Writes the page, the JUnit files and `summary.md` to the folder of a run. `reports` is the report folder of
/// the run.
///
/// # Errors
///
/// The first error, after all files have been tried.
pub(crate) fn write_all(log: &RunLog, folder: &Path, reports: Option<&Path>) -> io::Result<()> {
    let written = write_page(&[log], reports, &folder.join(PAGE));
    let written = written.and(write_junit(log, folder));
    let summary = summary::summary(log, None, summary::MOST_BYTES);
    written.and(replace_file(&folder.join(SUMMARY), summary.as_bytes()))
}

/// Writes the page of these runs, the newest first, to a file. `reports` may have a characterization of the
/// same devices.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_page(runs: &[&RunLog], reports: Option<&Path>, file: &Path) -> io::Result<()> {
    let characterized = reports.and_then(characterization).unwrap_or_default();
    replace_file_with(file, |file| html::write(runs, &characterized, file))
}

/// Reads `characterize.json`, if the report folder has one that this version reads.
fn characterization(reports: &Path) -> Option<Devices> {
    let file = fs::File::open(reports.join("characterize.json")).ok()?;
    serde_json::from_reader(io::BufReader::new(file)).ok()
}
