//! The front that `cargo test` and `cargo nextest` know: libtest's options, output and exit
//! status, through libtest-mimic.
//!
//! libtest-mimic runs trials from one queue, so a trial that waited for its device would keep
//! others from theirs. Here trials run nothing: the schedule fills in results device by device,
//! and a trial waits for its own and prints it.

use std::io::{BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use super::Target;
use crate::devices::TestDevice;
use crate::events::{Event, TestResult};
use crate::plan::Plan;
use crate::recorder::{EventLog, Recorder};
use crate::registry::{self, Ignore, Test};
use crate::report;
use crate::requirement::missing;
use crate::run_log::RunLog;
use crate::schedule;
use crate::setup::{Options, Setup};
use crate::verdict::{Outcome, Verdict};
use crate::worker::child;
use crate::{header, interrupt, os};

/// The exit status of a run that could not be made.
const CANNOT_RUN: u8 = 2;

/// What `clmatrix_harness::main!` calls.
pub fn main(target: Target) -> ExitCode {
    child::enter_if_asked();
    let command_line = CommandLine::parse(std::env::args().collect());
    match run(target, &command_line) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(CANNOT_RUN)
        }
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn run(target: Target, command_line: &CommandLine) -> Result<ExitCode, AnyError> {
    let tests = registry::tests();
    if tests.is_empty() {
        return Err(
            "no test is registered in this target: mark them #[clmatrix_harness::test]".into()
        );
    }
    let setup = Setup::new(Options { cached_devices: true, ..Options::default() })?;
    let devices = setup.devices_for(&tests)?;
    let plan = command_line.plan(target.home, &tests, devices);
    if command_line.arguments.list {
        list(&plan, std::io::stdout().lock());
        return Ok(ExitCode::SUCCESS);
    }
    Execution { target, setup: &setup, plan: &plan, command_line }.run()
}

/// Prints the ids as libtest does.
pub fn list(plan: &Plan, out: impl Write) {
    let mut out = BufWriter::new(out);
    for entry in &plan.entries {
        // A closed pipe ends the list, as it does for any command.
        if writeln!(out, "{}: test", plan.id(entry)).is_err() {
            return;
        }
    }
    let _ = out.flush();
}

fn under_nextest() -> bool {
    std::env::var_os("NEXTEST").is_some_and(|value| value == "1")
}

/// One run of a plan, shown through libtest-mimic.
struct Execution<'a> {
    target: Target,
    setup: &'a Setup,
    plan: &'a Plan,
    command_line: &'a CommandLine,
}

impl Execution<'_> {
    fn run(&self) -> Result<ExitCode, AnyError> {
        let arguments = &self.command_line.arguments;
        let expectation = self.setup.expectations(self.plan);
        let mut run = self.setup.run(self.plan, &expectation)?;
        run.include_ignored = arguments.include_ignored || arguments.ignored;
        run.echo = arguments.nocapture;

        let folder = self.report_folder();
        let log = folder.as_deref().map(EventLog::create).transpose()?;
        let cells = Cells::new(self.plan.entries.len());
        let observer = |position: usize, result: &TestResult| cells.fill(position, result.clone());
        let recorder = Recorder::new(log, false, &observer);
        let stop = interrupt::stop_on_signals()?;
        let started = Instant::now();
        recorder.record(&Event::Run(header::header(&self.target, self.plan, self.rerun_command())));
        recorder.record(&Event::plan(self.plan));
        for expected in &self.setup.absent {
            recorder.record(&Event::DeviceAbsent { expected: expected.clone() });
        }

        let conclusion = std::thread::scope(|scope| {
            scope.spawn(|| schedule::execute(&run, &recorder, &stop));
            // Whoever read our output has gone: the workers go with this process, and the log stays.
            panic::catch_unwind(AssertUnwindSafe(|| self.show(&cells)))
                .unwrap_or_else(|_| os::exit_now(1))
        });
        recorder.record(&Event::End { interrupted: stop.is_set(), duration: started.elapsed() });
        recorder.into_result()?;
        if let Some(folder) = &folder {
            write_reports(folder)?;
        }
        Ok(conclusion.exit_code())
    }

    /// Prints each result when it is settled.
    fn show(&self, cells: &Arc<Cells>) -> libtest_mimic::Conclusion {
        let mut trials: Vec<Trial> = Vec::with_capacity(self.plan.entries.len());
        for expected in &self.setup.absent {
            let message = format!("the profile expects the device {expected}, which is not there");
            trials.push(Trial::test(format!("expected-device@{expected}"), || Err(message.into())));
        }
        for (position, entry) in self.plan.entries.iter().enumerate() {
            let cells = cells.clone();
            trials.push(Trial::ignorable_test(self.plan.id(entry), move || {
                completion(&cells.wait(position))
            }));
        }
        let mut arguments = self.command_line.arguments.clone();
        // Chosen already, with what libtest-mimic does not know.
        arguments.filter = None;
        arguments.skip.clear();
        arguments.ignored = false;
        // Trials only wait; one thread prints them in their order, as they begin and end.
        arguments.test_threads = Some(1);
        libtest_mimic::run(&arguments, trials)
    }

    /// Where the reports go: nowhere under nextest, which runs each test in a process of its own
    /// and writes its own report.
    fn report_folder(&self) -> Option<PathBuf> {
        (!under_nextest()).then(|| self.setup.report_folder().join(self.target.name))
    }

    fn rerun_command(&self) -> String {
        format!("cargo test -p {} --test {} -- --exact", self.target.package, self.target.name)
    }
}

fn write_reports(folder: &Path) -> Result<(), AnyError> {
    let log = RunLog::read(&EventLog::path(folder))?;
    report::write_all(&log, folder)?;
    // Not on standard output: that belongs to libtest's format.
    eprintln!("reports: {}", folder.display());
    Ok(())
}

/// What libtest-mimic is told of a result.
fn completion(result: &TestResult) -> Result<Completion, Failed> {
    let because =
        |what: &str, reason: &str| Ok(Completion::ignored_with(format!("{what}: {reason}")));
    match (result.verdict, &result.outcome) {
        (Verdict::Pass, _) => Ok(Completion::Completed),
        (Verdict::ExpectedFail, _) => {
            because("expected failure", result.expectation.as_deref().unwrap_or_default())
        }
        (Verdict::Skip, Outcome::Skipped { reason }) => because("skipped", reason),
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
        let filters = self.filters();
        if self.filters.is_empty() && self.arguments.skip.is_empty() && !self.arguments.ignored {
            return Plan::new(home, tests, devices, |_, _, _| true);
        }
        // nextest takes what is not run here for a pass, but lets ignored tests alone.
        let list_for_nextest = self.arguments.list && under_nextest();
        Plan::new(home, tests, devices, |id, entry, device| {
            let cannot = || {
                device
                    .is_some_and(|device| missing(entry.test.requires, &device.run.info).is_some())
            };
            let ignored = entry.test.ignore != Ignore::No || list_for_nextest && cannot();
            let trial = Trial::test(id, || Ok(())).with_ignored_flag(ignored);
            filters.iter().any(|filter| !filter.is_filtered_out(&trial))
        })
    }

    /// One set of arguments for each filter: a test is chosen if any of them lets it through.
    fn filters(&self) -> Vec<Arguments> {
        let with = |filter| Arguments { filter, ..self.arguments.clone() };
        if self.filters.is_empty() {
            vec![with(None)]
        } else {
            self.filters.iter().map(|filter| with(Some(filter.clone()))).collect()
        }
    }
}
