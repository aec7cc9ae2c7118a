//! `docs/quirks.md` and the tags `quirk: ID` in the sources agree in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{Tests, cells, files, names, root};

/// The folders whose files may have tags.
const SOURCES: [&str; 11] = [
    "src",
    "characterize",
    "cli/src",
    "cli/tests",
    "cli/benches",
    "harness",
    "runner",
    "suites/src",
    "xtask/src",
    "benches",
    "config",
];

/// The files that have a tag, relative to the repository, by the tag's id.
fn tags() -> BTreeMap<String, BTreeSet<String>> {
    let mut tags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in SOURCES {
        for file in files(&root().join(folder), &["rs", "toml"]) {
            let text = fs::read_to_string(&file).expect("sources are text");
            let path = file.strip_prefix(root()).expect("it is in the repository");
            for id in text.lines().filter_map(ids).flatten() {
                tags.entry(id.to_owned()).or_default().insert(path.display().to_string());
            }
        }
    }
    tags
}

/// The ids in a comment such as `// quirk: A-1, B-2`.
fn ids(line: &str) -> Option<impl Iterator<Item = &str>> {
    let comment = line.trim_start().trim_start_matches(['/', '#']);
    Some(comment.strip_prefix(" quirk: ")?.split(", "))
}

/// A row of the page.
pub(super) struct Row<'a> {
    pub(super) id: &'a str,
    places: BTreeSet<String>,
    tests: &'a str,
}

pub(super) fn rows(page: &str) -> Vec<Row<'_>> {
    let lines = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id |"));
    let row = |line| {
        let [id, behaviour, evidence, places, tests] = cells(line)[..] else {
            panic!("a row has five cells: {line}")
        };
        assert!(!behaviour.is_empty() && !evidence.is_empty(), "{id} has no evidence");
        Row { id, places: names(places).map(str::to_owned).collect(), tests }
    };
    lines.map(row).collect()
}

/// Returns whether a test exists: one of the suites, or `FILE::FUNCTION` for any other.
fn exists(suites: &Tests, name: &str) -> bool {
    match name.split_once(".rs::") {
        Some((file, function)) => {
            let file = root().join(Path::new(file).with_extension("rs"));
            let declarations = [format!("fn {function}("), format!("check!({function},")];
            fs::read_to_string(file)
                .is_ok_and(|text| declarations.iter().any(|known| text.contains(known)))
        }
        None => suites.has(name),
    }
}

#[test]
fn each_tag_has_a_row_and_each_row_its_tags() {
    let page = fs::read_to_string(root().join("docs/quirks.md")).expect("the page exists");
    let mut tags = tags();
    assert!(tags.len() > 30, "{} tags", tags.len());
    let mut wrong = Vec::new();
    for row in rows(&page) {
        match tags.remove(row.id) {
            Some(places) if places == row.places => {}
            Some(places) => wrong.push(format!(
                "{}: the page names {:?}, the tags are in {places:?}",
                row.id, row.places
            )),
            None => wrong.push(format!("{} has two rows, or no `// quirk: {0}`", row.id)),
        }
    }
    wrong.extend(tags.iter().map(|(id, places)| format!("{id} has no row; tagged in {places:?}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_row_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/quirks.md")).expect("the page exists");
    let suites = Tests::listed();
    let mut wrong = Vec::new();
    for row in rows(&page).iter().filter(|row| !row.tests.starts_with("none: ")) {
        if names(row.tests).next().is_none() {
            wrong.push(format!("{} names no test", row.id));
        }
        let missing = names(row.tests).filter(|name| !exists(&suites, name));
        wrong.extend(missing.map(|name| format!("{}: no test {name} exists", row.id)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
