//! Unfinished runs that go on.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use clmatrix_harness::private::config::WrittenExpectation;
use clmatrix_harness::private::log::device_record::DeviceRecord;
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::store::{self, Place};
use clmatrix_harness::private::run::plan::Plan;
use clmatrix_harness::private::run::so_far::SoFar;
use clmatrix_harness::private::run::state::Run;
use clmatrix_harness::private::system;
use clmatrix_harness::private::terminal::AnyError;

use super::command_line::{Command, CommandLine};
use super::run_arguments::RunArguments;
use crate::resume::differences;
use crate::resume::unfinished::Unfinished;
use crate::stored_runs;

/// Finds a run that has not come to its end. `folder` has the stored runs.
///
/// # Errors
///
/// There is no such run, or it has ended, is still running, or is not of this command.
pub fn find(folder: &Path, run: &str) -> Result<Unfinished, AnyError> {
    let log = stored_runs::find(folder, run)?;
    let log = system::canonical(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    if let Some(running) = log.parent().and_then(store::running) {
        return Err(running.into());
    }
    let shown = log.parent().unwrap_or(&log).display();
    if let Some(next) = continuation(&log)? {
        let next = next.display();
        return Err(format!("the run {shown} goes on in {next}; resume that one").into());
    }
    match Unfinished::read(&log)? {
        None => Err(format!(
            "the run {shown} came to its end; `--rerun not-run` runs tests that were not run"
        )
        .into()),
        Some(unfinished) if !unfinished.has_begun() => {
            Err(format!("the run {shown} was killed before its first test; make a new run").into())
        }
        Some(unfinished) => Ok(unfinished),
    }
}

/// Returns the run that goes on with that of this log.
fn continuation(log: &Path) -> Result<Option<PathBuf>, AnyError> {
    let folder = log.ancestors().nth(3).unwrap_or(Path::new(""));
    let Some(id) = log.parent().and_then(Path::file_name) else { return Ok(None) };
    Ok(stored_runs::continuation(folder, &id.to_string_lossy())?)
}

/// The arguments of the run, which are those of its first part, with the display of `now`.
///
/// # Errors
///
/// The run was not made by this command, or has rounds.
pub fn arguments(header: &RunHeader, now: &RunArguments) -> Result<RunArguments, AnyError> {
    let id = &header.run_id;
    let Some(recorded) = recorded(header) else {
        return Err(format!("the run {id} was not made by `clmatrix run`").into());
    };
    if recorded.has_rounds() {
        return Err(format!("the run {id} has rounds; such runs do not go on").into());
    }
    Ok(recorded.again(header, now))
}

/// The arguments of `clmatrix run` that made a run; `None` if another command did.
pub fn recorded(header: &RunHeader) -> Option<RunArguments> {
    match CommandLine::try_parse_from(&header.command_line).ok()?.command {
        Command::Run(recorded) => Some(*recorded),
        _ => None,
    }
}

/// The place of a run that goes on with an unfinished one, whose log is `REPORT_DIR/runs/RUN_ID/events.jsonl`.
///
/// # Errors
///
/// The log is elsewhere.
pub fn place(unfinished: &Unfinished, run_id: String) -> Result<Place, AnyError> {
    let log = unfinished.sum.files.last().expect("a run has a log");
    let mut above = log.ancestors().skip(1);
    match (above.next(), above.next(), above.next()) {
        (Some(run), Some(runs), Some(folder)) if runs.ends_with("runs") => Ok(Place {
            folder: folder.to_owned(),
            run_id,
            is_full: store::is_shown(folder, run),
            resumes: Some(unfinished.header.run_id.clone()),
        }),
        _ => {
            let log = log.display();
            Err(format!("{log}: a run goes on only in its report folder, REPORT_DIR/runs/ID")
                .into())
        }
    }
}

/// Finds the run that the same shard has left unfinished in its report folder: its latest one. Otherwise
/// returns the reason why it does not go on, if there is such a run.
pub fn of_shard(
    place: &Place,
    run: &Run<'_>,
    header: &RunHeader,
    expectations: &[Arc<WrittenExpectation>],
    now: &RunArguments,
) -> Option<Result<Unfinished, String>> {
    let log = stored_runs::latest(&place.folder).ok()??;
    if let Some(running) = log.parent().and_then(store::running) {
        return Some(Err(running));
    }
    // A runner that is killed may leave a part of the first line.
    let unfinished = match Unfinished::read(&log) {
        Ok(unfinished) => unfinished?,
        Err(error) => return Some(Err(error.to_string())),
    };
    let before = &unfinished.header;
    let has_same_tests = unfinished.ids().len() == run.plan.entries.len()
        && run.plan.entries.iter().all(|entry| unfinished.planned(&run.plan.id(entry)).is_some());
    let other = |what: &str| Some(format!("it has {what}"));
    let reason = if !unfinished.has_begun() {
        Some("it was killed before its first test".to_owned())
    } else if recorded(before).is_some_and(|recorded| recorded.has_rounds()) {
        other("rounds")
    } else if before.shard != header.shard {
        other("another shard")
    } else if before.profile != header.profile {
        other("another profile")
    } else if !now.has_order(before.seed) {
        other("another order")
    } else if !has_same_tests {
        other("other tests")
    } else {
        differences(&unfinished, run, header, expectations).into_iter().next()
    };
    Some(reason.map_or(Ok(unfinished), Err))
}

/// The differences from the run so far. `expectations` are those of now.
pub fn differences(
    unfinished: &Unfinished,
    run: &Run<'_>,
    header: &RunHeader,
    expectations: &[Arc<WrittenExpectation>],
) -> Vec<String> {
    let devices = run.plan.devices.iter().zip(&run.devices);
    let devices: Vec<DeviceRecord> =
        devices.map(|(device, config)| DeviceRecord::new(device, &config.settings)).collect();
    let before = unfinished.sum.log().expect("it has a header");
    differences::differences(before, header, &devices, expectations)
}

/// The state of the entries of a plan.
pub fn so_far(unfinished: &Unfinished, plan: &Plan) -> SoFar {
    let mut so_far = SoFar::nothing(plan);
    let ids: HashSet<String> = plan.entries.iter().map(|entry| plan.id(entry)).collect();
    so_far.leaves_tests = unfinished.left().any(|id| !ids.contains(id));
    for (position, entry) in plan.entries.iter().enumerate() {
        let id = plan.id(entry);
        let Some((test, execution)) = unfinished.planned(&id) else { continue };
        so_far.tests[position] = test;
        so_far.attempts[position] = execution.attempts;
        if execution.has_ended {
            so_far.ended.insert(position);
        } else if execution.takes_machine_down() {
            so_far.deadly.push(position);
        }
    }
    so_far
}
