//! `clmatrix run`.

use std::path::{Path, PathBuf};

use clmatrix_runner::config::{DEFAULT_PROFILE, ProfileShard};
use clmatrix_runner::debug;
use clmatrix_runner::devices::TestDevice;
use clmatrix_runner::devices::icd::absolute;
use clmatrix_runner::execution::{BeforeTests, EndedRun, Execution};
use clmatrix_runner::header::run_header;
use clmatrix_runner::log::durations;
use clmatrix_runner::log::run_header::{self, RunHeader};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::store::Place;
use clmatrix_runner::run::plan::Plan;
use clmatrix_runner::run::state::{DeviceQuery, Run, shuffle_seed};
use clmatrix_runner::setup::{Options, Setup};
use clmatrix_runner::shard::Engine;
use clmatrix_runner::target::Target;
use clmatrix_runner::terminal::{self, AnyError, print_styled, status_line};
use clmatrix_runner::text::shell_quoted;
use clmatrix_runner::variable::{VariableError, text_variable};
use clmatrix_runner::worker::job::JobCall;

use super::parent;
use super::run_arguments::{
    Characterize, DisplayOptions, KeptOptions, RunArguments, RunFormat, SingleTestOptions,
};
use super::selection::{Filter, Selection, TestSet};
use super::shard::ChosenShard;
use crate::characterize::jobs::PROPERTIES;
use crate::characterize::measure;
use crate::external::listing::all_cases;
use crate::parent::Parent;
use crate::report::matrix::{Layout, ShownOutput};
use crate::report::progress::{Detail, Display, Progress};
use crate::report::{self, github};
use crate::shard::ShardChoice;
use crate::stored_runs;

pub fn run(target: Target, given: &RunArguments) -> Result<u8, AnyError> {
    let options = given.options(target);
    let folder = || given.report_dir.clone().map_or_else(|| options.report_folder(), Ok);
    // Without a query of a driver.
    let unfinished = |run| parent::unfinished(&folder()?, run);
    let unfinished = given.resume.as_deref().map(unfinished).transpose()?;
    let recorded = unfinished.as_ref().map(|run| parent::arguments(&run.header, given));
    let recorded = recorded.transpose()?;
    let arguments = recorded.as_ref().unwrap_or(given);
    let setup = Setup::new(arguments.options(target))?;
    if !arguments.display.quiet {
        status_line(&setup.config.summary());
    }
    let tests = all_cases(&setup.config, target.home)?;
    let devices = setup.devices_if_any()?;
    let paths: Vec<String> = tests.iter().map(|test| test.path(target.home)).collect();
    let selection = arguments.selection(&setup, &paths, unfinished)?;
    let shard = selection.shard.as_ref();
    let mut matches = false;
    let mut unmatched = selection.filter.unmatched();
    let plan = Plan::new(target.home, &tests, devices, |id, _, _| {
        unmatched.remove_those_of(id);
        let is_selected = selection.accepts(id);
        matches |= is_selected;
        is_selected && shard.is_none_or(|shard| shard.has(id.path()))
    });
    let unmatched = unmatched.texts();
    // A shard may have no test.
    if !matches || !unmatched.is_empty() {
        return Err(arguments.no_test_matches(&unmatched, &plan.devices).into());
    }
    if let Some(chosen) = shard.filter(|_| !arguments.display.quiet) {
        status_line(&chosen.to_string());
    }
    // The matrix does not show drivers that failed.
    let failed = setup.machine.failed.iter().map(|failed| format!("driver {failed}"));
    let without_test =
        |test| format!("no test of this target matches the expectation for {test:?}");
    let unused = setup.unmatched_expectations(&tests, target.home).into_iter().map(without_test);
    let warnings = failed.chain(unused).chain(setup.warnings(&plan, &tests, target.home));
    warnings.for_each(|warning| status_line(&format!("warning: {warning}")));
    let mut run = arguments.planned(&setup, &plan)?;
    let filter = arguments.kept.filter.clone();
    let icd = arguments.common.icd.iter();
    let mut header = RunHeader {
        selected_tests: selection.tests.as_ref().map(TestSet::selected),
        shard: shard.map(|chosen| chosen.shard.clone()),
        // The paths are valid in every folder.
        added_drivers: icd.map(|path| absolute(path).display().to_string()).collect(),
        ..run_header(&target, &setup, &run, arguments.rerun_command(&setup)?, filter)
    };
    let engine = shard.and_then(|chosen| chosen.engine);
    engine.map_or(Ok(()), Engine::acknowledge)?;
    let has_all_tests = arguments.kept.filter.is_empty() && selection.tests.is_none();
    let mut place = Place {
        folder: arguments.report_folder(&setup, shard),
        run_id: header.run_id.clone(),
        is_full: has_all_tests && !plan.lacks_devices(),
        resumes: None,
    };
    let expectations = &setup.config.expectations.written();
    let mut parent = selection.parent;
    if shard.is_some() && !arguments.kept.repetition().is_on() {
        match parent::of_shard(&place, &run, &header, expectations, arguments) {
            Ok(unfinished) => parent = unfinished.or(parent),
            Err(reason) => status_line(&format!(
                "a new run: the unfinished one in {} cannot be resumed: {reason}",
                place.folder.display()
            )),
        }
    }
    let mut resumed = None;
    if let Some(parent) = parent {
        let (run_id, goes_on) = (parent.header.run_id.clone(), parent.goes_on());
        let mut difference = None;
        if goes_on {
            difference = parent::difference(&parent, &run, &header, expectations);
            if let Some(difference) = difference.as_ref().filter(|_| !arguments.anyway) {
                let reason = format!("{difference}; --anyway resumes it");
                return Err(format!("the run {run_id} cannot be resumed here: {reason}").into());
            }
            place = parent::place(&parent, place.run_id)?;
            run.seed = parent.header.seed;
            header.seed = run.seed;
            run.so_far = parent::so_far(&parent, &plan);
            status_line(&parent.to_string());
            resumed = Some(parent.sum);
        }
        header.parent = Some(run_header::Parent { run_id, goes_on, difference });
    }
    let folder = place.run_folder();
    let display = arguments.shown(&setup);
    if display.has_progress() || run.has_order_by_durations() {
        run.durations = durations::of_earlier_run(&place);
    }
    let progress = Progress::new(&run, display, &run.durations);
    let measures = arguments.kept.characterize == Some(Characterize::Measure) && resumed.is_none();
    let prints_matrix = arguments.display.format == RunFormat::Matrix;
    let junit_file = engine.map_or(Ok(None), Engine::junit_file)?;
    let step = github::Step::open();
    let execution = Execution {
        header,
        setup: &setup,
        plan: &plan,
        run,
        place: Some(place),
        junit_file,
        resumed,
        before_tests: measures.then_some(measure as BeforeTests),
        write_reports: report::write_all,
        print_events: !prints_matrix,
    };
    if let Some(debugger) = &arguments.display.debugger {
        return debug::run(execution, debugger);
    }
    let finished = execution.run(&progress, || progress.watch());
    terminal::clear_bars();
    let EndedRun { log, trouble, .. } = finished?;
    let log = log.expect("a run with a report folder has a log");
    if prints_matrix {
        arguments.print_matrix(&log, &folder)?;
    }
    step.map_or(Ok(()), |step| step.report(&log, prints_matrix))?;
    trouble.map_or(Ok(()), Err)?;
    setup.require_devices(&plan)?;
    Ok(log.exit_status())
}

impl RunArguments {
    fn options(&self, target: Target) -> Options {
        let KeptOptions { strict_drivers, slots, retries, .. } = self.kept;
        let SingleTestOptions { timeout, timeout_factor, contexts, .. } = self.kept.single;
        let common = self.common.options(target);
        Options { strict_drivers, timeout, timeout_factor, slots, retries, contexts, ..common }
    }

    /// Returns the error for filters without a test, or for a selection without one.
    fn no_test_matches(&self, unmatched: &[&str], devices: &[TestDevice]) -> String {
        let ids: Vec<&str> = devices.iter().map(|device| device.run.id.as_str()).collect();
        let ids = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        let is_named = self.kept.tests.is_some() || self.kept.rerun.is_some();
        let filter = match unmatched {
            [] => self.kept.filter.join(" or "),
            unmatched => unmatched.join(" or "),
        };
        match (unmatched, &*filter) {
            ([], "") if is_named => format!("none of the tests is on these devices: {ids}"),
            ([], "") => "there is no test in this executable".to_owned(),
            ([], _) if is_named => {
                format!("none of the named tests matches {filter} (devices: {ids})")
            }
            _ => format!(
                "no test matches {filter} (devices: {ids}); `clmatrix list` shows all tests"
            ),
        }
    }

    /// Returns the tests that are selected: those of the unfinished run, if one is resumed. `paths` are those of all
    /// tests.
    fn selection(
        &self,
        setup: &Setup,
        paths: &[String],
        unfinished: Option<Parent>,
    ) -> Result<Selection, AnyError> {
        if let Some(parent) = unfinished {
            let (filter, tests) = (Filter::new(&[])?, Some(parent.tests().cloned().collect()));
            return Ok(Selection { filter, tests, parent: Some(parent), shard: None });
        }
        let by_profile = setup.profile.shard.map(|ProfileShard::Auto| ShardChoice::Auto);
        let mut shard = self.sharding.choose(by_profile)?;
        let folder = self.report_folder(setup, None);
        // The latest run of a shard is in its folder.
        let of_shard = self.report_folder(setup, shard.as_ref());
        let find = |run: &str| {
            stored_runs::find(&of_shard, run).or_else(|_| stored_runs::find(&folder, run))
        };
        let KeptOptions { rerun, tests, .. } = &self.kept;
        let again = rerun.as_ref().map(|values| parent::again(values, find)).transpose()?;
        let part = again.as_ref().and_then(|again| again.header.shard.clone());
        let listed = tests.as_ref().map(|file| TestSet::read(file, paths)).transpose()?;
        let tests = again.as_ref().map(|again| again.tests().cloned().collect()).or(listed);
        let filter = Filter::new(&self.kept.filter)?;
        let selected = paths.iter().map(String::as_str).filter(|path| {
            filter.accepts_test(path) && tests.as_ref().is_none_or(|tests| tests.has_test(path))
        });
        if let Some(shard) = &mut shard
            && !part.is_some_and(|part| shard.adopt(part))
        {
            self.sharding.balance(shard, || Ok(folder), selected)?;
        }
        Ok(Selection { filter, tests, parent: again, shard })
    }

    /// Returns the folder of the reports of a shard, or of runs without one.
    fn report_folder(&self, setup: &Setup, shard: Option<&ChosenShard>) -> PathBuf {
        let of_engine = || shard?.engine?.report_folder();
        let folder = self.report_dir.clone().or_else(of_engine);
        let folder = folder.unwrap_or_else(|| setup.report_folder());
        shard.map(|chosen| folder.join(chosen.shard.folder())).unwrap_or(folder)
    }

    /// Returns the command that selects the same devices and expectations again. CLMATRIX_RERUN holds
    /// the command of a wrapper that has set the environment up.
    fn rerun_command(&self, setup: &Setup) -> Result<String, VariableError> {
        let mut command =
            text_variable("CLMATRIX_RERUN")?.unwrap_or_else(|| "clmatrix run".to_owned());
        // The variables may not be set in the shell that reruns a test.
        let icd = setup.added_drivers().iter().map(|icd| ("--icd", icd.display().to_string()));
        let config = setup.config.named_file().map(|file| ("--config", file.display().to_string()));
        let profile = Some(&setup.profile_name).filter(|name| *name != DEFAULT_PROFILE);
        let profile = profile.map(|name| ("--profile", name.clone()));
        for (option, value) in icd.chain(config).chain(profile) {
            command += &format!(" {option} {}", shell_quoted(&value));
        }
        self.kept.add_to_rerun(&mut command);
        Ok(command)
    }

    fn shown(&self, setup: &Setup) -> Display {
        let detail = match self.display {
            DisplayOptions { quiet: true, .. } => Detail::Quiet,
            DisplayOptions { verbose: true, .. } => Detail::Verbose,
            _ => Detail::Normal,
        };
        let slow_after = self.display.slow_after.unwrap_or(setup.profile.slow_after);
        Display { detail, interval: self.display.progress_interval, slow_after }
    }

    /// Makes the run of a plan.
    fn planned<'a>(&self, setup: &Setup, plan: &'a Plan) -> Result<Run<'a>, AnyError> {
        let run = setup.run(plan)?;
        if self.kept.repetition().is_on() && run.settings.iter().any(|known| known.retries.is_on())
        {
            let reason = "the configuration has `retries`, which have no effect in a run that repeats its tests";
            return Err(format!("{reason}; --retries 0 turns them off").into());
        }
        // Only `--characterize` builds kernels, which takes 60 ms with PoCL and 400 ms with Intel's driver.
        let with_builds = self.kept.characterize.is_some();
        let call = JobCall::new(PROPERTIES, &with_builds);
        Ok(Run {
            include_ignored: self.kept.single.include_ignored,
            run_skipped: self.kept.single.run_skipped,
            max_fail: self.limits.max_fail().map(|most| most as usize),
            deadline: self.limits.deadline.or(run.deadline),
            seed: shuffle_seed(self.kept.shuffle, self.kept.seed),
            repeat: self.kept.repetition(),
            echo: self.display.no_capture,
            device_query: Some(DeviceQuery { call, ends_worker: with_builds }),
            ..run
        })
    }

    fn print_matrix(&self, log: &RunLog, folder: &Path) -> Result<(), AnyError> {
        let output = match self.display {
            DisplayOptions { show_output: true, .. } => ShownOutput::All,
            // The output has been shown already.
            DisplayOptions { no_capture: true, .. } => ShownOutput::Hidden,
            _ => ShownOutput::FewUnexpected,
        };
        let layout =
            Layout::of_terminal(Some(folder), output, self.display.quiet, self.display.all);
        print_styled(&report::matrix::matrix(log, layout))
    }
}
