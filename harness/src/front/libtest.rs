//! The front that `cargo test` and `cargo nextest` know: libtest's options, output and exit
//! status, through libtest-mimic.
//!
//! libtest-mimic runs trials from one queue, so a trial that waited for its device would keep
//! others from theirs. Here trials run nothing: the schedule fills in results device by device,
//! and a trial waits for its own and prints it.

use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use super::{AnyError, CANNOT_RUN, Target, output_result, tell, tell_unmatched_expectations};
use crate::devices::TestDevice;
use crate::events::TestResult;
use crate::execution::Execution;
use crate::plan::Plan;
use crate::registry::{self, Ignore, Test};
use crate::report;
use crate::requirement::missing;
use crate::setup::{Options, Setup};
use crate::verdict::{Outcome, Verdict};
use crate::worker::child;

/// What `clmatrix_harness::main!` calls.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let command_line = CommandLine::parse(words.collect());
    match run(target, &command_line) {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::from(CANNOT_RUN)
        }
    }
}

fn run(target: Target, command_line: &CommandLine) -> Result<ExitCode, AnyError> {
    let tests = registry::tests()?;
    if tests.is_empty() {
        return Err(
            "no test is registered in this target: mark them #[clmatrix_harness::test]".into()
        );
    }
    let options = Options { embedded: target.config, cached_devices: true, ..Options::default() };
    let setup = Setup::new(options)?;
    let devices = setup.devices_if_any()?;
    let plan = command_line.plan(target.home, &tests, devices);
    if command_line.arguments.list {
        output_result(list(&plan, io::stdout().lock()))?;
        return Ok(ExitCode::SUCCESS);
    }
    // nextest runs each test in a process of its own: it would repeat these lines.
    if !under_nextest() {
        tell(&setup.config.summary());
        tell_unmatched_expectations(&setup, &tests, target.home);
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

fn under_nextest() -> bool {
    std::env::var_os("NEXTEST").is_some_and(|value| value == "1")
}

/// Runs the plan and shows each result when it is settled.
fn run_plan(
    target: Target,
    setup: &Setup,
    plan: &Plan,
    command_line: &CommandLine,
) -> Result<ExitCode, AnyError> {
    let arguments = &command_line.arguments;
    let expectation = setup.expectations(plan);
    let mut run = setup.run(plan, &expectation)?;
    run.include_ignored = arguments.include_ignored || arguments.ignored;
    run.echo =
        arguments.nocapture || std::env::var_os("RUST_TEST_NOCAPTURE").is_some_and(|v| v != "0");
    let report_dir = command_line.report_folder(target, setup, plan);
    let execution = Execution {
        target,
        setup,
        plan,
        run,
        rerun_command: format!(
            "cargo test -p {} --test {} -- --exact",
            target.package, target.name
        ),
        report_dir: report_dir.clone(),
        print_events: false,
    };
    let cells = Cells::new(plan.entries.len());
    let observer = |position: usize, result: &TestResult| cells.fill(position, result.clone());
    let (log, conclusion) = execution.run(&observer, || {
        // libtest-mimic panics when nobody reads its output; the tests and their reports go on.
        panic::catch_unwind(AssertUnwindSafe(|| show(setup, plan, arguments, &cells))).ok()
    })?;
    for failed in &setup.machine.failed {
        tell(&format!("warning: driver {failed}"));
    }
    if let Some(folder) = &report_dir {
        // Not on standard output: that belongs to libtest's format.
        tell(&format!("reports: {}", folder.display()));
    }
    let leave_something = |result: &&TestResult| !result.left_behind.is_empty();
    let count = log.map_or(0, |log| log.results.iter().filter(leave_something).count());
    if count > 0 {
        tell(&format!(
            "tests that left something behind in their process: {count} (see the reports)"
        ));
    }
    setup.require_devices(plan)?;
    Ok(conclusion.map_or(ExitCode::FAILURE, |conclusion| conclusion.exit_code()))
}

/// Prints each result when it is settled.
fn show(
    setup: &Setup,
    plan: &Plan,
    arguments: &Arguments,
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
    for (position, entry) in plan.entries.iter().enumerate() {
        let cells = cells.clone();
        let lacks_device = entry.lacks_device();
        trials.push(Trial::ignorable_test(plan.id(entry), move || {
            let result = cells.wait(position);
            // One error at the end says the same of all of them.
            if lacks_device {
                return Ok(Completion::ignored_with(result.outcome.to_string()));
            }
            completion(&result)
        }));
    }
    let arguments = Arguments {
        // Chosen already, with what libtest-mimic does not know.
        filter: None,
        skip: Vec::new(),
        ignored: false,
        // Trials only wait; one thread prints them in their order, as they begin and end.
        test_threads: Some(1),
        ..arguments.clone()
    };
    libtest_mimic::run(&arguments, trials)
}

/// What libtest-mimic is told of a result.
fn completion(result: &TestResult) -> Result<Completion, Failed> {
    match (result.verdict, &result.outcome) {
        (Verdict::Pass, _) => Ok(Completion::Completed),
        (Verdict::ExpectedFail, _) => {
            Ok(Completion::ignored_with(result.expected().unwrap_or_default()))
        }
        (Verdict::Skip, Outcome::Skipped { reason }) => {
            Ok(Completion::ignored_with(format!("skipped: {reason}")))
        }
        (Verdict::Ignored, Outcome::Ignored { reason: Some(reason) }) => {
            Ok(Completion::ignored_with(reason))
        }
        (Verdict::Skip | Verdict::Ignored, _) => Ok(Completion::ignored()),
        _ => Err(failure_text(result).into()),
    }
}

fn failure_text(result: &TestResult) -> String {
    let mut text = result.summary();
    for (name, output) in [("stdout", &result.stdout), ("stderr", &result.stderr)] {
        if !output.is_empty() {
            text += &format!("\n--- {name}\n{}", output.trim_end());
        }
    }
    text
}

/// A place for each result, and a way to wait for it.
struct Cells {
    results: Mutex<Vec<Option<TestResult>>>,
    filled: Condvar,
}

impl Cells {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { results: Mutex::new(vec![None; count]), filled: Condvar::new() })
    }

    fn fill(&self, position: usize, result: TestResult) {
        self.results.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[position] =
            Some(result);
        self.filled.notify_all();
    }

    fn wait(&self, position: usize) -> TestResult {
        let mut results = self.results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            if let Some(result) = results[position].take() {
                return result;
            }
            results = self.filled.wait(results).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

/// libtest's command line: what libtest-mimic understands of it, and the rest.
pub struct CommandLine {
    arguments: Arguments,
    filters: Vec<String>,
}

/// libtest's options that take a value in the next word.
const WITH_VALUE: [&str; 7] =
    ["--test-threads", "--logfile", "--skip", "--color", "--format", "-Z", "--shuffle-seed"];

/// libtest's options that libtest-mimic ends on, and that change nothing here.
const WITHOUT_MEANING: [&str; 5] = [
    "--report-time",
    "--ensure-time",
    "--shuffle",
    "--force-run-in-process",
    "--exclude-should-panic",
];

impl CommandLine {
    /// Reads the words after the executable's name. Wrong ones end the process, as in libtest.
    pub fn parse(words: Vec<String>) -> Self {
        let mut known = Vec::new();
        let mut filters = Vec::new();
        let mut words = words.into_iter();
        known.extend(words.next());
        while let Some(word) = words.next() {
            let name = word.split('=').next().unwrap_or_default();
            if WITHOUT_MEANING.contains(&name) {
                continue;
            } else if name == "--shuffle-seed" {
                if !word.contains('=') {
                    words.next();
                }
            } else if word == "--no-capture" {
                known.push("--nocapture".to_owned());
            } else if word == "--" {
                filters.extend(words.by_ref());
            } else if WITH_VALUE.contains(&word.as_str()) {
                known.push(word);
                known.extend(words.next());
            } else if word.starts_with('-') {
                known.push(word);
            } else {
                filters.push(word);
            }
        }
        Self { arguments: Arguments::from_iter(known), filters }
    }

    /// The tests that the filters, `--skip` and `--ignored` let through.
    pub fn plan(
        &self,
        home: &'static str,
        tests: &[&'static Test],
        devices: Vec<TestDevice>,
    ) -> Plan {
        if !self.is_filtered() {
            return Plan::new(home, tests, devices, |_, _, _| true);
        }
        // nextest takes what is not run here for a pass, but lets ignored tests alone.
        let list_for_nextest = self.arguments.list && under_nextest();
        Plan::new(home, tests, devices, |id, entry, device| {
            let cannot = || {
                device
                    .is_some_and(|device| missing(entry.test.requires, &device.run.info).is_some())
            };
            let ignored = || entry.test.ignore != Ignore::No || list_for_nextest && cannot();
            let matches = |pattern: &String| self.matches(pattern, id);
            (self.filters.is_empty() || self.filters.iter().any(matches))
                && !self.arguments.skip.iter().any(matches)
                && (!self.arguments.ignored || ignored())
        })
    }

    /// Where the reports of a run go, if it has any.
    ///
    /// nextest runs each test in a process of its own, and writes its own report. `cargo test
    /// FILTER` starts every target, and most have no test that matches.
    fn report_folder(&self, target: Target, setup: &Setup, plan: &Plan) -> Option<PathBuf> {
        let folder = || setup.report_folder().join(target.package).join(target.name);
        match self.is_filtered() {
            _ if under_nextest() => None,
            true if plan.entries.is_empty() => None,
            true => Some(report::partial(&folder())),
            false => Some(folder()),
        }
    }

    /// Whether the command line asks for a part of the target's tests.
    fn is_filtered(&self) -> bool {
        let Arguments { skip, ignored, .. } = &self.arguments;
        !self.filters.is_empty() || !skip.is_empty() || *ignored
    }

    /// Whether a filter or a `--skip` matches a test. With `--exact`, an id without its device, as
    /// editors send it, matches the test on every device.
    fn matches(&self, pattern: &str, id: &str) -> bool {
        if self.arguments.exact {
            pattern == id || id.rsplit_once('@').is_some_and(|(test, _)| pattern == test)
        } else {
            id.contains(pattern)
        }
    }
}
