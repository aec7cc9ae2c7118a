//! Reports of a run for people: the page `report.html`, the [`matrix`] for the terminal, the [`summary`] in Markdown,
//! and the [`trace`]. All are functions of the log; the page also has the measurements of `characterize.json`.
//! [`progress`] shows a run while it is running. [`facts`] has the machine, the drivers and the settings of a run. The
//! JUnit files are the runner's.

mod excerpt;
pub(crate) mod facts;
pub(crate) mod github;
mod html;
pub(crate) mod matrix;
mod other_versions;
pub(crate) mod page;
pub(crate) mod progress;
mod result_line;
pub(crate) mod summary;
mod table;
pub(crate) mod tally;
pub(crate) mod trace;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::LazyLock;

use clmatrix_characterize::Devices;
use clmatrix_runner::files;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::store::{PAGE, SUMMARY};
use clmatrix_runner::report::write_junit;
use clmatrix_runner::result::test_result::TestResult;
use regex::Regex;
use serde_json::Value;

pub(crate) use table::cut;
pub(crate) use tally::counts;

/// Writes the page, the JUnit files and `summary.md` to the folder of a run. `reports` is the report folder of
/// the run.
///
/// # Errors
///
/// The first error, after all files have been tried.
pub(crate) fn write_all(log: &RunLog, folder: &Path, reports: Option<&Path>) -> io::Result<()> {
    let written = files::replace_with(&folder.join(PAGE), page(&[log], reports));
    let written = written.and(write_junit(log, folder));
    let summary = summary::summary(log, None, summary::MOST_BYTES);
    written.and(files::replace(&folder.join(SUMMARY), summary.as_bytes()))
}

/// Returns a function that writes the page of these runs, the newest first. `reports` may have a characterization of
/// the same devices.
pub(crate) fn page(
    runs: &[&RunLog],
    reports: Option<&Path>,
) -> impl FnOnce(&mut BufWriter<File>) -> io::Result<()> {
    let characterized = reports.and_then(characterization).unwrap_or_default();
    move |file| html::write(runs, &characterized, file)
}

/// Returns whether an attempt has outputs or stacks. Outputs may be only in the log.
fn has_output(attempt: &TestResult) -> bool {
    !attempt.attempt.stdout.is_empty()
        || !attempt.attempt.stderr.is_empty()
        || attempt.output_at.is_some()
        || attempt.attempt.stacks.is_some()
}

/// Returns an object without its fields that are null, false or empty.
fn present(mut object: Value) -> Value {
    let absent = [Value::Null, Value::Bool(false), Value::Array(Vec::new())];
    object.as_object_mut().expect("fields").retain(|_, value| !absent.contains(value));
    object
}

/// Returns the verdict of a result in capitals.
fn verdict_word(result: &TestResult) -> String {
    result.verdict.name().to_uppercase().replace('-', " ")
}

/// Returns a text in which each number is `#`: addresses, sizes and seeds differ from run to run.
pub(crate) fn without_numbers(text: &str) -> String {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"0x[0-9a-fA-F]+|[0-9]+").expect("a constant"));
    NUMBER.replace_all(text, "#").into_owned()
}

/// Reads `characterize.json`, if the report folder has one that this version reads.
fn characterization(reports: &Path) -> Option<Devices> {
    let file = files::open_found(&reports.join("characterize.json")).ok()?;
    serde_json::from_reader(io::BufReader::new(file)).ok()
}
