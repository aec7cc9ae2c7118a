//! `clmatrix run`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clmatrix_runner::config::ProfileShard;
use clmatrix_runner::config::{DEFAULT_PROFILE, WrittenExpectation};
use clmatrix_runner::debug;
use clmatrix_runner::devices::TestDevice;
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

use super::filter::Filter;
use super::parent;
use super::run_arguments::{DisplayOptions, RunArguments, RunFormat};
use super::selection::Selection;
use super::shard::ChosenShard;
use super::test_set::TestSet;
use crate::characterize::jobs::{PROPERTIES, Query};
use crate::characterize::measure::measure;
use crate::characterize::option::Characterize;
use crate::external::listing::all_cases;
use crate::parent::Parent;
use crate::report::matrix::{Layout, ShownOutput};
use crate::report::progress::{Detail, Display, Progress};
use crate::report::{self, github};
use crate::shard::ShardChoice;
use crate::stored_runs;

pub fn run(target: Target, arguments: &RunArguments) -> Result<ExitCode, AnyError> {
    let Some(run) = &arguments.resume else { return execute(target, arguments, None) };
    let unfinished = parent::unfinished(&arguments.stored_runs(target)?, run)?;
    let arguments = parent::arguments(&unfinished.header, arguments)?;
    execute(target, &arguments, Some(unfinished))
}

/// Makes a run, which may resume an unfinished one.
fn execute(
    target: Target,
    arguments: &RunArguments,
    unfinished: Option<Parent>,
) -> Result<ExitCode, AnyError> {
    let options = arguments.common.options(target);
    let setup = Setup::new(Options {
        strict_drivers: arguments.kept.strict_drivers,
        timeout: arguments.kept.timeout,
        timeout_factor: arguments.kept.timeout_factor,
        slots: arguments.kept.slots,
        retries: arguments.kept.retries,
        contexts: arguments.kept.contexts,
        ..options
    })?;
    if !arguments.display.quiet {
        status_line(&setup.config.summary());
    }
    let tests = all_cases(&setup.config, target.home)?;
    let devices = setup.devices_if_any()?;
    let paths: Vec<String> = tests.iter().map(|test| test.path(target.home)).collect();
    let selection = arguments.selection(&setup, &paths, unfinished)?;
    let mut matches = false;
    let mut unmatched = selection.filter.unmatched();
    let plan = Plan::new(target.home, &tests, devices, |id, entry, _| {
        unmatched.remove_those_of(id);
        let is_selected = selection.accepts(id);
        matches |= is_selected;
        is_selected && selection.has_in_shard(&entry.test.path(target.home))
    });
    let unmatched = unmatched.texts();
    // A shard may have no test.
    if !matches || !unmatched.is_empty() {
        return Err(arguments.no_test_matches(&unmatched, &plan.devices).into());
    }
    if let Some(chosen) = selection.shard.as_ref().filter(|_| !arguments.display.quiet) {
        status_line(&chosen.to_string());
    }
    warn_of_failed_drivers(&setup);
    for test in setup.unmatched_expectations(&tests, target.home) {
        status_line(&format!(
            "warning: no test of this target matches the expectation for {test:?}"
        ));
    }
    for warning in setup.warnings(&plan, &tests, target.home) {
        status_line(&format!("warning: {warning}"));
    }
    let mut run = arguments.planned(&setup, &plan)?;
    let shard = selection.shard.as_ref();
    let filter = arguments.kept.filter.clone();
    let mut header = RunHeader {
        selected_tests: selection.tests.as_ref().map(TestSet::selected),
        shard: shard.map(|chosen| chosen.shard.clone()),
        added_drivers: arguments.common.added_drivers(),
        ..run_header(&target, &setup, &run, arguments.rerun_command(&setup)?, filter)
    };
    let engine = shard.and_then(|chosen| chosen.engine);
    engine.map_or(Ok(()), Engine::acknowledge)?;
    let mut place = Place {
        folder: arguments.report_folder_of(&setup, shard),
        run_id: header.run_id.clone(),
        is_full: selection.is_full() && !plan.lacks_devices(),
        resumes: None,
    };
    let expectations = setup.config.expectations.written();
    let parent = match selection.parent {
        again if shard.is_some() && !arguments.kept.repetition().is_on() => {
            arguments.unfinished_shard(&place, &run, &header, expectations).or(again)
        }
        parent => parent,
    };
    header.parent = parent.as_ref().map(|parent| run_header::Parent {
        run_id: parent.header.run_id.clone(),
        goes_on: parent.goes_on(),
        difference: None,
    });
    let resumed = parent.filter(Parent::goes_on).map(|parent| {
        let difference = parent::difference(&parent, &run, &header, expectations);
        if let Some(difference) = difference.as_ref().filter(|_| !arguments.anyway) {
            let id = &parent.header.run_id;
            return Err(format!(
                "the run {id} cannot be resumed here: {difference}; --anyway resumes it"
            )
            .into());
        }
        place = parent::place(&parent, std::mem::take(&mut place.run_id))?;
        run.seed = parent.header.seed;
        header.seed = run.seed;
        header.parent.iter_mut().for_each(|known| known.difference.clone_from(&difference));
        run.so_far = parent::so_far(&parent, &plan);
        status_line(&parent.to_string());
        Ok::<_, AnyError>(parent.sum)
    });
    let resumed = resumed.transpose()?;
    let folder = place.run_folder();
    let display = arguments.shown(&setup);
    let durations = match display.has_progress() || run.has_order_by_durations() {
        true => durations::of_earlier_run(&place),
        false => HashMap::new(),
    };
    let progress = Progress::new(&run, display, &durations);
    if run.has_order_by_durations() {
        run.durations = durations;
    }
    let is_resumed = resumed.is_some();
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
        before_tests: arguments.measurement(is_resumed),
        write_reports: report::write_all,
        print_events: arguments.display.format == RunFormat::Json,
    };
    if let Some(debugger) = &arguments.display.debugger {
        return debug::run(execution, debugger);
    }
    let finished = execution.run(&progress, || progress.watch());
    terminal::clear_bars();
    let EndedRun { log, trouble, .. } = finished?;
    let log = log.expect("a run with a report folder has a log");
    if arguments.display.format == RunFormat::Matrix {
        arguments.print_matrix(&log, &folder)?;
    }
    if let Some(step) = step {
        step.report(&log, arguments.display.format == RunFormat::Matrix)?;
    }
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    setup.require_devices(&plan)?;
    Ok(ExitCode::from(log.exit_status()))
}

/// Warns about drivers that do not show in the matrix.
fn warn_of_failed_drivers(setup: &Setup) {
    for failed in &setup.machine.failed {
        status_line(&format!("warning: driver {failed}"));
    }
}

impl RunArguments {
    /// Returns the folder of the stored runs, without a query of a driver.
    fn stored_runs(&self, target: Target) -> Result<PathBuf, AnyError> {
        let folder = self.report_dir.clone();
        Ok(folder.map_or_else(|| self.common.options(target).report_folder(), Ok)?)
    }

    /// Finds the unfinished run of the same shard.
    fn unfinished_shard(
        &self,
        place: &Place,
        run: &Run<'_>,
        header: &RunHeader,
        expectations: &[Arc<WrittenExpectation>],
    ) -> Option<Parent> {
        match parent::of_shard(place, run, header, expectations, self)? {
            Ok(unfinished) => Some(unfinished),
            Err(reason) => {
                let folder = place.folder.display();
                status_line(&format!(
                    "a new run: the unfinished one in {folder} cannot be resumed: {reason}"
                ));
                None
            }
        }
    }

    /// Returns the error for filters without a test, or for a selection without one.
    fn no_test_matches(&self, unmatched: &[&str], devices: &[TestDevice]) -> String {
        let mut ids: Vec<&str> = devices.iter().map(|device| device.run.id.as_str()).collect();
        if ids.is_empty() {
            ids.push("none");
        }
        let ids = ids.join(", ");
        let filter = match (unmatched, &self.kept.filter[..]) {
            ([], []) if self.kept.tests.is_some() || self.kept.rerun.is_some() => {
                return format!("none of the tests is on these devices: {ids}");
            }
            ([], []) => return "there is no test in this executable".to_owned(),
            ([], filter) if self.kept.tests.is_some() || self.kept.rerun.is_some() => {
                let filter = filter.join(" or ");
                return format!("none of the named tests matches {filter} (devices: {ids})");
            }
            ([], filter) => filter.join(" or "),
            (unmatched, _) => unmatched.join(" or "),
        };
        format!("no test matches {filter} (devices: {ids}); `clmatrix list` shows all tests")
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
        let mut shard = self
            .sharding
            .choose(setup.profile.shard.map(|ProfileShard::Auto| ShardChoice::Auto))?;
        let folder = self.report_folder(setup);
        // The latest run of a shard is in its folder.
        let of_shard = self.report_folder_of(setup, shard.as_ref());
        let find = |run: &str| {
            stored_runs::find(&of_shard, run).or_else(|_| stored_runs::find(&folder, run))
        };
        let again =
            self.kept.rerun.as_ref().map(|values| parent::again(values, find)).transpose()?;
        let part = again.as_ref().and_then(|again| again.header.shard.clone());
        let listed = self.kept.tests.as_ref().map(|file| TestSet::read(file, paths)).transpose()?;
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

    /// Returns the folder of the reports of runs without a shard.
    fn report_folder(&self, setup: &Setup) -> PathBuf {
        self.report_dir.clone().unwrap_or_else(|| setup.report_folder())
    }

    /// Returns the folder of the reports.
    fn report_folder_of(&self, setup: &Setup, shard: Option<&ChosenShard>) -> PathBuf {
        let Some(ChosenShard { shard, engine, .. }) = shard else {
            return self.report_folder(setup);
        };
        let by_engine =
            engine.filter(|_| self.report_dir.is_none()).and_then(Engine::report_folder);
        by_engine.unwrap_or_else(|| self.report_folder(setup)).join(shard.folder())
    }

    /// Returns the command that selects the same devices and expectations again. CLMATRIX_RERUN holds
    /// the command of a wrapper that has set the environment up.
    fn rerun_command(&self, setup: &Setup) -> Result<String, VariableError> {
        let mut command =
            text_variable("CLMATRIX_RERUN")?.unwrap_or_else(|| "clmatrix run".to_owned());
        let mut add = |option: &str, value: &str| {
            command += &format!(" {option} {}", shell_quoted(value));
        };
        // The variables may not be set in the shell that reruns a test.
        for icd in setup.added_drivers() {
            add("--icd", &icd.display().to_string());
        }
        if let Some(config) = setup.config.named_file() {
            add("--config", &config.display().to_string());
        }
        if setup.profile_name != DEFAULT_PROFILE {
            add("--profile", &setup.profile_name);
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
        Ok(Run {
            include_ignored: self.kept.include_ignored,
            run_skipped: self.kept.run_skipped,
            max_fail: self.limits.max_fail().map(|most| most as usize),
            deadline: self.limits.deadline.or(run.deadline),
            seed: shuffle_seed(self.kept.shuffle, self.kept.seed),
            repeat: self.kept.repetition(),
            echo: self.display.no_capture,
            device_query: Some(self.device_query()),
            ..run
        })
    }

    /// Returns the query of the properties of a device. Only `--characterize` builds kernels, which takes 60 ms with
    /// PoCL and 400 ms with Intel's driver.
    fn device_query(&self) -> DeviceQuery {
        let with_builds = self.kept.characterize.is_some();
        let call = JobCall::new(PROPERTIES, &Query { with_builds });
        DeviceQuery { call, ends_worker: with_builds }
    }

    /// Returns the measurement of the devices before the first test, if the run has one.
    fn measurement(&self, is_resumed: bool) -> Option<BeforeTests> {
        let measures = self.kept.characterize == Some(Characterize::Measure) && !is_resumed;
        measures.then_some(measure as BeforeTests)
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
