//! The shards of all suites. No device is needed.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use clmatrix_cli::__private::Division;
use clmatrix_runner::result::test_id::TestId;
use serde_json::json;

/// The paths that `clmatrix list --ids` prints.
fn list(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clmatrix"));
    let output = command.args(["list", "--ids"]).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// Durations as in a run: most tests take milliseconds, few take seconds.
fn durations(paths: &[String]) -> HashMap<TestId, Duration> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut micros = || (random.f64().powi(-1).min(300.0) * 10_000.0) as u64;
    paths.iter().map(|path| (TestId::new(path, "d"), Duration::from_micros(micros()))).collect()
}

/// Writes the log of a run with these durations.
fn write_log(file: &Path, durations: &HashMap<TestId, Duration>) {
    let header = json!({
        "event": "run", "format": 3, "run_id": "1-a", "time": "2026-01-01T00:00:00Z", "host": "h",
        "versions": [], "target": "t", "command_line": [], "rerun_command": "",
    });
    // The event comes first, as in a log.
    let head = r#"{"event":"finished","test":"#;
    let results = durations.iter().map(|(id, duration)| {
        format!(
            "{head}{},\"outcome\":\"passed\",\"duration_ns\":{}}}\n",
            json!(id),
            duration.as_nanos()
        )
    });
    let results: String = results.collect();
    fs::write(file, format!("{header}\n{results}")).expect("the folder can be written");
}

#[test]
fn the_command_divides_by_the_hash_or_a_run() {
    let all = list(&[]);
    assert!(all.len() > 2000, "{}", all.len());
    let durations = durations(&all);
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("events.jsonl");
    write_log(&log, &durations);
    let balanced = Division::balanced(3, all.iter().map(String::as_str), &durations);
    let balance = ["--balance", log.to_str().expect("text")];
    for (arguments, division) in [(&[][..], Division::by_hash(3)), (&balance, balanced)] {
        let second = all.iter().filter(|path| division.shard_of(path) == 2);
        let listed = list(&[&["--shard", "2/3"], arguments].concat());
        assert!(listed.iter().eq(second), "{arguments:?}");
    }
}
