//! `clmatrix run`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;
use clmatrix_harness::Target;
use clmatrix_harness::private::config::ProfileShard;
use clmatrix_harness::private::config::{DEFAULT_PROFILE, WrittenExpectation};
use clmatrix_harness::private::devices::TestDevice;
use clmatrix_harness::private::execution::{BeforeTests, Execution, Finished};
use clmatrix_harness::private::header::run_header;
use clmatrix_harness::private::log::durations;
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::log::store::Place;
use clmatrix_harness::private::run::device_query::DeviceQuery;
use clmatrix_harness::private::run::plan::Plan;
use clmatrix_harness::private::run::repeat::Repeat;
use clmatrix_harness::private::run::resumed_run::ResumedRun;
use clmatrix_harness::private::run::state::{Run, shuffle_seed};
use clmatrix_harness::private::setup::{Options, Setup};
use clmatrix_harness::private::terminal::{self, AnyError, print_styled, status_line};
use clmatrix_harness::private::worker::job_call::JobCall;
use clmatrix_harness::shell_quoted;

use super::filter::Filter;
use super::rerun::Rerun;
use super::resume;
use super::run_arguments::{RunArguments, RunFormat};
use super::selection::Selection;
use super::shard::ChosenShard;
use super::test_set::TestSet;
use crate::characterize::jobs::{PROPERTIES, Query};
use crate::characterize::measure::measure;
use crate::characterize::option::Characterize;
use crate::external::listing::all_cases;
use crate::report::matrix::{Layout, ShownOutput};
use crate::report::progress::{Detail, Display, Progress};
use crate::report::{self, github};
use crate::resume::accepted::Accepted;
use crate::resume::unfinished::Unfinished;
use crate::shard::{Engine, ShardChoice};
use crate::stored_runs;

pub fn run(target: Target, arguments: &RunArguments) -> Result<ExitCode, AnyError> {
    let Some(run) = &arguments.resume else { return execute(target, arguments, None) };
    let unfinished = resume::find(&arguments.stored_runs(target)?, run)?;
    let arguments = resume::arguments(&unfinished.header, arguments)?;
    execute(target, &arguments, Some(unfinished))
}

/// Makes a run, or goes on with an unfinished one.
fn execute(
    target: Target,
    arguments: &RunArguments,
    unfinished: Option<Unfinished>,
) -> Result<ExitCode, AnyError> {
    let options = arguments.common.options(target);
    let setup = Setup::new(Options {
        strict_drivers: arguments.strict_drivers,
        timeout: arguments.timeout,
        timeout_factor: arguments.timeout_factor,
        slots: arguments.slots,
        retries: arguments.retries,
        contexts: arguments.contexts,
        ..options
    })?;
    if !arguments.quiet {
        status_line(&setup.config.summary());
    }
    let tests = all_cases(&setup.config, target.home)?;
    let devices = setup.devices_if_any()?;
    let paths: Vec<String> = tests.iter().map(|test| test.path(target.home)).collect();
    let selection = match &unfinished {
        None => arguments.selection(&setup, &paths)?,
        Some(unfinished) => Selection::of_run(unfinished)?,
    };
    let mut matches = false;
    let plan = Plan::new(target.home, &tests, devices, |id, entry, _| {
        let is_selected = selection.accepts(id);
        matches |= is_selected;
        is_selected && selection.has_in_shard(&entry.test.path(target.home))
    });
    // A shard may have no test.
    if !matches {
        return Err(arguments.no_test_matches(&plan.devices).into());
    }
    if let Some(chosen) = selection.shard.as_ref().filter(|_| !arguments.quiet) {
        status_line(&chosen.to_string());
    }
    warn_of_failed_drivers(&setup);
    for test in setup.unmatched_expectations(&tests, target.home) {
        status_line(&format!(
            "warning: no test of this target matches the expectation for {test:?}"
        ));
    }
    for warning in setup.warnings(&plan) {
        status_line(&format!("warning: {warning}"));
    }
    let mut run = arguments.planned(&setup, &plan)?;
    let Selection { parent, shard, .. } = &selection;
    let filter = arguments.filter.clone();
    let mut header = RunHeader {
        selected_tests: selection.tests.as_ref().map(TestSet::selected),
        shard: shard.as_ref().map(|chosen| chosen.shard.clone()),
        parent: parent.clone(),
        added_drivers: arguments.common.added_drivers(),
        ..run_header(&target, &setup, &run, arguments.rerun_command(&setup), filter)
    };
    let engine = shard.as_ref().and_then(|chosen| chosen.engine);
    engine.map_or(Ok(()), Engine::acknowledge)?;
    let mut place = Place {
        folder: arguments.report_folder_of(&setup, shard.as_ref()),
        run_id: header.run_id.clone(),
        is_full: selection.is_full() && !plan.lacks_devices(),
        resumes: None,
    };
    let expectations = setup.config.expectations.written();
    let mut resumed = match unfinished {
        Some(unfinished) => Some(arguments.accept(unfinished, &run, &header, expectations)?),
        None if shard.is_some() && !arguments.has_rounds() => {
            arguments.unfinished_shard(&place, &run, &header, expectations)
        }
        None => None,
    };
    if let Some(resumed) = &mut resumed {
        place = resume::place(&resumed.unfinished, place.run_id)?;
        run.seed = resumed.unfinished.header.seed;
        header.seed = run.seed;
        run.so_far = resume::so_far(&resumed.unfinished, &plan);
        status_line(&resumed.unfinished.to_string());
    }
    let folder = place.run_folder();
    let display = arguments.display(&setup);
    let durations = match display.has_progress() || run.has_order_by_durations() {
        true => durations::of_earlier_run(&place),
        false => HashMap::new(),
    };
    let progress = Progress::new(&run, display, &durations);
    if run.has_order_by_durations() {
        run.durations = durations;
    }
    let is_resumed = resumed.is_some();
    let junit_file = engine.map(Engine::junit_file).transpose();
    let junit_file = junit_file.map_err(|error| format!("XML_OUTPUT_FILE: {error}"))?.flatten();
    let step = github::Step::open();
    let execution = Execution {
        header,
        setup: &setup,
        plan: &plan,
        run,
        place: Some(place),
        junit_file,
        resumed: resumed.map(ResumedRun::from),
        before_tests: arguments.measurement(is_resumed),
        write_reports: report::write_all,
        print_events: arguments.format == RunFormat::Json,
    };
    let finished = execution.run(&progress, || progress.watch());
    terminal::clear_bars();
    let Finished { log, trouble, .. } = finished?;
    let log = log.expect("a run with a report folder has a log");
    if arguments.format == RunFormat::Matrix {
        arguments.print_matrix(&log, &folder)?;
    }
    if let Some(step) = step {
        step.report(&log, arguments.format == RunFormat::Matrix)?;
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
    /// Returns the folder of the stored runs, without a question to a driver.
    fn stored_runs(&self, target: Target) -> Result<PathBuf, AnyError> {
        let folder = self.report_dir.clone();
        Ok(folder.map_or_else(|| self.common.options(target).report_folder(), Ok)?)
    }

    /// Goes on with a run, unless it differs.
    fn accept(
        &self,
        unfinished: Unfinished,
        run: &Run<'_>,
        header: &RunHeader,
        expectations: &[Arc<WrittenExpectation>],
    ) -> Result<Accepted, AnyError> {
        let differences = resume::differences(&unfinished, run, header, expectations);
        if differences.is_empty() || self.anyway {
            return Ok(Accepted { unfinished, differences });
        }
        let id = &unfinished.header.run_id;
        Err(format!(
            "the run {id} does not go on here; with --anyway, it does\n  {}",
            differences.join("\n  ")
        )
        .into())
    }

    /// Finds the unfinished run of the same shard.
    fn unfinished_shard(
        &self,
        place: &Place,
        run: &Run<'_>,
        header: &RunHeader,
        expectations: &[Arc<WrittenExpectation>],
    ) -> Option<Accepted> {
        match resume::of_shard(place, run, header, expectations, self)? {
            Ok(unfinished) => Some(Accepted { unfinished, differences: Vec::new() }),
            Err(reason) => {
                let folder = place.folder.display();
                status_line(&format!(
                    "a new run: the unfinished one in {folder} does not go on: {reason}"
                ));
                None
            }
        }
    }

    fn max_fail(&self) -> Option<usize> {
        if self.fail_fast { Some(1) } else { self.max_fail.map(|most| most as usize) }
    }

    fn no_test_matches(&self, devices: &[TestDevice]) -> String {
        let mut ids: Vec<&str> = devices.iter().map(|device| device.run.id.as_str()).collect();
        if ids.is_empty() {
            ids.push("none");
        }
        let ids = ids.join(", ");
        match &self.filter[..] {
            [] if self.tests.is_some() || self.rerun.is_some() => {
                format!("none of the tests is on these devices: {ids}")
            }
            [] => "there is no test in this executable".to_owned(),
            filter => format!(
                "no test matches {} (devices: {ids}); `clmatrix list` shows all tests",
                filter.join(" or "),
            ),
        }
    }

    /// Returns the tests that are selected. `paths` are those of all tests.
    fn selection(&self, setup: &Setup, paths: &[String]) -> Result<Selection, AnyError> {
        let mut shard = self
            .sharding
            .choose(setup.profile.shard().map(|ProfileShard::Auto| ShardChoice::Auto))?;
        let folder = self.report_folder(setup);
        // The latest run of a shard is in its folder.
        let of_shard = self.report_folder_of(setup, shard.as_ref());
        let find = |run: &str| {
            stored_runs::find(&of_shard, run).or_else(|_| stored_runs::find(&folder, run))
        };
        let rerun = self.rerun.as_ref().map(|values| Rerun::new(values, find)).transpose()?;
        let part = rerun.as_ref().and_then(|rerun| rerun.shard.clone());
        let (parent, rerun) = rerun.map(|rerun| (rerun.parent, rerun.tests)).unzip();
        let listed = self.tests.as_ref().map(|file| TestSet::read(file, paths)).transpose()?;
        let (filter, tests) = (Filter::new(&self.filter)?, rerun.or(listed));
        let selected = paths.iter().map(String::as_str).filter(|path| {
            filter.accepts_test(path) && tests.as_ref().is_none_or(|tests| tests.has_test(path))
        });
        if let Some(shard) = &mut shard
            && !part.is_some_and(|part| shard.adopt(part))
        {
            self.sharding.balance(shard, || Ok(folder), selected)?;
        }
        Ok(Selection { filter, tests, parent, shard })
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
    fn rerun_command(&self, setup: &Setup) -> String {
        let mut command =
            std::env::var("CLMATRIX_RERUN").unwrap_or_else(|_| "clmatrix run".to_owned());
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
        if let Some(timeout) = self.timeout {
            add("--timeout", &humantime::format_duration(timeout).to_string());
        }
        if let Some(factor) = self.timeout_factor {
            add("--timeout-factor", &factor.get().to_string());
        }
        if let Some(contexts) = self.contexts.and_then(|contexts| contexts.to_possible_value()) {
            add("--contexts", contexts.get_name());
        }
        if self.include_ignored {
            command += " --include-ignored";
        }
        if self.run_skipped {
            command += " --run-skipped";
        }
        command
    }

    fn display(&self, setup: &Setup) -> Display {
        let detail = match self {
            Self { quiet: true, .. } => Detail::Quiet,
            Self { verbose: true, .. } => Detail::Verbose,
            _ => Detail::Normal,
        };
        let slow_after = self.slow_after.unwrap_or(setup.profile.slow_after());
        Display { detail, interval: self.progress_interval, slow_after }
    }

    /// Makes the run of a plan.
    fn planned<'a>(&self, setup: &Setup, plan: &'a Plan) -> Result<Run<'a>, AnyError> {
        let run = setup.run(plan)?;
        Ok(Run {
            include_ignored: self.include_ignored,
            run_skipped: self.run_skipped,
            max_fail: self.max_fail(),
            deadline: self.deadline.or(run.deadline),
            seed: shuffle_seed(self.shuffle, self.seed),
            repeat: Repeat {
                rounds: self.repeat,
                time: self.repeat_for,
                until_fail: self.until_fail,
            },
            echo: self.no_capture,
            device_query: Some(self.device_query()),
            ..run
        })
    }

    /// Returns the question about the properties of a device. Only with `--characterize` are kernels built: that takes
    /// 60 ms with PoCL and 400 ms with Intel's driver.
    fn device_query(&self) -> DeviceQuery {
        let with_builds = self.characterize.is_some();
        let call = JobCall::new(PROPERTIES, &Query { with_builds });
        DeviceQuery { call, ends_worker: with_builds }
    }

    /// Returns the measurement of the devices before the first test, if the run has one.
    fn measurement(&self, is_resumed: bool) -> Option<BeforeTests> {
        let measures = self.characterize == Some(Characterize::Measure) && !is_resumed;
        measures.then_some(measure as BeforeTests)
    }

    fn print_matrix(&self, log: &RunLog, folder: &Path) -> Result<(), AnyError> {
        let output = match self {
            Self { show_output: true, .. } => ShownOutput::All,
            // The output has been shown already.
            Self { no_capture: true, .. } => ShownOutput::Hidden,
            _ => ShownOutput::FewUnexpected,
        };
        let layout = Layout::of_terminal(Some(folder), output, self.quiet, self.all);
        print_styled(&report::matrix::matrix(log, layout))
    }
}
