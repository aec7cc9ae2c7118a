//! `cargo test` and `cargo nextest`: libtest's options, output and exit status, through
//! libtest-mimic. [`std_main`] is for targets whose `main` is libtest's own.
//!
//! libtest-mimic runs trials from one queue, so a trial that waited for its device would keep
//! others from theirs. Here trials run nothing: the schedule fills in results device by device,
//! and a trial waits for its own and prints it.

mod cells;
mod command_line;
pub mod std_main;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use libtest_mimic::{Completion, Failed, FormatSetting, Trial};
use parking_lot::Mutex;

use self::cells::Cells;
pub use self::command_line::CommandLine;
use crate::case::Case;
use crate::config::{DEFAULT_PROFILE, Slots};
use crate::execution::{Execution, Finished};
use crate::header::run_header;
use crate::log::durations;
use crate::log::events::DeviceLost;
use crate::log::store::Place;
use crate::report;
use crate::result::attempt::Attempt;
use crate::result::test_result::{TestResult, differing_in_reused_context};
use crate::run::plan::{Plan, Planned};
use crate::setup::{Options, Setup};
use crate::target::{CANNOT_RUN, Target};
use crate::terminal::{AnyError, output_result, status_line};
use crate::text;
use crate::verdict::{Outcome, Verdict};
use crate::worker::child;

/// The exit status of libtest for tests that have failed.
const LIBTEST_FAILED: u8 = 101;

/// The entry point that `clmatrix_harness::main!` expands to.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    match run(target, &CommandLine::parse()) {
        Ok(code) => code,
        Err(error) => {
            status_line(&format!("error: {error}"));
            ExitCode::from(CANNOT_RUN)
        }
    }
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
        return Err(
            "no test is registered in this target: mark them #[clmatrix_harness::test]".into()
        );
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
    let plan = command_line.plan(target.home, &tests, devices);
    if command_line.list {
        output_result(list(&plan, io::stdout().lock()))?;
        return Ok(ExitCode::SUCCESS);
    }
    // nextest runs each test in a process of its own: it would repeat these lines.
    if !under_nextest() {
        status_line(&setup.config.summary());
        warn_of_unmatched(&setup.unmatched_expectations(&tests, target.home));
        for warning in setup.warnings(&plan) {
            status_line(&format!("warning: {warning}"));
        }
    }
    run_plan(target, &setup, &plan, command_line)
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

/// Warns in one line about expectations without a test: other targets of the same crate, which share
/// its configuration, may have the test.
fn warn_of_unmatched(expectations: &[&str]) {
    const SHOWN: usize = 3;
    if expectations.is_empty() {
        return;
    }
    let mut shown: Vec<String> =
        expectations.iter().take(SHOWN).map(|test| format!("{test:?}")).collect();
    if expectations.len() > SHOWN {
        shown.push("...".to_owned());
    }
    let (count, shown) = (expectations.len(), shown.join(", "));
    status_line(&format!(
        "warning: no test of this target matches these expectations ({count}): {shown}"
    ));
}

fn under_nextest() -> bool {
    std::env::var_os("NEXTEST").is_some_and(|value| value == "1")
}

/// Runs the plan and prints each result when it is final.
fn run_plan(
    target: Target,
    setup: &Setup,
    plan: &Plan,
    command_line: &CommandLine,
) -> Result<ExitCode, AnyError> {
    let mut run = setup.run(plan)?;
    run.include_ignored = command_line.include_ignored || command_line.ignored;
    run.echo = command_line.echoes();
    run.seed = command_line.seed();
    let rerun = rerun_command(target, setup);
    let header = run_header(&target, setup, &run, rerun.clone(), command_line.selection());
    let place = command_line.place(target, setup, plan, &header.run_id);
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
        junit_file: None,
        resumed: None,
        before_tests: None,
        write_reports: |log, run, _| report::write_junit(log, run),
        print_events: false,
    };
    let cells = Cells::new(plan, command_line.echoes());
    let page = Page { command_line, rerun: &rerun, report_dir: report_dir.as_deref() };
    let finished = execution.run(&*cells, || {
        // libtest-mimic panics on a closed pipe; the tests and their reports go on.
        panic::catch_unwind(AssertUnwindSafe(|| show(setup, plan, page, &cells))).ok()
    })?;
    for failed in &setup.machine.failed {
        status_line(&format!("warning: driver {failed}"));
    }
    if let Some(folder) = &report_dir {
        // Not on standard output: that belongs to libtest's format.
        status_line(&format!("reports: {}", folder.display()));
    }
    let leave_something = |result: &&TestResult| !result.findings.left_behind.is_empty();
    let Finished { log, shown: conclusion, trouble } = finished;
    let results = log.map_or_else(Vec::new, |log| log.results);
    let differing = differing_in_reused_context(&results);
    if differing > 0 {
        status_line(&format!(
            "tests with another result in a reused context: {differing} (see the reports)"
        ));
    }
    let count = results.iter().filter(leave_something).count();
    if count > 0 {
        status_line(&format!(
            "tests that left something behind in their process: {count} (see the reports)"
        ));
    }
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
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

/// The command that runs this target.
fn test_command(target: Target) -> String {
    format!("cargo test -p {} --test {}", target.package, target.name)
}

/// The command that reruns a test; its id is appended.
fn rerun_command(target: Target, setup: &Setup) -> String {
    let command = format!("{} -- --exact", test_command(target));
    match setup.profile_name.as_str() {
        DEFAULT_PROFILE => command,
        name => format!("CLMATRIX_PROFILE={} {command}", text::shell_quoted(name)),
    }
}

/// The printed page of results.
#[derive(Clone, Copy)]
struct Page<'a> {
    command_line: &'a CommandLine,
    /// The command that runs one test; its id is appended.
    rerun: &'a str,
    report_dir: Option<&'a Path>,
}

/// Prints each result when it is final, and then the output of tests that passed where that is shown.
fn show(
    setup: &Setup,
    plan: &Plan,
    page: Page<'_>,
    cells: &Arc<Cells>,
) -> libtest_mimic::Conclusion {
    let mut trials: Vec<Trial> = Vec::with_capacity(plan.entries.len());
    for expected in &setup.absent {
        let message = format!("the profile expects the device {expected}, which is not there");
        trials.push(Trial::test(format!("expected-device@{expected}"), || Err(message.into())));
    }
    for failed in setup.unusable_drivers() {
        let reason = failed.failure.reason.clone();
        trials.push(Trial::test(format!("driver@{}", failed.driver), || Err(reason.into())));
    }
    let passed: Arc<Mutex<Vec<TestResult>>> = Arc::default();
    // One failure stands for all tests of a device that does not work.
    let lost = cells.wait_for_devices();
    for DeviceLost { device, reason, .. } in &lost {
        let message = format!("lost before its first test, no test was run: {reason}");
        trials.push(Trial::test(format!("device@{device}"), || Err(message.into())));
    }
    let is_of_lost = |entry: &Planned| {
        let device = plan.device(entry).map(|device| &device.run.id);
        lost.iter().any(|lost| Some(&lost.device) == device)
    };
    for (position, entry) in plan.entries.iter().enumerate() {
        if is_of_lost(entry) {
            continue;
        }
        let (cells, passed) = (cells.clone(), passed.clone());
        let is_pretty = page.command_line.is_pretty();
        let lacks_device = entry.lacks_device();
        let shows_failure = page.failure(&plan.id(entry));
        trials.push(Trial::ignorable_test(plan.id(entry), move || {
            let result = cells.wait(position, is_pretty);
            // One error at the end says the same of all of them.
            if lacks_device || cells.is_not_run_by_loss(&result) {
                return Ok(Completion::ignored_with(result.outcome.to_string()));
            }
            let completion = completion(&result, &shows_failure);
            if result.verdict == Verdict::Pass {
                passed.lock().push(result);
            }
            completion
        }));
    }
    if plan.entries.iter().any(|entry| !entry.lacks_device()) {
        let (cells, page) = (cells.clone(), page.workers());
        trials.push(Trial::test("workers", move || of_workers(&cells.wait_for_workers(), &page)));
    }
    let conclusion = libtest_mimic::run(&page.command_line.printing(), trials);
    page.print_passed(&passed.lock());
    conclusion
}

/// Fails if a worker has crashed, or has ended otherwise than it should, and no test has done it.
fn of_workers(results: &[TestResult], failure: &ShownFailure) -> Result<(), Failed> {
    let unexpected = results.iter().filter(|result| !result.is_as_expected());
    let text = |result: &TestResult| format!("{}: {}", result.test, failure_text(result, failure));
    let texts: Vec<String> = unexpected.map(text).collect();
    if texts.is_empty() { Ok(()) } else { Err(texts.join("\n").into()) }
}

/// The text after the message of a failure.
struct ShownFailure {
    /// True if the captured output is shown.
    with_output: bool,
    /// The lines with the report and the command.
    more: String,
}

impl Page<'_> {
    fn failure(&self, id: &str) -> ShownFailure {
        let (_, device) = id.rsplit_once('@').unwrap_or((id, ""));
        let mut more = String::new();
        if let Some(folder) = self.report_dir {
            more = format!("\nmore:  {}", report::junit_path(folder, device).display());
        }
        more += &format!("\nrerun: {} {}", self.rerun, text::shell_quoted(id));
        ShownFailure { with_output: !self.command_line.echoes(), more }
    }

    /// The text after a result of workers.
    fn workers(&self) -> ShownFailure {
        ShownFailure { with_output: true, more: String::new() }
    }

    /// Prints the output of tests that passed, in libtest's form.
    fn print_passed(&self, passed: &[TestResult]) {
        let CommandLine { show_output, format, logfile, .. } = self.command_line;
        if !show_output || self.command_line.echoes() || *format == Some(FormatSetting::Json) {
            return;
        }
        let text = passed_text(passed);
        // libtest-mimic has written the results to the same place and would have failed.
        let _ = match logfile {
            Some(path) => File::options()
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(text.as_bytes())),
            None => io::stdout().write_all(text.as_bytes()),
        };
    }
}

fn passed_text(passed: &[TestResult]) -> String {
    let mut text = "successes:\n\n".to_owned();
    let mut names = String::new();
    for TestResult { test, attempt: Attempt { stdout, stderr, .. }, .. } in passed {
        for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
            if !output.is_empty() {
                text += &format!("---- {test} {name} ----\n{}\n\n", output.trim_end());
            }
        }
        names += &format!("    {test}\n");
    }
    format!("{text}\nsuccesses:\n{names}\n")
}

/// Translates a result for libtest-mimic.
fn completion(result: &TestResult, failure: &ShownFailure) -> Result<Completion, Failed> {
    match (result.verdict, &result.outcome) {
        (Verdict::Pass, _) => Ok(Completion::Completed),
        _ if result.tolerated => Ok(Completion::Completed),
        (Verdict::ExpectedFail | Verdict::AssumedFail, _) => {
            Ok(Completion::ignored_with(result.expected().unwrap_or_default()))
        }
        (Verdict::Skip, Outcome::Skipped { reason }) => {
            Ok(Completion::ignored_with(format!("skipped: {reason}")))
        }
        (Verdict::Ignored, Outcome::Ignored { reason: Some(reason) }) => {
            Ok(Completion::ignored_with(reason))
        }
        (Verdict::Skip | Verdict::Ignored, _) => Ok(Completion::ignored()),
        _ => Err(failure_text(result, failure).into()),
    }
}

fn failure_text(result: &TestResult, failure: &ShownFailure) -> String {
    let mut text = result.summary();
    let result = result.decisive();
    for (name, output) in [("stdout", &result.stdout), ("stderr", &result.stderr)] {
        if failure.with_output && !output.is_empty() {
            text += &format!("\n--- {name}\n{}", output.trim_end());
        }
    }
    if let Some(stacks) = &result.stacks {
        text += &format!("\n--- stack\n{}", stacks.top(str::to_owned).join("\n"));
    }
    text + &failure.more
}
