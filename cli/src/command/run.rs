//! `clmatrix run`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};
use clmatrix_harness::Target;
use clmatrix_harness::private::config::ProfileShard;
use clmatrix_harness::private::config::{
    Contexts, DEFAULT_PROFILE, Slots, TimeoutFactor, WrittenExpectation, time_limit,
};
use clmatrix_harness::private::devices::TestDevice;
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::log::store::{self, Place};
use clmatrix_harness::private::run::device_query::DeviceQuery;
use clmatrix_harness::private::run::execution::{BeforeTests, Execution, Finished, run_header};
use clmatrix_harness::private::run::plan::Plan;
use clmatrix_harness::private::run::repeat::Repeat;
use clmatrix_harness::private::run::resumed_run::ResumedRun;
use clmatrix_harness::private::run::state::{Run, shuffle_seed};
use clmatrix_harness::private::setup::{Options, Setup};
use clmatrix_harness::private::terminal::{self, AnyError, print, status_line};
use clmatrix_harness::private::worker::job_call::JobCall;
use clmatrix_harness::shell_quoted;

use super::common::Common;
use super::filter::Filter;
use super::rerun::Rerun;
use super::resume;
use super::selection::Selection;
use super::shard::{ChosenShard, ShardArguments};
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

pub const EXAMPLES: &str = "\
Examples:
  clmatrix run                              all tests on all devices
  clmatrix run buffer::                     one suite
  clmatrix run 'buffer::fill*@pocl-cpu'     tests and devices by a glob
  clmatrix run buffer::fill@                one test on every device
  clmatrix run --devices 'nvidia:*;pocl'    on some devices
  clmatrix run --icd /opt/lib/libpocl.so    with a driver that has no .icd file
  clmatrix run --profile ci                 fail if an expected device is absent
  clmatrix run --rerun failed               the tests that failed in the latest run
  clmatrix list --ids | grep rect | clmatrix run --tests -
  clmatrix run --resume                     go on with the latest run, which was killed
  clmatrix run --shard 2/8                  the second of eight parts of the tests";

#[derive(Args)]
pub struct RunArguments {
    /// Tests to run: parts of the id (`suite::test::case@device`), whole ids (with an `@`;
    /// `suite::test@` is the test on every device), or globs [default: all tests].
    filter: Vec<String>,
    /// Run the tests of this file: an id (`suite::test::case@device`) or a path (`suite::test::case`, on
    /// every device) in each line; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "rerun")]
    tests: Option<PathBuf>,
    /// Run tests of an earlier run again: those that `failed`, were `not-run`, were `flaky`, or `all`. The
    /// run is a folder, a log file, an id or its beginning [default: the latest run].
    #[arg(long, value_names = ["WHICH", "RUN"], num_args = 1..=2)]
    rerun: Option<Vec<String>>,
    /// Go on with a run that was killed or cut short: the tests without a result, with the options of
    /// that run, as a new run. A test that was running then runs again; one that was running twice has crashed.
    /// The run is a folder, a log file, an id or its beginning [default: the latest run].
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "latest",
        conflicts_with_all = [
            "filter", "tests", "rerun", "shard", "shards", "balance", "profile", "config", "devices", "icd",
            "strict_drivers", "characterize", "include_ignored", "run_skipped", "timeout", "timeout_factor", "slots",
            "retries", "contexts", "shuffle", "seed", "repeat", "repeat_for", "until_fail",
        ],
    )]
    resume: Option<String>,
    /// Go on even if the executable, the devices, the versions of drivers, the settings or the expectations
    /// are others. The log has the differences.
    #[arg(long, requires = "resume")]
    anyway: bool,
    #[command(flatten)]
    sharding: ShardArguments,
    #[command(flatten)]
    common: Common,
    /// Write events.jsonl, report.html, junit/DEVICE.xml and summary.md to the folder `runs/RUN_ID` in this
    /// folder; a run without a FILTER also shows them in this folder itself
    /// [default: CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
    /// Print the matrix after the run, or each event as a line of JSON when it happens.
    #[arg(long, value_enum, default_value_t = RunFormat::Matrix)]
    format: RunFormat,
    /// Fail the run if a driver of this machine shows no platform [default: the profile's
    /// `strict-drivers`].
    #[arg(long)]
    strict_drivers: bool,
    /// Also record the properties of devices that need the build of a kernel (`builds`), and also measure
    /// each device before the tests, as `clmatrix characterize --measure` does (`measure`; half a minute
    /// for each device) [default without a value: builds].
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "builds",
    )]
    characterize: Option<Characterize>,
    /// Also run the tests that are marked `#[ignore]`.
    #[arg(long)]
    include_ignored: bool,
    /// Also run the tests that only an expectation skips. Their results do not fail the run.
    #[arg(long)]
    run_skipped: bool,
    /// The time limit of a test that has none of its own, also on devices with an override
    /// [default: the configuration's, else 60s].
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    timeout: Option<Duration>,
    /// Multiply the time limits of tests, also those that tests set [default: the profile's, else 1].
    #[arg(long, value_name = "NUMBER")]
    timeout_factor: Option<TimeoutFactor>,
    /// The number of tests that run at the same time on a device, also on devices with an override, or `auto`: the
    /// processors per processor device, at most 8, and up to 4 on a GPU [default: the configuration's, else auto].
    #[arg(long, value_name = "N", overrides_with = "slots")]
    slots: Option<Slots>,
    /// Repeat a test that goes wrong up to this number of times, alone [default: the configuration's,
    /// else 0].
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// The contexts of tests: new ones, or contexts that earlier tests have used, also on devices with an
    /// override [default: the configuration's, else reuse on GPUs and accelerators].
    #[arg(long, value_enum, value_name = "CONTEXTS")]
    contexts: Option<Contexts>,
    /// Run the tests of each device in a random order. The seed is printed and logged.
    #[arg(long)]
    shuffle: bool,
    /// Run the tests of each device in the order of this seed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run the tests of each device this number of times, in rounds.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Run the tests of each device in rounds, and start none after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    repeat_for: Option<Duration>,
    /// Run the tests of each device in rounds, until a result on the device is unexpected.
    #[arg(long)]
    until_fail: bool,
    /// Stop the run after this time, and write the reports [default: the profile's, else never].
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    deadline: Option<Duration>,
    /// Stop the run after this number of unexpected results.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    max_fail: Option<u32>,
    /// Stop the run after the first unexpected result.
    #[arg(long, conflicts_with = "max_fail")]
    fail_fast: bool,
    /// Show the output of running tests at once, line by line, on standard error.
    #[arg(long, visible_alias = "nocapture")]
    no_capture: bool,
    /// Show the end of the captured output of all tests, also of those that pass [default: of
    /// unexpected results, if there are at most ten].
    #[arg(long)]
    show_output: bool,
    /// Show all unexpected results, not only the first 20 of each device.
    #[arg(long)]
    all: bool,
    /// Print only the unexpected results and the summary.
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print each result when its test has ended.
    #[arg(short, long)]
    verbose: bool,
    /// Print a line per device at this interval, where standard error is not a terminal; 0s: never.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    progress_interval: Duration,
    /// Name a test when it has been running for this time, and again at each doubling, unless `--quiet`
    /// [default: the profile's, else 10s].
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    slow_after: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunFormat {
    Matrix,
    Json,
}

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
    for warning in setup.expectation_warnings(&plan) {
        status_line(&format!("warning: {warning}"));
    }
    let mut run = setup.run(&plan)?;
    run.include_ignored = arguments.include_ignored;
    run.run_skipped = arguments.run_skipped;
    run.max_fail = arguments.max_fail();
    run.deadline = arguments.deadline.or(run.deadline);
    run.seed = shuffle_seed(arguments.shuffle, arguments.seed);
    run.repeat = Repeat {
        rounds: arguments.repeat,
        time: arguments.repeat_for,
        until_fail: arguments.until_fail,
    };
    run.echo = arguments.no_capture;
    run.device_query = Some(arguments.device_query());
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
        run.so_far = resume::so_far(&mut resumed.unfinished, &plan);
        status_line(&resumed.unfinished.to_string());
    }
    let folder = place.run_folder();
    let display = arguments.display(&setup);
    let durations = match display.has_progress() || run.has_order_by_durations() {
        true => place.earlier_durations(),
        false => HashMap::new(),
    };
    let progress = Progress::new(&run, display, &durations);
    if run.has_order_by_durations() {
        run.durations = durations;
    }
    let is_resumed = resumed.is_some();
    let execution = Execution {
        header,
        setup: &setup,
        plan: &plan,
        run,
        place: Some(place),
        junit_file: engine.and_then(Engine::junit_file),
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
    github::report(&log, arguments.format == RunFormat::Matrix)?;
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
    /// Returns whether tests may run in several rounds.
    pub fn has_rounds(&self) -> bool {
        self.repeat.is_some() || self.repeat_for.is_some() || self.until_fail
    }

    /// Returns whether a run with this seed has the order of this one.
    pub fn has_order(&self, seed: Option<u64>) -> bool {
        if self.seed.is_some() { self.seed == seed } else { self.shuffle == seed.is_some() }
    }

    /// The arguments of an earlier run, with the display of `now`.
    pub fn again(self, header: &RunHeader, now: &Self) -> Self {
        let common = Common {
            profile: header.profile.clone(),
            config: header.configuration.as_ref().map(PathBuf::from),
            icd: header.added_drivers.iter().map(PathBuf::from).collect(),
            ..self.common
        };
        Self {
            common,
            resume: None,
            anyway: now.anyway,
            deadline: now.deadline.or(self.deadline),
            max_fail: now.max_fail.or(self.max_fail),
            fail_fast: now.fail_fast || self.fail_fast && now.max_fail.is_none(),
            format: now.format,
            no_capture: now.no_capture,
            show_output: now.show_output,
            all: now.all,
            quiet: now.quiet,
            verbose: now.verbose,
            progress_interval: now.progress_interval,
            slow_after: now.slow_after,
            ..self
        }
    }

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
        let find = |run: &str| store::find(&of_shard, run).or_else(|_| store::find(&folder, run));
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
        print(&report::matrix::matrix(log, layout))
    }
}
