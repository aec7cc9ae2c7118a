//! `clmatrix bisect`.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clmatrix_runner::case::Case;
use clmatrix_runner::config::Contexts;
use clmatrix_runner::log::events::{Event, Started};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::run::entry::Entry;
use clmatrix_runner::run::plan::{Plan, Planned};
use clmatrix_runner::run::state::{Run, WorkerConfig};
use clmatrix_runner::setup::Setup;
use clmatrix_runner::target::{Target, UNEXPECTED};
use clmatrix_runner::terminal::{AnyError, print_text, status_line};
use clmatrix_runner::text::counted;
use clmatrix_runner::verdict::{Outcome, Verdict};
use indexmap::IndexSet;

use super::bisect_arguments::BisectArguments;
use super::parent;
use crate::bisect::trials::{TrialTest, Trials};
use crate::bisect::{SearchEnd, search};
use crate::stored_runs;

/// The time that a trial waits longer for a crash than the crash took in the run.
const MARGIN: Duration = Duration::from_millis(100);

/// The longest wait for a crash.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The execution that went wrong, and the tests that its worker had run before.
struct Suspects {
    /// The test that is repeated.
    last: TestId,
    before: Vec<TestId>,
    /// The time from the first start to the end.
    time: Duration,
    is_crash: bool,
    /// `--contexts` of the run.
    contexts: Option<Contexts>,
    /// The profile of the run.
    profile: Option<String>,
}

pub fn bisect(target: Target, arguments: &BisectArguments) -> Result<ExitCode, AnyError> {
    let runs = arguments.runs;
    let folder = arguments.report_dir.clone();
    let folder = folder.map_or_else(|| arguments.common.options(target).report_folder(), Ok)?;
    let log = stored_runs::find(&folder, &arguments.run)?;
    let suspects = Suspects::of(&log, &arguments.test)?;
    let test = &suspects.last;
    let mut options = arguments.common.options(target);
    options.contexts = suspects.contexts;
    options.profile = options.profile.or(suspects.profile);
    let setup = Setup::new(options)?;
    let tests = Case::registered()?;
    let wanted = |id: &TestId| id == test || suspects.before.iter().any(|before| before == id);
    let plan = Plan::new(target.home, &tests, setup.devices()?, |id, _, _| wanted(id));
    let run = setup.run(&plan)?;
    let stop = StopSignal::on_signals()?;
    let wait = if suspects.is_crash { suspects.time + MARGIN } else { Duration::ZERO };
    let trials = Trials {
        config: worker_config(&run, test)?,
        last: trial_test(&run, test)?,
        wait: wait.min(LONGEST_WAIT),
        stop: &stop,
    };
    let before: Vec<(&TestId, TrialTest)> = suspects
        .before
        .iter()
        .map(|before| Ok((before, trial_test(&run, before)?)))
        .collect::<Result<_, String>>()?;
    let mut failed = None;
    let mut length = usize::MAX;
    let end = search(&before, runs, |part| {
        if !part.is_empty() && part.len() != length {
            length = part.len();
            status_line(&format!("trying {length} of {} tests before it", before.len()));
        }
        let part: Vec<_> = part.iter().map(|(_, test)| test).collect();
        trials.run(&part).map_err(|lost| failed = lost.reason()).ok()
    });
    if let Some(reason) = failed {
        return Err(reason.into());
    }
    let tests = counted(before.len(), "test");
    let text = match &end {
        SearchEnd::Cause { position, with, without } => format!(
            "{} makes {test} go wrong: {with} with it, {without} without\n",
            before[*position].0
        ),
        SearchEnd::Several { with, without } => format!(
            "no single test found: {test} goes wrong in {with} after the {tests} before it, in {without} without\n"
        ),
        SearchEnd::NoDifference { with, without } => format!(
            "no difference found: {test} goes wrong by itself in {without}, and in {with} after the {tests} before it\n"
        ),
        SearchEnd::Stopped => return Err(stop.not_run().to_string().into()),
    };
    print_text(&text)?;
    let is_found = matches!(end, SearchEnd::Cause { .. });
    Ok(if is_found { ExitCode::SUCCESS } else { ExitCode::from(UNEXPECTED) })
}

impl Suspects {
    /// Finds the first attempt of a test that went wrong after others in its worker. For a crash that belongs to no
    /// test, it is that of the last test.
    fn of(log: &Path, test: &str) -> Result<Self, AnyError> {
        let (mut paths, mut wrong) = (Vec::new(), Vec::new());
        let (mut contexts, mut profile) = (None, None);
        let mut starts: HashMap<u32, Vec<(TestId, SystemTime)>> = HashMap::new();
        RunLog::for_each_event(log, |event| {
            match event {
                // A resumed run has the options of its first part.
                Event::Run(header) if header.goes_on_with().is_none() => {
                    contexts =
                        parent::recorded(&header).and_then(|recorded| recorded.kept.contexts);
                    profile = header.profile;
                }
                Event::Plan(part) => paths.extend(part.tests.into_iter().map(|test| test.path)),
                Event::Started(Started { test, device, time, worker: Some(worker), .. }) => {
                    let path = paths.get(test as usize).map_or("", String::as_str);
                    starts.entry(worker).or_default().push((TestId::new(path, &device), time));
                }
                Event::Finished(finished) => {
                    let result = finished.result;
                    // A crash that belongs to no test is flaky if the running test passed when it ran again.
                    let has_crashed = matches!(result.attempt.outcome, Outcome::Crashed { .. });
                    let is_flaky_crash = has_crashed && result.verdict == Verdict::Flaky;
                    if result.test == test && (result.verdict.is_failure() || is_flaky_crash) {
                        wrong.push(result);
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        for attempt in &wrong {
            let starts =
                attempt.attempt.worker.and_then(|worker| starts.get(&worker)).into_iter().flatten();
            // Each test once, at its last run.
            let mut before = IndexSet::new();
            let mut begin = attempt.attempt.started;
            for (id, time) in starts.filter(|(_, time)| *time <= attempt.attempt.started) {
                begin = begin.min(*time);
                before.shift_remove(id);
                before.insert(id.clone());
            }
            let Some(last) = before.pop().filter(|_| !before.is_empty()) else { continue };
            return Ok(Self {
                last,
                before: before.into_iter().collect(),
                time: attempt.attempt.end().duration_since(begin).unwrap_or_default(),
                is_crash: matches!(attempt.attempt.outcome, Outcome::Crashed { .. }),
                contexts,
                profile,
            });
        }
        Err(format!("{test} did not go wrong after other tests in {}", log.display()).into())
    }
}

/// Returns the position of a test in the plan.
fn position(run: &Run<'_>, id: &TestId) -> Result<Entry, String> {
    let found = run.plan.positions().find(|(_, entry)| run.plan.id(entry) == *id);
    found
        .map(|(position, _)| position)
        .ok_or_else(|| format!("{id} is not a test of this executable on a selected device"))
}

fn worker_config<'a>(run: &'a Run<'_>, id: &TestId) -> Result<&'a WorkerConfig, String> {
    let Planned { device, .. } = &run.plan.entries[position(run, id)?];
    Ok(device.map_or(&run.host, |device| &run.devices[device as usize]))
}

fn trial_test(run: &Run<'_>, id: &TestId) -> Result<TrialTest, String> {
    let position = position(run, id)?;
    let expectation = run.expectations.tests[position].clone();
    let Case::Registered(test) = run.plan.entries[position].test else {
        return Err(format!("{id} is a test of another program, in a process of its own"));
    };
    let (limit, settings) = (run.limit(position), run.settings[position].clone());
    Ok(TrialTest { test, limit, settings, expectation })
}
