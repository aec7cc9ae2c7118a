//! Runs of a part of the tests: from a file, those of an earlier run, and shards.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use clmatrix_cli::private::stored_runs;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::log::selected_tests::SelectedTests;
use clmatrix_harness::private::shard::{Shard, ShardRule};

use crate::Check;
use crate::cpu;
use crate::event_log::PASSING;
use crate::support::{COMMAND, child, log, output};

pub const CHECKS: &[Check] = &[
    ("again::failed_tests_of_a_file_run_again", failed_tests_of_a_file_run_again),
    ("again::bazel_gets_the_files_of_its_shard", bazel_gets_the_files_of_its_shard),
    ("again::a_half_set_shard_is_exit_2", a_half_set_shard_is_exit_2),
    ("again::failed_tests_of_a_shard_run_again", failed_tests_of_a_shard_run_again),
];

/// A run with `--report-dir FOLDER`.
fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(folder).args(arguments);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The paths of the tests with a result.
fn paths(log: &RunLog) -> BTreeSet<String> {
    log.results.iter().map(|result| result.test_and_device().0.to_owned()).collect()
}

fn failed_tests_of_a_file_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let failing = ["fails_an_assertion", "returns_an_error", "panics_otherwise"];
    let failing = failing.map(|test| format!("faulty::{test}"));
    let passing = ["faulty::run", "faulty::panics_as_announced"];
    let tests = folder.path().join("tests");
    let lines = [&failing.join("\n"), passing[0], passing[1]].join("\n");
    std::fs::write(&tests, lines).expect("the folder can be written");
    let tests = tests.to_str().expect("text");

    let first = output(run(folder.path(), &["--tests", tests, "--devices", cpu::platform()]));
    assert_eq!(first.status.code(), Some(1), "{}", stderr(&first));
    let first = log(folder.path());
    assert_eq!(first.results.len(), 5);
    let listed: SelectedTests = failing.iter().map(String::as_str).chain(passing).collect();
    assert_eq!(first.header.selected_tests, Some(listed));

    let again = output(run(folder.path(), &["--rerun", "failed", "--devices", cpu::platform()]));
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    let again = log(folder.path());
    assert_eq!(paths(&again), failing.into());
    assert_eq!(again.results.len(), 3);
    let failed: SelectedTests = again.results.iter().map(|result| &*result.test).collect();
    assert_eq!(again.header.selected_tests, Some(failed));
    assert_eq!(again.header.parent, Some(first.header.run_id.clone()));

    let none = output(run(folder.path(), &["--rerun", "flaky"]));
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("has no such test"), "{}", stderr(&none));
}

/// Runs a shard as Bazel does, with these arguments; returns its log.
fn run_in_bazel(folder: &Path, index: &str, arguments: &[&str]) -> RunLog {
    let mut command = child(COMMAND, &["run", "--shard", "auto"]);
    command.args(PASSING).args(arguments);
    command.env("TEST_SHARD_INDEX", index).env("TEST_TOTAL_SHARDS", "2");
    command.env("TEST_SHARD_STATUS_FILE", folder.join("status"));
    command.env("XML_OUTPUT_FILE", folder.join("test.xml"));
    command.env("TEST_UNDECLARED_OUTPUTS_DIR", folder);
    let ended = output(command);
    assert!(stderr(&ended).contains("by Bazel's TEST_SHARD_INDEX"), "{}", stderr(&ended));
    let index: u32 = index.parse().expect("a number");
    let reports = folder.join(format!("shard-{}-of-2", index + 1));
    let log = RunLog::read(&stored_runs::find(&reports, "latest").expect("a run")).expect("a log");
    assert_eq!(log.header.shard, Some(Shard { index: index + 1, total: 2, rule: ShardRule::Hash }));
    let xml = std::fs::read_to_string(folder.join("test.xml")).expect("a file");
    assert_eq!(xml.matches("<testcase ").count(), log.results.len());
    assert!(folder.join("status").is_file());
    log
}

fn bazel_gets_the_files_of_its_shard() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs =
        ["0", "1"].map(|index| run_in_bazel(folder.path(), index, &["--devices", cpu::platform()]));
    let [first, second] = logs.map(|log| paths(&log));
    assert!(first.is_disjoint(&second) && !first.is_empty() && !second.is_empty());
    let on_all_devices = run_in_bazel(folder.path(), "1", &[]);
    assert_eq!(paths(&on_all_devices), second);
    let all = PASSING.map(|test| test.trim_end_matches('@').to_owned());
    assert_eq!(&first | &second, all.into());
}

fn a_half_set_shard_is_exit_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = run(folder.path(), &["faulty::passes", "--shard", "auto"]);
    command.env("CI_NODE_INDEX", "1").env_remove("CI_NODE_TOTAL");
    let half = output(command);
    assert_eq!(half.status.code(), Some(2));
    assert!(stderr(&half).contains("CI_NODE_INDEX is set, but CI_NODE_TOTAL is not"), "{half:?}");
    let mut command = run(folder.path(), &["faulty::passes@", "--shard", "3/64"]);
    command.args(["--devices", cpu::platform()]);
    let empty = output(command);
    assert_eq!(empty.status.code(), Some(0), "{}", stderr(&empty));
    let shard = stored_runs::find(&folder.path().join("shard-3-of-64"), "latest").expect("a run");
    assert_eq!(RunLog::read(&shard).expect("a log").results, []);
}

fn failed_tests_of_a_shard_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let in_shard = |arguments: &[&str]| {
        let mut command = run(folder.path(), &["--shard", "1/1", "--devices", cpu::platform()]);
        command.args(arguments);
        output(command)
    };
    let tests = ["faulty::passes@", "faulty::returns_an_error@"];
    assert_eq!(in_shard(&tests).status.code(), Some(1));
    let shard = folder.path().join("shard-1-of-1");
    let first = log(&shard);
    let again = in_shard(&["--rerun", "failed"]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    let again = log(&shard);
    assert_eq!(paths(&again), ["faulty::returns_an_error".to_owned()].into());
    assert_eq!(again.header.parent, Some(first.header.run_id));
    // A run of another folder is found as well.
    let whole = output(run(folder.path(), &["--devices", cpu::platform(), tests[1]]));
    assert_eq!(whole.status.code(), Some(1), "{}", stderr(&whole));
    let whole = log(folder.path()).header.run_id;
    let again = in_shard(&["--rerun", "all", &whole]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    assert_eq!(log(&shard).header.parent, Some(whole));
}
