//! Part 1: 10,000 tests on 100 devices that do not exist, and a test that is repeated a million times.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use clmatrix_runner::case::Case;
use clmatrix_runner::config::Sync;
use clmatrix_runner::log::events::{End, Event, Started};
use clmatrix_runner::log::recorder::Recorder;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::run::entry::Entry;
use clmatrix_runner::run::plan::Plan;
use clmatrix_runner::verdict::{Outcome, Verdict};

use crate::figure::Figure;
use crate::simulated_device::simulated_device;
use crate::usage::Usage;
use crate::{COMMAND, SIMULATE, TARGET, TESTS, last_line, lines, process};

const DEVICES: usize = 100;
const RESULTS: usize = DEVICES * TESTS;

/// The first line of the log.
const HEADER: &str = r#"{
    "format": 3, "run_id": "1", "time": "2026-01-02T03:04:05Z", "host": "bench", "versions": [], "target": "t",
    "command_line": [], "rerun_command": "clmatrix run"
}"#;

/// A result that passed.
const PASSED: &str = r#"{
    "test": "", "outcome": "passed", "verdict": "pass", "attempt": 1, "worker": 1000,
    "duration_ns": 206372706, "started": "2026-01-02T03:04:05Z"
}"#;

/// The argument of a simulation by which one test has all results.
const REPEAT: &str = "repeat";

/// The figures of the runs, whose logs are written to `folder`.
pub fn figures(folder: &Path) -> Vec<Figure> {
    std::fs::create_dir(folder).expect("the folder can be created");
    let simulated = last_line(process(SIMULATE, &[], folder));
    let (plan, all) = simulated.split_once(',').expect("two usages");
    let [plan, all]: [Usage; 2] = [plan, all].map(|usage| usage.parse().expect("a usage"));
    let report = report(folder);
    let repeated = folder.join(REPEAT);
    std::fs::create_dir(&repeated).expect("the folder can be created");
    last_line(process(SIMULATE, &[REPEAT], &repeated));
    let repeated = self::report(&repeated);
    let mut figures = vec![
        Figure {
            what: "10,000 tests x 100 devices: plan",
            measured: plan.cpu,
            limit: 0.5,
            unit: "s ",
        },
        Figure { what: "    memory of the plan", measured: plan.memory, limit: 60.0, unit: "MB" },
        Figure {
            what: "    writing a result",
            measured: (all.cpu - plan.cpu) * 1e6 / RESULTS as f64,
            limit: 10.0,
            unit: "us",
        },
        Figure {
            what: "    read, matrix and JUnit",
            measured: report.cpu,
            limit: 10.0,
            unit: "s ",
        },
        Figure {
            what: "    memory of read, matrix and JUnit",
            measured: report.memory,
            limit: 700.0,
            unit: "MB",
        },
    ];
    figures.extend(lines(&folder.join("events.jsonl"), RESULTS));
    figures.extend([
        Figure {
            what: "1,000,000 attempts at one test: read, matrix and JUnit",
            measured: repeated.cpu,
            limit: 10.0,
            unit: "s ",
        },
        Figure { what: "    memory", measured: repeated.memory, limit: 60.0, unit: "MB" },
    ]);
    figures
}

/// The usage of a process that makes the reports of a run.
fn report(folder: &Path) -> Usage {
    last_line(process(COMMAND, &["report"], folder)).parse().expect("a usage")
}

/// Writes the log of a run in which each test passes, to the folder that the last argument names; with [`REPEAT`], of
/// one in which a test goes wrong now and then. Prints the usage of the plan and of all.
pub fn simulate() -> ExitCode {
    let folder = std::env::args_os().next_back().expect("a folder");
    let log = File::create_new(Path::new(&folder).join("events.jsonl")).expect("no log yet");
    let tests = Case::registered().expect("each test has a name of its own");
    let repeats = std::env::args_os().any(|argument| argument == REPEAT);
    let (tests, devices) = if repeats { (&tests[..1], 1) } else { (&tests[..], DEVICES) };
    let devices: Vec<_> = (0..devices).map(simulated_device).collect();
    let plan = Plan::new(TARGET.home, tests, devices, |_, _, _| true);
    let recorder = Recorder::new(Some(log), Sync::Off, false, &());
    recorder.record(Event::Run(serde_json::from_str(HEADER).expect("a header")));
    plan.events().into_iter().for_each(|event| recorder.record(event));
    let planned = Usage::now();
    let passed: TestResult = serde_json::from_str(PASSED).expect("a result");
    let entries = plan.entries.iter().zip(plan.test_positions()).cycle().take(RESULTS);
    for (number, (entry, test)) in (0..).zip(entries) {
        let time = SystemTime::now();
        recorder.record(Event::Started(Started {
            test,
            device: plan.device_id(entry).to_owned(),
            time,
            attempt: if repeats { number + 1 } else { 1 },
            worker: passed.attempt.worker,
            slot: Some(0),
            pid: Some(std::process::id()),
        }));
        let mut result = passed.clone();
        result.test = plan.id(entry);
        result.attempt.started = time;
        if repeats && number % 1000 == 7 {
            result.attempt.outcome = Outcome::Failed { message: "no".to_owned(), location: None };
            result.verdict = Verdict::Fail;
        }
        recorder.finished(Entry(number), &result);
    }
    recorder.record(Event::End(End {
        interrupted: false,
        duration: std::time::Duration::from_secs(1),
        exit_status: u8::from(repeats),
        counts: [("pass".to_owned(), RESULTS as u64)].into(),
    }));
    eprintln!("{planned},{}", Usage::now());
    ExitCode::SUCCESS
}
