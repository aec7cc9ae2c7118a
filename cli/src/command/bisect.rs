//! `clmatrix bisect`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{Args, value_parser};
use clmatrix_runner::case::Case;
use clmatrix_runner::config::Contexts;
use clmatrix_runner::log::events::{Event, Started};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::registry::Test;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::run::entry::Entry;
use clmatrix_runner::run::plan::Plan;
use clmatrix_runner::run::state::Run;
use clmatrix_runner::setup::Setup;
use clmatrix_runner::target::{SUCCESS, Target, UNEXPECTED};
use clmatrix_runner::terminal::{AnyError, print_text, status_line};
use clmatrix_runner::text::counted;
use clmatrix_runner::verdict::{Outcome, Verdict};
use indexmap::IndexSet;

use super::common::Common;
use super::parent;
use crate::bisect::trials::Trials;
use crate::bisect::{SearchEnd, search};
use crate::stored_runs;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix bisect buffer::map::twice@pocl-cpu           in the latest run
  clmatrix bisect buffer::map::twice@pocl-cpu 19ec3     in the run whose id begins so
  clmatrix bisect buffer::map::twice@pocl-cpu --runs 200
  clmatrix bisect worker::crash@pocl-cpu                the test that was running, or the last one";

#[derive(Args)]
pub struct BisectArguments {
    /// The id of the test, with its device, or of a crash that belongs to no test.
    #[arg(value_name = "TEST")]
    test: String,
    /// The run: a folder, a log, an id or its beginning.
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Compare the test after others with the test alone in at most this number of runs.
    #[arg(long, value_name = "N", default_value = "40", value_parser = value_parser!(u32).range(10..))]
    runs: u32,
    #[command(flatten)]
    common: Common,
    /// The report folder [default: CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
}

/// The time that a trial waits longer for a crash than the crash took in the run.
const MARGIN: Duration = Duration::from_millis(100);

/// The longest wait for a crash.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The execution that went wrong, and the tests that its worker had run before.
struct Suspects {
    /// The test that is repeated.
    last: TestId,
    before: Vec<TestId>,
    /// The time in which a crash may come after the last test.
    wait: Duration,
    /// `--contexts` of the run.
    contexts: Option<Contexts>,
    /// The profile of the run.
    profile: Option<String>,
}

pub fn bisect(target: Target, arguments: &BisectArguments) -> Result<u8, AnyError> {
    let mut options = arguments.common.options(target);
    let folder = arguments.report_dir.clone().map_or_else(|| options.report_folder(), Ok)?;
    let log = stored_runs::find(&folder, &arguments.run)?;
    let suspects = Suspects::of(&log, &arguments.test)?;
    let test = &suspects.last;
    options.contexts = suspects.contexts;
    options.profile = options.profile.or(suspects.profile);
    let setup = Setup::new(options)?;
    let tests = Case::registered()?;
    let wanted = |id: &TestId| id == test || suspects.before.iter().any(|before| before == id);
    let plan = Plan::new(target.home, &tests, setup.devices()?, |id, _, _| wanted(id));
    let run = setup.run(&plan)?;
    let stop = StopSignal::on_signals()?;
    let last = planned(&run, test)?;
    let device = plan.entries[last.0].device;
    let trials = Trials {
        run: &run,
        config: device.map_or(&run.host, |device| &run.devices[device as usize]),
        last,
        wait: suspects.wait,
        stop: &stop,
    };
    let before = suspects.before.iter().map(|before| planned(&run, before));
    let before = before.collect::<Result<Vec<_>, _>>()?;
    let mut failed = None;
    let mut length = usize::MAX;
    let end = search(&before, arguments.runs, |part| {
        if !part.is_empty() && part.len() != length {
            length = part.len();
            status_line(&format!("trying {length} of {} tests before it", before.len()));
        }
        trials.run(part).map_err(|lost| failed = lost.reason()).ok()
    });
    failed.map_or(Ok(()), Err)?;
    let end = end.ok_or_else(|| stop.not_run().to_string())?;
    let tests = counted(before.len(), "test");
    let text = match &end {
        SearchEnd::Cause { position, with, without } => format!(
            "{} makes {test} go wrong: {with} with it, {without} without\n",
            suspects.before[*position]
        ),
        SearchEnd::Several { with, without } => format!(
            "no single test found: {test} goes wrong in {with} after the {tests} before it, in {without} without\n"
        ),
        SearchEnd::NoDifference { with, without } => format!(
            "no difference found: {test} goes wrong by itself in {without}, and in {with} after the {tests} before it\n"
        ),
    };
    print_text(&text)?;
    let is_found = matches!(end, SearchEnd::Cause { .. });
    Ok(if is_found { SUCCESS } else { UNEXPECTED })
}

impl Suspects {
    /// Finds the first attempt of a test that went wrong after others in its worker. For a crash that belongs to no
    /// test, it is that of the last test.
    fn of(log: &Path, test: &str) -> Result<Self, AnyError> {
        let (mut paths, mut wrong) = (Vec::new(), Vec::new());
        let (mut contexts, mut profile) = (None, None);
        let mut starts: HashMap<u32, Vec<(TestId, SystemTime)>> = HashMap::new();
        for event in RunLog::events(log)? {
            match event? {
                // A resumed run has the options of its first part.
                Event::Run(header) if header.goes_on_with().is_none() => {
                    contexts = parent::recorded(&header).and_then(|run| run.kept.single.contexts);
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
        }
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
            let is_crash = matches!(attempt.attempt.outcome, Outcome::Crashed { .. });
            let time = attempt.attempt.end().duration_since(begin).unwrap_or_default();
            let wait = if is_crash { LONGEST_WAIT.min(time + MARGIN) } else { Duration::ZERO };
            let before = before.into_iter().collect();
            return Ok(Self { last, before, wait, contexts, profile });
        }
        Err(format!("{test} did not go wrong after other tests in {}", log.display()).into())
    }
}

/// Returns the position of a test in the plan, and its function.
fn planned(run: &Run<'_>, id: &TestId) -> Result<(Entry, &'static Test), String> {
    let found = run.plan.positions().find(|(_, entry)| run.plan.id(entry) == *id);
    match found.map(|(position, entry)| (position, &entry.test)) {
        Some((position, Case::Registered(test))) => Ok((position, *test)),
        Some(_) => Err(format!("{id} is a test of another program, in a process of its own")),
        None => Err(format!("{id} is not a test of this executable on a selected device")),
    }
}
