//! The binary and the test target hold the same tests: rstest's cases are in both. The binary reports the runs of the
//! target.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use clmatrix_cli::__private::stored_runs;

fn lines(command: &mut Command) -> BTreeSet<String> {
    let output = command.env_remove("NEXTEST").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The test target, before its options.
fn cargo_test() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "-p", "clmatrix-suites", "--test", "matrix", "--"]);
    cargo
}

#[test]
fn the_binary_lists_what_the_test_target_lists() {
    let binary: BTreeSet<String> = lines(Command::new(env!("CARGO_BIN_EXE_clmatrix")).arg("list"))
        .iter()
        .filter_map(|line| line.split_whitespace().next().filter(|path| path.contains("::")))
        .map(str::to_owned)
        .collect();
    let target: BTreeSet<String> = lines(cargo_test().arg("--list"))
        .iter()
        .map(|line| line.rsplit_once('@').expect("an id").0.to_owned())
        .collect();
    assert_eq!(binary, target);
    assert!(
        binary.contains("buffer::create::a_buffer_has_the_requested_size::size_1_1"),
        "cases are there"
    );
}

#[test]
fn the_binary_makes_the_page_of_a_run_of_the_test_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let test = "buffer::create::zero_bytes_are_refused";
    lines(cargo_test().arg(test).env("CLMATRIX_REPORT_DIR", folder.path()));

    let reports = folder.path().join("clmatrix-suites/matrix");
    let page = stored_runs::find(&reports, "latest").expect("a run").with_file_name("report.html");
    assert!(!page.exists(), "the target makes none");
    let report = ["report", "--report-dir"];
    lines(Command::new(env!("CARGO_BIN_EXE_clmatrix")).args(report).arg(&reports));
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("zero_bytes_are_refused"));
}
