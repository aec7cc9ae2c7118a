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
    let merge = |runs: &[&str]| {
        let mut command = child(COMMAND, &["merge", "--out"]);
        command.arg(folder.join("merged")).args(runs.iter().map(|run| folder.join(run)));
        output(command).status.code()
    };
    assert_eq!(merge(&["shard-2-of-2"]), Some(2), "one is missing");
    assert!(!folder.join("merged").exists());
    assert_eq!(merge(&["shard-1-of-2", "shard-2-of-2"]), Some(1));
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
});
