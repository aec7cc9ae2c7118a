//! The binary and the test target hold the same tests: rstest's cases are in both.

use std::collections::BTreeSet;
use std::process::Command;

fn lines(command: &mut Command) -> BTreeSet<String> {
    let output = command.env_remove("NEXTEST").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn the_binary_lists_what_the_test_target_lists() {
    let binary: BTreeSet<String> = lines(Command::new(env!("CARGO_BIN_EXE_clmatrix")).arg("list"))
        .iter()
        .filter_map(|line| line.split_whitespace().next().filter(|path| path.contains("::")))
        .map(str::to_owned)
        .collect();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "-p", "clmatrix-suites", "--test", "matrix", "--", "--list"]);
    let target: BTreeSet<String> = lines(&mut cargo)
        .iter()
        .map(|line| line.rsplit_once('@').expect("an id").0.to_owned())
        .collect();
    assert_eq!(binary, target);
    assert!(
        binary.contains("buffer::create::a_buffer_has_the_requested_size::size_1_1"),
        "cases are there"
    );
}
