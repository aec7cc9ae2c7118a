//! Shards that are run one by one and merged.

use std::path::Path;

use clmatrix_runner::log::run_log::RunLog;

use crate::check;
use crate::support::{COMMAND, Folder, child, log, output, verdicts};

const TESTS: [&str; 5] = [
    "faulty::passes@",
    "faulty::aborts@",
    "faulty::fails_an_assertion@",
    "faulty::skips_itself@",
    "faulty::needs_no_device@",
];

/// Runs the tests with more options, and returns the exit status.
fn run(folder: &Path, options: &[&str]) -> Option<i32> {
    let mut command = child(COMMAND, &[&["run"], &TESTS[..], options].concat());
    output(command.arg("--report-dir").arg(folder)).status.code()
}

/// Merges the runs of these folders below `folder` into the report folder `merged`. Returns the exit status and
/// standard error.
fn merge(folder: &Path, runs: &[&str]) -> (Option<i32>, String) {
    let mut command = child(COMMAND, &["merge", "--out"]);
    command.arg(folder.join("merged")).args(runs.iter().map(|run| folder.join(run)));
    let ended = output(command);
    (ended.status.code(), ended.stderr)
}

fn tests(log: &RunLog) -> Vec<String> {
    log.results.iter().map(|result| result.test.to_string()).collect()
}

check!(shards_make_the_whole_run, {
    let folder = Folder::new();
    let folder = folder.path();
    assert_eq!(run(&folder.join("whole"), &[]), Some(1));
    for shard in ["1/2", "2/2"] {
        run(folder, &["--shard", shard]);
    }
    let (status, error) = merge(folder, &["shard-2-of-2"]);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("of 2 shards, 1 is missing"), "{error}");
    assert!(!folder.join("merged").exists());
    let (status, error) = merge(folder, &["shard-1-of-2", "shard-2-of-2"]);
    assert_eq!(status, Some(1), "{error}");
    let (merged, whole) = (log(&folder.join("merged")), log(&folder.join("whole")));
    assert_eq!(verdicts(&merged), verdicts(&whole));
    assert_eq!(tests(&merged), tests(&whole), "the order of a run");
    let compared = ["whole", "merged"].map(|run| folder.join(run));
    let diff = output(child(COMMAND, &["diff"]).args(compared));
    assert_eq!(diff.status.code(), Some(0));
    assert!(diff.stdout.contains("No differences."));
    for (runs, has_note) in [("shard-1-of-2", true), ("merged", false)] {
        let stale = output(child(COMMAND, &["expect", "stale"]).arg(folder.join(runs)));
        assert_eq!(stale.stderr.contains(" shard 1 of 2\n"), has_note, "{runs}");
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
});
