//! Reports of a run: [`junit`] files for other programs, the page `report.html`, the [`matrix`] for the terminal,
//! the `summary` in Markdown, and the trace. All are functions of the log; the page also has the measurements of
//! `characterize.json`. `terminal` shows a run while it goes on.

mod conclusion;
mod excerpt;
mod explanation;
pub(crate) mod github;
mod html;
pub mod junit;
pub mod matrix;
mod not_run;
pub(crate) mod page;
mod result_text;
pub(crate) mod summary;
mod table;
mod tally;
pub(crate) mod terminal;
pub(crate) mod trace;

use std::fs;
use std::io;
use std::path::Path;

use clmatrix_characterize::Devices;

use crate::log::read::RunLog;
use crate::log::store::{self, PAGE, SUMMARY};
use tally::by_device;

pub(crate) use conclusion::differing_in_reused_context;
pub(crate) use junit::{file_name, junit_path};
pub(crate) use result_text::{outcome_text, result_line};
pub(crate) use table::cut;
pub(crate) use tally::counts;

/// Writes the page, and `junit/DEVICE.xml` below `folder` for each device that has results (`host` for tests
/// that need none), `junit/absent-devices.xml` where expected devices are absent,
/// `junit/failed-drivers.xml` where drivers have failed, and `summary.md`. `reports` is the report folder of
/// the run.
///
/// # Errors
///
/// The first error, after all files have been tried.
pub fn write_all(log: &RunLog, folder: &Path, reports: Option<&Path>) -> io::Result<()> {
    let mut written = write_page(&[log], reports, &folder.join(PAGE));
    let junit = folder.join("junit");
    fs::create_dir_all(&junit)?;
    for (name, xml) in junit_files(log) {
        let path = junit.join(format!("{name}.xml"));
        written = written.and(xml.and_then(|xml| store::replace_file(&path, &xml)));
    }
    let summary = summary::summary(log, None, summary::MOST_BYTES);
    written.and(store::replace_file(&folder.join(SUMMARY), summary.as_bytes()))
}

/// Writes the page of these runs, the newest first, to a file. `reports` may have a characterization of the
/// same devices.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_page(runs: &[&RunLog], reports: Option<&Path>, file: &Path) -> io::Result<()> {
    let characterized = reports.and_then(characterization).unwrap_or_default();
    store::replace_file_with(file, |file| html::write(runs, &characterized, file))
}

/// Reads `characterize.json`, if the report folder has one that this version reads.
fn characterization(reports: &Path) -> Option<Devices> {
    let file = fs::File::open(reports.join("characterize.json")).ok()?;
    serde_json::from_reader(io::BufReader::new(file)).ok()
}

/// Writes the contents of all JUnit files to one file.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_in_one(log: &RunLog, file: &Path) -> io::Result<()> {
    let files = junit_files(log).map(|(_, xml)| xml).collect::<io::Result<Vec<_>>>()?;
    store::replace_file(file, &junit::in_one(&files)?)
}

/// Makes the JUnit files one after the other, each with its name without `.xml`.
fn junit_files(log: &RunLog) -> impl Iterator<Item = (String, io::Result<Vec<u8>>)> {
    let devices = by_device(log).into_iter().filter(|(_, results)| !results.is_empty());
    let devices =
        devices.map(|(device, results)| (file_name(device), junit::junit(log, device, &results)));
    let absent =
        (!log.absent.is_empty()).then(|| ("absent-devices".to_owned(), junit::absent_devices(log)));
    let failed = (!log.failed_drivers.is_empty())
        .then(|| ("failed-drivers".to_owned(), junit::failed_drivers(log)));
    devices.chain(absent).chain(failed)
}
