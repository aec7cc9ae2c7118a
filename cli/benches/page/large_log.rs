//! The log of a run of many tests.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::simulated_device::simulated_device;

const TESTS: usize = 50_000;
const DEVICES: usize = 4;
const SUITES: usize = 40;

const TIME: &str = "2026-01-02T03:04:05Z";

/// Writes a log in which of 100 results 1 fails, 1 is flaky, 3 fail as expected, 10 are skipped and the others
/// pass.
pub fn write(log: &Path) -> io::Result<()> {
    let mut log = BufWriter::new(File::create(log)?);
    let mut line = |event: Value| writeln!(log, "{event}");
    let devices: Vec<_> = (0..DEVICES).map(|number| simulated_device(number).run).collect();
    line(json!({
        "event": "run", "format": 3, "run_id": "1", "time": TIME, "host": "bench", "versions": [], "target": "t",
        "command_line": ["clmatrix", "run"], "rerun_command": "clmatrix run", "devices": devices,
    }))?;
    line(json!({
        "event": "expectation", "number": 1, "file": "expectations/bench.toml", "line": 1, "keys": {},
        "status": "fail", "reason": "the driver does not support this",
    }))?;
    let tests: Vec<_> = (0..TESTS).map(planned).collect();
    line(json!({ "event": "plan", "tests": tests }))?;
    for device in &devices {
        line(json!({ "event": "plan-device", "device": device.id, "ranges": [[0, TESTS - 1]] }))?;
    }
    for test in 0..TESTS {
        for (number, device) in devices.iter().enumerate() {
            let id = format!("{}@{}", path(test), device.id);
            for result in results(test + number) {
                line(finished(&id, test, result))?;
            }
        }
    }
    line(json!({ "event": "end", "interrupted": false, "duration_ns": 1_000_000_000_u64 }))?;
    log.flush()
}

fn path(test: usize) -> String {
    format!("suite_{}::module_{}::a_test_of_usual_length::case_{test}", test % SUITES, test % 7)
}

fn planned(test: usize) -> Value {
    json!({
        "path": path(test), "file": format!("suites/src/suite_{}/module.rs", test % SUITES),
        "line": 10 + test % 500,
    })
}

/// The attempts of a result.
fn results(number: usize) -> Vec<Value> {
    let message = format!("assertion `left == right` failed\n  left: {number}\n right: 0");
    let failed = json!({
        "outcome": "failed", "verdict": "fail", "message": message, "stderr": "output\n".repeat(300),
    });
    let mut repeated = failed.clone();
    repeated["repeated"] = true.into();
    let expected = json!({
        "outcome": "failed", "verdict": "expected-fail", "message": message,
        "expectation": 1, "stderr": "output\n",
    });
    match number % 100 {
        0 => vec![failed],
        1 => vec![repeated, json!({ "outcome": "passed", "verdict": "flaky", "attempt": 2 })],
        2..5 => vec![expected],
        5..15 => vec![json!({ "outcome": "skipped", "verdict": "skip", "reason": "needs fp64" })],
        _ => vec![json!({ "outcome": "passed", "verdict": "pass" })],
    }
}

/// The line of an attempt.
fn finished(id: &str, test: usize, mut result: Value) -> Value {
    let duration = 100_000 + 37_000_000 * (test as u64 % 89);
    let others = json!({
        "event": "finished", "test": id, "worker": 1, "duration_ns": duration, "started": TIME,
    });
    let fields = result.as_object_mut().expect("an object");
    fields.extend(others.as_object().expect("an object").clone());
    result
}
