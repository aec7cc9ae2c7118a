//! `clmatrix runs`.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use clmatrix_characterize::show::text_table;
use clmatrix_harness::Target;
use clmatrix_harness::private::log::format::LOG;
use clmatrix_harness::private::log::read_error::{LogError, ReadError};
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::log::store;
use clmatrix_harness::private::terminal::{AnyError, print};
use clmatrix_harness::private::text;

use super::common::ReportPlace;
use crate::report;

#[derive(Args)]
pub struct RunsArguments {
    #[command(flatten)]
    place: ReportPlace,
}

pub fn runs(target: Target, arguments: &RunsArguments) -> Result<ExitCode, AnyError> {
    let folder = arguments.place.folder(target)?;
    let runs = store::runs(&folder)
        .map_err(|error| format!("the report folder {}: {error}", folder.display()))?;
    let headers = runs.iter().filter_map(|run| RunHeader::read(&run.join(LOG)).ok());
    let resumed: HashSet<String> =
        headers.filter_map(|header| Some(header.resumes?.run_id)).collect();
    let rows: Vec<Vec<String>> = runs.iter().map(|run| row(run, &resumed)).collect();
    let head = ["run", "time", "state", "duration", "devices", "results"].map(str::to_owned);
    print(&text_table::aligned(&[vec![head.to_vec()], rows].concat()))?;
    Ok(ExitCode::SUCCESS)
}

/// The row of a run; `resumed` are the ids of the runs that others go on with.
fn row(run: &Path, resumed: &HashSet<String>) -> Vec<String> {
    let id = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let log = match RunLog::read(&run.join(LOG)) {
        Ok(log) => log,
        Err(error) => {
            let state = match error {
                ReadError::Log { error: LogError::NoParent(parent), .. } => {
                    format!("lacks {parent}")
                }
                _ => "unreadable".to_owned(),
            };
            return vec![id, String::new(), state];
        }
    };
    let state = match &log {
        _ if resumed.contains(&id) => "goes on",
        _ if store::running(run).is_some() => "running",
        log if !log.has_ended => "killed",
        log if log.interrupted => "cut short",
        _ => "done",
    };
    let devices = log.header.devices.iter().map(|device| device.id.as_str());
    vec![
        id,
        humantime::format_rfc3339_seconds(*log.resumed.last().unwrap_or(&log.header.time))
            .to_string(),
        state.to_owned(),
        text::human(log.duration),
        devices.collect::<Vec<_>>().join(","),
        report::counts(&log),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use clmatrix_harness::private::log::events::Event;
    use clmatrix_harness::private::log::run_header::Resumes;
    use clmatrix_harness::private::log::sample::header;

    #[test]
    fn a_log_that_cannot_be_read_has_a_short_state() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("runs/2");
        fs::create_dir_all(&run).unwrap();
        let row_of = |text: &str| {
            fs::write(run.join(LOG), text).unwrap();
            row(&run, &HashSet::new())
        };
        let resumes = Resumes { run_id: "1".to_owned(), differences: Vec::new() };
        let header = RunHeader { resumes: Some(resumes), ..header(Vec::new()) };
        let line = serde_json::to_string(&Event::Run(Box::new(header))).unwrap();
        assert_eq!(row_of(&line), ["2", "", "lacks 1"]);
        assert_eq!(row_of("{}\n"), ["2", "", "unreadable"]);
    }
}
