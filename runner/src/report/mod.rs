//! Reports of a run: `junit` files for other programs. They are functions of the log. [`echo`] makes lines of
//! the output of running tests.

pub mod echo;
mod junit;
mod result_text;

use std::io::{self, Write};
use std::path::Path;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::files;
use crate::log::run_log::RunLog;
use crate::result::test_result::TestResult;

use junit::XmlElement;
pub use junit::{file_name, junit_path};
pub use result_text::{
    SUSPECT, explanation, headline, outcome_line, outcome_text, place, rerun, selecting, when_lost,
    with_notes, without_message,
};

/// Writes reports of a run to its folder. The second folder is the report folder, if there is one.
pub type WriteReports = fn(&RunLog, &Path, Option<&Path>) -> io::Result<()>;

/// Returns the results of each device: the devices in the order of the run, then others that results name (the host).
pub fn by_device(log: &RunLog) -> IndexMap<&str, Vec<&TestResult>, RandomState> {
    let devices = log.header.devices.iter().map(|device| (device.id.as_str(), Vec::new()));
    let mut results: IndexMap<&str, Vec<&TestResult>, RandomState> = devices.collect();
    for result in &log.results {
        results.entry(result.test.device()).or_default().push(result);
    }
    results
}

/// Writes `junit/DEVICE.xml` below `folder` for each device that has results (`host` for tests
/// that need none), `junit/absent-devices.xml` where expected devices are absent, and
/// `junit/failed-drivers.xml` where drivers have failed.
///
/// # Errors
///
/// The first error, after all files have been tried.
pub fn write_junit(log: &RunLog, folder: &Path) -> io::Result<()> {
    let junit = folder.join("junit");
    files::create_folder(&junit)?;
    let write = |(name, xml): (String, XmlElement)| {
        let path = junit.join(format!("{name}.xml"));
        files::replace(&path, &xml.to_xml()?)
    };
    junit_files(log, 1).map(write).fold(Ok(()), Result::and)
}

/// Writes the contents of all JUnit files to one file.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_in_one(log: &RunLog, file: &Path) -> io::Result<()> {
    let count = by_device(log).len();
    let parts = junit_files(log, count).map(|(_, xml)| xml);
    let xml = junit::in_one(parts).to_xml()?;
    files::write_named(file, |to| to.write_all(&xml))
}

/// Returns the JUnit files one after the other, each with its name without `.xml`. `count` of them are read together.
fn junit_files(log: &RunLog, count: usize) -> impl Iterator<Item = (String, XmlElement)> {
    let devices = by_device(log).into_iter().filter(|(_, results)| !results.is_empty());
    let devices = devices.map(move |(device, results)| {
        (file_name(device), junit::junit(log, device, &results, count))
    });
    let absent =
        (!log.absent.is_empty()).then(|| ("absent-devices".to_owned(), junit::absent_devices(log)));
    let failed = (!log.failed_drivers.is_empty())
        .then(|| ("failed-drivers".to_owned(), junit::failed_drivers(log)));
    devices.chain(absent).chain(failed)
}
