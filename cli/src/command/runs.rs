//! `clmatrix runs`.

use std::collections::HashSet;
use std::path::Path;

use clmatrix_characterize::show::text_table;
use clmatrix_runner::log::LOG;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::store;
use clmatrix_runner::log::{LogError, ReadError};
use clmatrix_runner::target::{SUCCESS, Target};
use clmatrix_runner::terminal::{AnyError, print_text};
use clmatrix_runner::text;

use super::common::ReportPlace;
use crate::report;

pub fn runs(target: Target, place: &ReportPlace) -> Result<u8, AnyError> {
    let folder = place.folder(target)?;
    let runs = store::runs(&folder)
        .map_err(|error| format!("the report folder {}: {error}", folder.display()))?;
    let headers = runs.iter().filter_map(|run| RunHeader::read(&run.join(LOG)).ok());
    let resumed: HashSet<String> =
        headers.filter_map(|header| header.goes_on_with().map(str::to_owned)).collect();
    let rows: Vec<Vec<String>> = runs.iter().map(|run| row(run, &resumed)).collect();
    let head = ["run", "time", "state", "duration", "devices", "results"].map(str::to_owned);
    print_text(&text_table::aligned(&[vec![head.to_vec()], rows].concat()))?;
    Ok(SUCCESS)
}

/// Returns the row of a run; `resumed` are the ids of the runs that others resume.
fn row(run: &Path, resumed: &HashSet<String>) -> Vec<String> {
    let id = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let log = match RunLog::read(&run.join(LOG)) {
        Ok(log) => log,
        Err(ReadError::Log(_, LogError::NoParent(parent))) => {
            return vec![id, String::new(), format!("lacks {parent}")];
        }
        Err(_) => return vec![id, String::new(), "unreadable".to_owned()],
    };
    let state = match &log {
        _ if resumed.contains(&id) => "resumed",
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
    use clmatrix_runner::log::events::Event;
    use clmatrix_runner::log::sample::{goes_on_with, header};

    #[test]
    fn a_log_that_cannot_be_read_has_a_short_state() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("runs/2");
        fs::create_dir_all(&run).unwrap();
        let row_of = |text: &str| {
            fs::write(run.join(LOG), text).unwrap();
            row(&run, &HashSet::new())
        };
        let header = RunHeader { parent: Some(goes_on_with("1")), ..header(Vec::new()) };
        let line = serde_json::to_string(&Event::Run(Box::new(header))).unwrap();
        assert_eq!(row_of(&line), ["2", "", "lacks 1"]);
        assert_eq!(row_of("{}\n"), ["2", "", "unreadable"]);
    }
}
