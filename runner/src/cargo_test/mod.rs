//! `cargo test` and `cargo nextest`: libtest's options, output and exit status, through
//! libtest-mimic. [`std_main`] is for targets whose `main` is libtest's own.
//!
//! libtest-mimic runs trials from one queue, so a trial that waited for its device would block those of other
//! devices. Here, trials run nothing: the schedule stores results device by device, and a trial waits for its own
//! result and prints it.

mod cells;
mod command_line;
pub mod std_main;

use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use libtest_mimic::{Completion, Failed, FormatSetting, Trial};
use parking_lot::Mutex;

use self::cells::Cells;
pub use self::command_line::CommandLine;
use crate::case::Case;
use crate::config::{DEFAULT_PROFILE, ProfileShard, Slots};
use crate::devices::selection::NO_DEVICE_FOUND;
use crate::execution::{EndedRun, Execution};
use crate::header::run_header;
use crate::log::{DeviceLost, Place, RunHeader, durations};
use crate::result::attempt::Attempt;
use crate::result::test_result::{TestResult, differing};
use crate::run::plan::{Plan, Planned};
use crate::run::state::shuffle_seed;
use crate::setup::{Options, Setup};
use crate::shard::{Engine, Shard};
use crate::target::{CANNOT_RUN, Target};
use crate::terminal::{AnyError, for_people, harmless, output_result, status_line};
use crate::verdict::{Outcome, Verdict};
use crate::worker::child;
use crate::{debug, files, report, text, variable};

/// The exit status of libtest for tests that have failed.
const LIBTEST_FAILED: u8 = 101;

/// The entry point that `clmatrix_harness::main!` expands to.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    run(target, &CommandLine::parse()).unwrap_or_else(|error| {
        status_line(&format!("error: {error}"));
        ExitCode::from(CANNOT_RUN)
    })
}

fn run(target: Target, command_line: &CommandLine) -> Result<ExitCode, AnyError> {
    command_line.check()?;
    #[cfg(feature = "provision")]
    if command_line.provision {
        let driver = command_line.driver;
        let request = crate::provision::Request { driver, ..Default::default() };
        let environment = crate::provision::provide(&request)?;
        crate::terminal::print(&environment.to_shell())?;
        return Ok(ExitCode::SUCCESS);
    }
    let tests = Case::registered()?;
    if tests.is_empty() {
        let reason = "no test is registered in this target: mark them #[clmatrix_harness::test]";
        return Err(reason.into());
    }
    let options = Options {
        embedded: target.config,
        cached_devices: true,
        slots: command_line.test_threads.map(|threads| Slots::Count(threads.get())),
        provision: format!("eval \"$({} -- --provision)\"", test_command(target)),
        ..Options::default()
    };
    let setup = Setup::new(options)?;
    let devices = setup.devices_if_any()?;
    let engines: &[Engine] = match setup.profile.shard {
        Some(ProfileShard::Auto) => Engine::ALL,
        // Bazel lets a test with `shard_count` fail that does not take it into account.
        None => &[Engine::Bazel],
    };
    let shard = Engine::find(engines, &variable::lossy)?;
    let part = shard.as_ref().map(|(_, shard)| shard);
    let plan = command_line.plan(target.home, &tests, devices, part);
    if command_line.list {
        output_result(list(&plan, io::stdout().lock()))?;
        return Ok(ExitCode::SUCCESS);
    }
    // nextest runs each test in a process of its own: it would repeat these lines.
    if !under_nextest() {
        status_line(&setup.config.summary());
        if let Some((engine, Shard { index, total, .. })) = &shard {
            status_line(&format!("shard: {index} of {total}, by {engine}"));
        }
        warn_of_unmatched(&setup.unmatched_expectations(&tests, target.home));
        for warning in setup.warnings(&plan, &tests, target.home) {
            status_line(&format!("warning: {warning}"));
        }
    }
    run_plan(target, &setup, &plan, shard, command_line)
}

/// Prints the ids as libtest does.
///
/// # Errors
///
/// The first error of writing to `out`.
pub fn list(plan: &Plan, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for entry in &plan.entries {
        writeln!(out, "{}: test", plan.id(entry))?;
    }
    out.flush()
}

/// Warns in one line about expectations without a test.
fn warn_of_unmatched(expectations: &[&str]) {
    const SHOWN: usize = 3;
    if expectations.is_empty() {
        return;
    }
    let shown = expectations.iter().take(SHOWN).map(|test| format!("{test:?}"));
    let more = (expectations.len() > SHOWN).then(|| "...".to_owned());
    let (count, shown) = (expectations.len(), Vec::from_iter(shown.chain(more)).join(", "));
    status_line(&format!(
        "warning: no test of this target matches these expectations ({count}): {shown}"
    ));
}

fn under_nextest() -> bool {
    variable::value("NEXTEST").is_some_and(|value| value == "1")
}

/// Runs the plan and prints each result when it is final.
fn run_plan(
    target: Target,
    setup: &Setup,
    plan: &Plan,
    shard: Option<(Engine, Shard)>,
    command_line: &CommandLine,
) -> Result<ExitCode, AnyError> {
    let mut run = setup.run(plan)?;
    run.include_ignored = command_line.include_ignored || command_line.ignored;
    run.echo = command_line.echoes();
    run.seed = shuffle_seed(command_line.shuffle, command_line.shuffle_seed);
    let rerun = rerun_command(target, setup);
    let header = RunHeader {
        package: Some(target.package.to_owned()),
        shard: shard.as_ref().map(|(_, shard)| shard.clone()),
        ..run_header(&target, setup, &run, rerun.clone(), command_line.selection())
    };
    let place = command_line.place(target, setup, plan, shard.as_ref(), &header.run_id);
    let engine = shard.as_ref().map(|(engine, _)| *engine);
    engine.map_or(Ok(()), Engine::acknowledge)?;
    if let Some(place) = place.as_ref().filter(|_| run.has_order_by_durations()) {
        run.durations = durations::of_earlier_run(place);
    }
    let report_dir = place.as_ref().map(Place::run_folder);
    let execution = Execution {
        setup,
        plan,
        run,
        header,
        place,
        junit_file: engine.map_or(Ok(None), Engine::junit_file)?,
        resumed: None,
        before_tests: None,
        write_reports: |log, run, _| report::write_junit(log, run),
        print_events: false,
    };
    if let Some(debugger) = &command_line.debugger {
        return debug::run(execution, debugger).map(ExitCode::from);
    }
    let cells = Cells::new(plan, command_line.echoes());
    let page = Arc::new(Page {
        is_json: command_line.format == Some(FormatSetting::Json),
        echoes: command_line.echoes(),
        rerun,
        report_dir,
    });
    let finished = execution.run(&*cells, || {
        // libtest-mimic panics on a closed pipe; the tests and their reports continue.
        let show = || show(setup, plan, command_line, &page, &cells);
        panic::catch_unwind(AssertUnwindSafe(show)).ok()
    })?;
    for failed in &setup.machine.failed {
        status_line(&format!("warning: driver {failed}"));
    }
    if let Some(folder) = &page.report_dir {
        // Not on standard output: that belongs to libtest's format.
        status_line(&format!("reports: {}", folder.display()));
    }
    let EndedRun { log, shown: conclusion, trouble } = finished;
    let results = log.map_or_else(Vec::new, |log| log.results);
    let leave_something = |result: &&TestResult| !result.attempt.left_behind.is_empty();
    let leaving = results.iter().filter(leave_something).count();
    for (tests, count) in [
        ("tests with another result alone", differing(&results)),
        ("tests that left something behind in their process", leaving),
    ] {
        if count > 0 {
            status_line(&format!("{tests}: {count} (see the reports)"));
        }
    }
    trouble.map_or(Ok(()), Err)?;
    setup.require_devices(plan)?;
    let lost = cells.take_lost();
    for DeviceLost { device, reason, after, .. } in &lost {
        if let Some(after) = after {
            status_line(&format!("error: {device} was lost after {after}: {reason}"));
        }
    }
    if !lost.is_empty() {
        return Ok(ExitCode::from(LIBTEST_FAILED));
    }
    Ok(conclusion.map_or(ExitCode::FAILURE, |conclusion| conclusion.exit_code()))
}

/// Returns the command that runs this target.
fn test_command(target: Target) -> String {
    format!("cargo test -p {} --test {}", target.package, target.name)
}

/// Returns the command that reruns a test; its id is appended.
fn rerun_command(target: Target, setup: &Setup) -> String {
    let command = format!("{} -- --exact", test_command(target));
    match setup.profile_name.as_str() {
        DEFAULT_PROFILE => command,
        name => format!("CLMATRIX_PROFILE={} {command}", text::shell_quoted(name)),
    }
}

/// Prints each result when it is final, and then the output of tests that passed if it is shown.
fn show(
    setup: &Setup,
    plan: &Plan,
    command_line: &CommandLine,
    page: &Arc<Page>,
    cells: &Arc<Cells>,
) -> libtest_mimic::Conclusion {
    let mut trials: Vec<Trial> = Vec::with_capacity(plan.entries.len());
    let mut fail = |name: &str, reason: &str| {
        let reason = page.text(reason);
        trials.push(Trial::test(page.text(name), || Err(reason.into())));
    };
    for expected in &setup.absent {
        let reason = format!("the profile expects the device {expected}, which was not found");
        fail(&format!("expected-device@{expected}"), &reason);
    }
    for failed in setup.unusable_drivers() {
        fail(&format!("driver@{}", failed.driver), &failed.failure.reason);
    }
    // One failure stands for all tests that lack a device; the error at the end has the advice.
    if plan.lacks_devices() {
        fail("devices", NO_DEVICE_FOUND);
    }
    // The same for all tests of a device that does not work.
    let lost = cells.wait_for_devices();
    for DeviceLost { device, reason, .. } in &lost {
        let reason = format!("lost before its first test, no test was run: {reason}");
        fail(&format!("device@{device}"), &reason);
    }
    let passed: Arc<Mutex<Vec<TestResult>>> = Arc::default();
    let is_of_lost = |entry: &Planned| {
        let device = plan.device(entry).map(|device| &device.run.id);
        lost.iter().any(|lost| Some(&lost.device) == device)
    };
    for (position, entry) in plan.positions() {
        if is_of_lost(entry) {
            continue;
        }
        let (cells, page, passed) = (cells.clone(), page.clone(), passed.clone());
        let is_pretty = command_line.is_pretty();
        let lacks_device = entry.lacks_device();
        trials.push(Trial::ignorable_test(page.text(&plan.id(entry)), move || {
            let result = cells.wait(position, is_pretty);
            if lacks_device || cells.is_not_run_by_loss(&result) {
                return Ok(page.ignored(&result.attempt.outcome.to_string()));
            }
            let completion = page.completion(&result);
            if result.verdict == Verdict::Pass {
                passed.lock().push(result);
            }
            completion
        }));
    }
    if plan.entries.iter().any(|entry| !entry.lacks_device()) {
        let (cells, page) = (cells.clone(), page.clone());
        trials.push(Trial::test("workers", move || page.of_workers(&cells.wait_for_workers())));
    }
    let conclusion = libtest_mimic::run(&command_line.printing(), trials);
    if command_line.show_output && !page.echoes && !page.is_json {
        print_passed(command_line.logfile.as_deref(), &passed.lock());
    }
    conclusion
}

/// Prints the output of tests that passed, in libtest's form.
fn print_passed(logfile: Option<&str>, passed: &[TestResult]) {
    let mut text = "successes:\n\n".to_owned();
    let mut names = String::new();
    for TestResult { test, attempt: Attempt { stdout, stderr, .. }, .. } in passed {
        let test = for_people(test, &[]);
        for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
            if !output.is_empty() {
                let output = harmless(output.trim_end());
                text += &format!("---- {test} {name} ----\n{output}\n\n");
            }
        }
        names += &format!("    {test}\n");
    }
    text += &format!("\nsuccesses:\n{names}\n");
    // libtest-mimic has written the results to the same place and would have failed.
    let _ = match logfile {
        Some(path) => {
            files::append_named(path.as_ref()).and_then(|mut file| file.write_all(text.as_bytes()))
        }
        None => io::stdout().write_all(text.as_bytes()),
    };
}

/// The form of printed results.
struct Page {
    /// True if texts are exact.
    is_json: bool,
    /// True if the output of tests is printed while they run.
    echoes: bool,
    /// The command that runs one test; its id is appended.
    rerun: String,
    report_dir: Option<PathBuf>,
}

impl Page {
    /// Returns a name or a message of the runner.
    fn text(&self, text: &str) -> String {
        if self.is_json { text.to_owned() } else { for_people(text, &[]).into_owned() }
    }

    /// Translates a result for libtest-mimic.
    fn completion(&self, result: &TestResult) -> Result<Completion, Failed> {
        let outcome = &result.attempt.outcome;
        let is_bare = *outcome == (Outcome::Ignored { reason: None });
        match result.verdict {
            _ if result.tolerated => Ok(Completion::Completed),
            Verdict::Pass => Ok(Completion::Completed),
            Verdict::ExpectedFail | Verdict::AssumedFail => {
                Ok(self.ignored(&result.expected().unwrap_or_default()))
            }
            Verdict::Skip => Ok(self.ignored(&format!("skipped: {outcome}"))),
            Verdict::Ignored if is_bare => Ok(Completion::ignored()),
            Verdict::Ignored => Ok(self.ignored(&outcome.to_string())),
            Verdict::Fail
            | Verdict::Crash
            | Verdict::Timeout
            | Verdict::UnexpectedPass
            | Verdict::Flaky
            | Verdict::NotRun => Err(self.failure(result).into()),
        }
    }

    fn ignored(&self, reason: &str) -> Completion {
        let reason = self.message(reason);
        Completion::ignored_with(if self.is_json { reason } else { harmless(&reason).into() })
    }

    /// Fails if a worker has crashed, or has ended otherwise than it should, and no test has done it.
    fn of_workers(&self, results: &[TestResult]) -> Result<(), Failed> {
        let unexpected = results.iter().filter(|result| !result.is_as_expected());
        let text = |result: &TestResult| format!("{}: {}", result.test, self.failure(result));
        let texts: Vec<String> = unexpected.map(text).collect();
        if texts.is_empty() { Ok(()) } else { Err(texts.join("\n").into()) }
    }

    fn failure(&self, result: &TestResult) -> String {
        let mut text = self.message(&result.summary());
        let Attempt { stdout, stderr, stacks, .. } = &result.decisive().attempt;
        let is_of_worker = result.test.of_worker().is_some();
        for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
            if (is_of_worker || !self.echoes) && !output.is_empty() {
                text += &format!("\n--- {name}\n{}", output.trim_end());
            }
        }
        if let Some(stacks) = stacks {
            text += &format!("\n--- stack\n{}", stacks.top(str::to_owned).join("\n"));
        }
        if !is_of_worker {
            if let Some(folder) = &self.report_dir {
                let file = report::junit_path(folder, result.test.device());
                text += &format!("\nmore:  {}", file.display());
            }
            text += &format!("\nrerun: {} {}", self.rerun, text::shell_quoted(&result.test));
        }
        if self.is_json { text } else { harmless(&text).into_owned() }
    }

    /// Returns what a test said about its result.
    fn message(&self, text: &str) -> String {
        if self.is_json { text.to_owned() } else { text::clean(text) }
    }
}
