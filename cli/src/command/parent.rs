//! Runs that others resume, or whose tests run again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use clmatrix_runner::config::WrittenExpectation;
use clmatrix_runner::log::device_record::DeviceRecord;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::store::{self, Place};
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::run::plan::Plan;
use clmatrix_runner::run::so_far::SoFar;
use clmatrix_runner::run::state::Run;
use clmatrix_runner::system;
use clmatrix_runner::terminal::AnyError;

use super::run_arguments::RunArguments;
use super::{Command, CommandLine};
use crate::parent::{Parent, Which};
use crate::stored_runs;

/// Finds the run of `--rerun WHICH [RUN]`. `find` finds the log of a run.
///
/// # Errors
///
/// The values are wrong, or the run cannot be read or has no such test.
pub fn again(
    values: &[String],
    find: impl FnOnce(&str) -> Result<PathBuf, String>,
) -> Result<Parent, AnyError> {
    let (which, run) = match values {
        [which] => (which, "latest"),
        [which, run] => (which, run.as_str()),
        _ => return Err("--rerun takes failed, not-run, flaky or all, and a run".into()),
    };
    let parsed = Which::from_str(which, false)
        .map_err(|_| format!("--rerun: {which:?} is not one of failed, not-run, flaky and all"))?;
    let parent = Parent::read(&find(run)?, parsed)?;
    let id = &parent.header.run_id;
    // Their devices are those of their hosts.
    if parent.header.merged.iter().any(|run| run.shard.is_none()) {
        let reason = "is merged from several hosts; on each host, name its own run";
        return Err(format!("--rerun: the run {id} {reason}").into());
    }
    if parent.starts().next().is_none() {
        return Err(format!("--rerun {which}: the run {id} has no such test").into());
    }
    Ok(parent)
}

/// Finds the run of `--resume RUN`, which has not ended. `folder` has the stored runs.
///
/// # Errors
///
/// There is no such run, or it has ended, is still running, or is not of this command.
pub fn unfinished(folder: &Path, run: &str) -> Result<Parent, AnyError> {
    let log = stored_runs::find(folder, run)?;
    let log = system::canonical(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let run = log.parent().unwrap_or(&log);
    if let Some(running) = store::running(run) {
        return Err(running.into());
    }
    let shown = run.display();
    let folder = log.ancestors().nth(3).unwrap_or(Path::new(""));
    let id = run.file_name().unwrap_or_default().to_string_lossy();
    if let Some(next) = stored_runs::continuation(folder, &id)? {
        let next = next.display();
        return Err(format!("the run {shown} was resumed by {next}; resume that one").into());
    }
    let parent = Parent::read(&log, Which::Left)?;
    if parent.is_over() {
        let advice = "`--rerun not-run` runs tests that were not run";
        return Err(format!("the run {shown} has ended; {advice}").into());
    }
    if !parent.sum.has_begun() {
        let reason = "was killed before its first test; start a new run";
        return Err(format!("the run {shown} {reason}").into());
    }
    Ok(parent)
}

/// Returns the arguments of the run, which are those of its first part, with the display of `now`.
///
/// # Errors
///
/// The run was not made by this command, or repeats its tests.
pub fn arguments(header: &RunHeader, now: &RunArguments) -> Result<RunArguments, String> {
    let id = &header.run_id;
    let recorded =
        recorded(header).ok_or(format!("the run {id} was not made by `clmatrix run`"))?;
    if recorded.kept.repetition().is_on() {
        return Err(format!("the run {id} repeats its tests; such runs cannot be resumed"));
    }
    Ok(recorded.again(header, now))
}

/// Returns the arguments of `clmatrix run` that made a run; `None` if another command did.
pub fn recorded(header: &RunHeader) -> Option<RunArguments> {
    match CommandLine::try_parse_from(&header.command_line).ok()?.command {
        Command::Run(recorded) => Some(*recorded),
        _ => None,
    }
}

/// Returns the place of a run that resumes an unfinished one, whose log is `REPORT_DIR/runs/RUN_ID/events.jsonl`.
///
/// # Errors
///
/// The log has another path.
pub fn place(parent: &Parent, run_id: String) -> Result<Place, String> {
    let log = parent.sum.files.last().expect("a run has a log");
    let mut above = log.ancestors().skip(1);
    match (above.next(), above.next(), above.next()) {
        (Some(run), Some(runs), Some(folder)) if runs.ends_with("runs") => Ok(Place {
            folder: folder.to_owned(),
            run_id,
            is_full: store::is_shown(folder, run),
            resumes: Some(parent.header.run_id.clone()),
        }),
        _ => Err(format!(
            "{}: a run can be resumed only in its report folder, REPORT_DIR/runs/ID",
            log.display()
        )),
    }
}

/// Finds the run that the same shard has left unfinished in its report folder: its latest one.
///
/// # Errors
///
/// The reason why that run cannot be resumed.
pub fn of_shard(
    place: &Place,
    run: &Run<'_>,
    header: &RunHeader,
    expectations: &[Arc<WrittenExpectation>],
    now: &RunArguments,
) -> Result<Option<Parent>, String> {
    let Ok(Some(log)) = stored_runs::latest(&place.folder) else { return Ok(None) };
    if let Some(running) = log.parent().and_then(store::running) {
        return Err(running);
    }
    // A killed runner may leave a part of the first line.
    let parent = Parent::read(&log, Which::Left).map_err(|error| error.to_string())?;
    if parent.is_over() {
        return Ok(None);
    }
    let before = &parent.header;
    let recorded = recorded(before).ok_or("it was not made by `clmatrix run`")?;
    if !parent.sum.has_begun() {
        return Err("it was killed before its first test".to_owned());
    }
    let is_planned = |entry| parent.planned.contains_key(&run.plan.id(entry));
    let has_same_tests =
        parent.planned.len() == run.plan.entries.len() && run.plan.entries.iter().all(is_planned);
    let others = [
        (recorded.kept.repetition().is_on(), "tests that it repeats"),
        (before.shard != header.shard, "another shard"),
        (before.profile != header.profile, "another profile"),
        (!now.kept.has_order(before.seed), "another order"),
        (!has_same_tests, "other tests"),
    ];
    let other = others.into_iter().find_map(|(is_other, what)| is_other.then(|| what.to_owned()));
    let option = || now.kept.difference(&recorded.kept).map(|option| format!("another {option}"));
    let other = other.or_else(option).map(|what| format!("it has {what}"));
    let reason = other.or_else(|| difference(&parent, run, header, expectations));
    reason.map_or(Ok(Some(parent)), Err)
}

/// Returns the first difference from the parent. `expectations` are the current ones.
pub fn difference(
    parent: &Parent,
    run: &Run<'_>,
    header: &RunHeader,
    expectations: &[Arc<WrittenExpectation>],
) -> Option<String> {
    let devices = run.plan.devices.iter().zip(&run.devices);
    let devices: Vec<DeviceRecord> =
        devices.map(|(device, config)| DeviceRecord::new(device, &config.settings)).collect();
    parent.difference(header, &devices, expectations)
}

/// Returns the state of the entries of a plan.
pub fn so_far(parent: &Parent, plan: &Plan) -> SoFar {
    let mut so_far = SoFar::nothing(plan);
    let ids: HashSet<TestId> = plan.entries.iter().map(|entry| plan.id(entry)).collect();
    so_far.leaves_tests = parent.starts().any(|id| !ids.contains(id));
    for (position, entry) in plan.positions() {
        let Some(test) = parent.planned.get(&plan.id(entry)) else { continue };
        let execution = test.execution;
        so_far.tests[position] = test.position;
        so_far.attempts[position] = execution.attempts;
        if !test.attempts.is_empty() {
            so_far.unfinished.insert(position, test.attempts.clone());
        }
        if execution.has_ended {
            so_far.ended.insert(position);
        } else if let Some(outcome) = execution.outcome_of_cuts() {
            so_far.decided.push((position, outcome));
        } else if execution.was_cut() {
            so_far.last.insert(position);
        }
    }
    so_far
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use clmatrix_runner::log::events::Event;
    use clmatrix_runner::log::run_header::MergedRun;
    use clmatrix_runner::log::sample::{header, result};
    use clmatrix_runner::shard::{Shard, ShardRule};
    use clmatrix_runner::verdict::Outcome;

    #[test]
    fn the_run_of_several_hosts_does_not_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let error = |shard: Option<Shard>| {
            let run = MergedRun { run_id: "r".to_owned(), host: "h".to_owned(), shard };
            let header = RunHeader { merged: vec![run], ..header(Vec::new()) };
            let events = [
                Event::Run(Box::new(header)),
                Event::finished(result("s::t@d%h", Outcome::Passed)),
            ];
            let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
            fs::write(&log, lines.concat()).unwrap();
            let values = ["all".to_owned(), "run".to_owned()];
            again(&values, |_| Ok(log.clone())).err().map(|error| error.to_string())
        };
        let of_hosts = error(None).expect("an error");
        assert!(of_hosts.contains("the run run-1 is merged from several hosts"), "{of_hosts}");
        let rule = ShardRule::Hash;
        assert_eq!(error(Some(Shard { index: 1, total: 1, rule })), None);
    }
}
