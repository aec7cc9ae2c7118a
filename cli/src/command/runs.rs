//! `clmatrix runs`.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use clmatrix_characterize::show::text_table;
use clmatrix_harness::Target;
use clmatrix_harness::private::log::format::LOG;
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
        Err(error) => return vec![id, error.to_string()],
    };
    let state = match &log {
        _ if resumed.contains(&id) => "goes on",
        _ if store::is_running(run) => "running",
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
