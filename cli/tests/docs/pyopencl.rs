//! `docs/pyopencl.md`: every row names a few tests that exist.

use super::{Tests, cells, names};

#[test]
fn every_row_names_a_few_tests_that_exist() {
    let table = include_str!("../../../docs/pyopencl.md");
    let tests = Tests::listed();
    let mut rows = 0;
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(table.lines().filter(|line| line.starts_with("| "))) {
        let cells = cells(line);
        if cells == ["PyOpenCL", "clmatrix", "Tests"] {
            continue;
        }
        rows += 1;
        let [python, ours, covered] = cells[..] else {
            wrong.push(format!("row {number} has {} cells: {line}", cells.len()));
            continue;
        };
        // A name without a counterpart has a reason instead of tests.
        let has_counterpart = !ours.starts_with("none: ");
        if has_counterpart && names(covered).next().is_none() {
            wrong.push(format!("{python} names no test"));
        }
        // A prefix does not say which test checks the name.
        if names(covered).any(|name| name.ends_with('*')) || names(covered).count() > 3 {
            wrong.push(format!("{python} does not name one to three tests"));
        }
        let missing = names(covered).filter(|name| !tests.has(name));
        wrong.extend(missing.map(|name| format!("{python}: no test {name} exists")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows > 30, "the table has {rows} rows");
}
