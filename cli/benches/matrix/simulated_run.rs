//! Part 1: 10,000 tests on 100 devices that do not exist.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use clmatrix_harness::private::case::Case;
use clmatrix_harness::private::config::Sync;
use clmatrix_harness::private::log::events::{End, Event, Started};
use clmatrix_harness::private::log::observer::Observer;
use clmatrix_harness::private::log::recorder::Recorder;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::run::plan::Plan;

use crate::figure::Figure;
use crate::simulated_device::simulated_device;
use crate::usage::Usage;
use crate::{COMMAND, SIMULATE, TARGET, TESTS, last_line, lines, process};

const DEVICES: usize = 100;
const RESULTS: usize = DEVICES * TESTS;

/// The first line of the log.
const HEADER: &str = r#"{
    "format": 2, "run_id": "1", "time": "2026-01-02T03:04:05Z", "host": "bench", "versions": [], "target": "t",
    "command_line": [], "rerun_command": "clmatrix run"
}"#;

/// A result that passed.
const PASSED: &str = r#"{
    "test": "", "outcome": "passed", "verdict": "pass", "attempt": 1, "worker": 1000,
    "duration_ns": 206372706, "started": "2026-01-02T03:04:05Z"
}"#;

struct NoObserver;

impl Observer for NoObserver {
    fn of_worker(&self, _result: &TestResult) {}

    fn finished(&self, _position: usize, _result: &TestResult) {}
}

/// The figures of the run, whose log is written to `folder`.
pub fn figures(folder: &Path) -> Vec<Figure> {
    std::fs::create_dir(folder).expect("the folder can be created");
    let simulated = last_line(process(SIMULATE, &[], folder));
    let (plan, all) = simulated.split_once(',').expect("two usages");
    let [plan, all]: [Usage; 2] = [plan, all].map(|usage| usage.parse().expect("a usage"));
    let report: Usage = last_line(process(COMMAND, &["report"], folder)).parse().expect("a usage");
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
    figures
}

/// Writes the log of a run in which each test passes, to the folder that the last argument names. Prints
/// the usage of the plan and of all.
pub fn simulate() -> ExitCode {
    let folder = std::env::args_os().next_back().expect("a folder");
    let log = File::create_new(Path::new(&folder).join("events.jsonl")).expect("no log yet");
    let tests = Case::registered().expect("each test has a name of its own");
    let devices = (0..DEVICES).map(simulated_device).collect();
    let plan = Plan::new(TARGET.home, &tests, devices, |_, _, _| true);
    assert_eq!(plan.entries.len(), RESULTS);
    let recorder = Recorder::new(Some(log), Sync::Off, false, &NoObserver);
    recorder.record(Event::Run(serde_json::from_str(HEADER).expect("a header")));
    plan.events().into_iter().for_each(|event| recorder.record(event));
    let planned = Usage::now();
    let passed: TestResult = serde_json::from_str(PASSED).expect("a result");
    for (position, (entry, test)) in plan.entries.iter().zip(plan.test_positions()).enumerate() {
        let time = SystemTime::now();
        recorder.record(Event::Started(Started {
            test,
            device: plan.device_id(entry).to_owned(),
            time,
            attempt: 1,
            worker: passed.worker,
            slot: Some(0),
            pid: Some(std::process::id()),
        }));
        let mut result = passed.clone();
        result.test = plan.id(entry);
        result.started = time;
        recorder.finished(position, &result);
    }
    recorder.record(Event::End(End {
        interrupted: false,
        duration: std::time::Duration::from_secs(1),
        exit_status: 0,
        counts: [("pass".to_owned(), RESULTS as u64)].into(),
    }));
    eprintln!("{planned},{}", Usage::now());
    ExitCode::SUCCESS
}
