//! `docs/guide/soundness.md`: the quirks that it names have rows in `docs/quirks.md`, and the tests
//! that it names exist.

use super::quirks::rows;
use super::{Tests, cells, names};

const PAGE: &str = include_str!("../../../docs/guide/soundness.md");

/// The ids of quirks in a text, such as `POCL-1`.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| {
        word.split_once('-').is_some_and(|(driver, number)| {
            driver.len() > 3
                && driver.bytes().all(|byte| byte.is_ascii_uppercase())
                && number.parse::<u32>().is_ok()
        })
    })
}

#[test]
fn each_quirk_has_a_row() {
    let rows = rows(include_str!("../../../docs/quirks.md"));
    let is_missing = |id: &&str| rows.iter().all(|row| row.id != *id);
    assert!(ids(PAGE).count() > 10, "{} ids", ids(PAGE).count());
    let missing: Vec<_> = ids(PAGE).filter(is_missing).collect();
    assert!(missing.is_empty(), "no rows: {missing:?}");
}

#[test]
fn each_row_of_tests_names_tests_that_exist() {
    let tests = Tests::listed();
    let mut rows = 0;
    let mut wrong = Vec::new();
    let mut is_with_tests = false;
    for line in PAGE.lines() {
        let cells = cells(line);
        if !line.starts_with("| ") {
            // The line below the header belongs to the table.
            is_with_tests &= line.starts_with('|');
        } else if !is_with_tests {
            is_with_tests = cells.last() == Some(&"tests");
        } else {
            rows += 1;
            let named = cells.last().copied().unwrap_or_default();
            if names(named).next().is_none() {
                wrong.push(format!("no test: {line}"));
            }
            let missing = names(named).filter(|name| !tests.has(name));
            wrong.extend(missing.map(|name| format!("no test {name} exists")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows > 10, "{rows} rows");
}
