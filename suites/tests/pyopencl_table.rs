//! `docs/pyopencl.md`: every row names what there is, and tests that are there.

use std::collections::BTreeSet;
use std::process::Command;

/// The tests that the binary lists.
fn tests() -> BTreeSet<String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_clmatrix")).arg("list").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// What is between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_row_names_tests_that_are_there() {
    let table = include_str!("../../docs/pyopencl.md");
    let tests = tests();
    let mut rows = 0;
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(table.lines().filter(|line| line.starts_with("| "))) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells == ["PyOpenCL", "clmatrix", "Tests"] {
            continue;
        }
        rows += 1;
        let [python, ours, covered] = cells[..] else {
            wrong.push(format!("row {number} has {} cells: {line}", cells.len()));
            continue;
        };
        // A name that has no counterpart says why instead.
        let has_counterpart = !ours.starts_with("none: ");
        if has_counterpart && names(covered).next().is_none() {
            wrong.push(format!("{python} names no test"));
        }
        for name in names(covered) {
            let is_there = match name.strip_suffix('*') {
                Some(beginning) => tests.iter().any(|test| test.starts_with(beginning)),
                // A name stands for its cases, too.
                None => tests.iter().any(|test| {
                    test.strip_prefix(name)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
                }),
            };
            if !is_there {
                wrong.push(format!("{python}: there is no test {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows > 30, "the table has {rows} rows");
}
