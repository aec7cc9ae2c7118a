//! Shards that are run one by one and merged.

use std::collections::BTreeMap;
use std::path::Path;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::verdict::Verdict;

use crate::Check;
use crate::cpu;
use crate::support::{COMMAND, child, log, output};

pub const CHECKS: &[Check] = &[
    ("merge::shards_make_the_whole_run", shards_make_the_whole_run),
    ("merge::a_part_of_a_balanced_run_runs_again", a_part_of_a_balanced_run_runs_again),
];

const TESTS: [&str; 5] = [
    "faulty::passes@",
    "faulty::aborts@",
    "faulty::fails_an_assertion@",
    "faulty::skips_itself@",
    "faulty::needs_no_device@",
];

/// Runs the tests with more options, and returns the exit status.
fn run(folder: &Path, options: &[&str]) -> Option<i32> {
    let mut command = child(COMMAND, &["run"]);
    command.args(TESTS).args(options).arg("--report-dir").arg(folder);
    output(command).status.code()
}

/// Merges the runs of these folders below `folder` into the report folder `merged`. Returns the exit status and
/// standard error.
fn merge(folder: &Path, runs: &[&str]) -> (Option<i32>, String) {
    let mut command = child(COMMAND, &["merge", "--out"]);
    command.arg(folder.join("merged")).args(runs.iter().map(|run| folder.join(run)));
    let output = output(command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn verdicts(log: &RunLog) -> BTreeMap<&str, Verdict> {
    log.results.iter().map(|result| (result.test.as_str(), result.verdict)).collect()
}

fn tests(log: &RunLog) -> Vec<String> {
    log.results.iter().map(|result| result.test.clone()).collect()
}

fn shards_make_the_whole_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    assert_eq!(run(&folder.join("whole"), &[]), Some(1));
    for shard in ["1/2", "2/2"] {
        run(folder, &["--shard", shard]);
    }
    let (status, error) = merge(folder, &["shard-2-of-2"]);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("of 2 shards, 1 is not there"), "{error}");
    assert!(!folder.join("merged").exists());
    let (status, error) = merge(folder, &["shard-1-of-2", "shard-2-of-2"]);
    assert_eq!(status, Some(1), "{error}");
    let (merged, whole) = (log(&folder.join("merged")), log(&folder.join("whole")));
    assert_eq!(verdicts(&merged), verdicts(&whole));
    assert_eq!(tests(&merged), tests(&whole), "the order of a run");
    let mut diff = child(COMMAND, &["diff"]);
    diff.arg(folder.join("whole")).arg(folder.join("merged"));
    let diff = output(diff);
    assert_eq!(diff.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&diff.stdout).contains("No differences."));
    for (runs, has_note) in [("shard-1-of-2", true), ("merged", false)] {
        let mut stale = child(COMMAND, &["expect", "stale"]);
        stale.arg(folder.join(runs));
        let stale = output(stale);
        let note = String::from_utf8_lossy(&stale.stderr).contains(" shard 1 of 2\n");
        assert_eq!(note, has_note, "{runs}");
    }
    // Each artifact of a CI service is a folder with the folders of its files.
    for shard in ["shard-1-of-2", "shard-2-of-2"] {
        let artifact = folder.join("artifacts").join(format!("of {shard}")).join("target");
        std::fs::create_dir_all(&artifact).expect("the folder is ours");
        std::fs::rename(folder.join(shard), artifact.join(shard)).expect("the folder is ours");
    }
    let artifacts = ["artifacts/of shard-1-of-2", "artifacts/of shard-2-of-2"];
    let (status, error) = merge(folder, &artifacts);
    assert_eq!(status, Some(1), "{error}");
    let (_, error) = merge(folder, &["artifacts"]);
    assert!(error.contains("the folder has several runs; name one: "), "{error}");
}

fn a_part_of_a_balanced_run_runs_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let quick = ["--run-skipped", "--devices", cpu::platform()];
    assert_eq!(run(folder, &quick), Some(1));
    let part = [&quick[..], &["--shard", "1/2", "--balance"]].concat();
    let whole = log(folder).header.run_id;
    let run_part = |rerun: &[&str]| {
        run(folder, &[&part[..], &[&whole], rerun].concat());
        tests(&log(&folder.join("shard-1-of-2")))
    };
    let first = run_part(&[]);
    assert!(!first.is_empty() && first.len() < TESTS.len(), "{first:?}");
    assert_eq!(run_part(&["--rerun", "all"]), first);
}
