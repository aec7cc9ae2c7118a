//! The suppressions of LeakSanitizer name tests and functions that exist.

use std::fs;

use super::{Tests, files, root};

#[test]
fn each_suppression_names_a_test_or_a_function() {
    let file = fs::read_to_string(root().join("config/sanitize/lsan.supp")).expect("it exists");
    let Tests(tests) = Tests::listed();
    let sources = files(&root().join("src"), &["rs"]);
    let sources: Vec<String> =
        sources.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    let exists = |entry: &str| {
        let name = entry.trim_start_matches("clmatrix_suites::");
        let function = format!("fn {}(", name.rsplit("::").next().unwrap_or(name));
        tests.iter().any(|test| test.contains(name))
            || sources.iter().any(|source| source.contains(&function))
    };
    let entries: Vec<&str> = file.lines().filter_map(|line| line.strip_prefix("leak:")).collect();
    assert!(entries.len() > 10, "{} entries", entries.len());
    let missing: Vec<_> = entries.into_iter().filter(|entry| !exists(entry)).collect();
    assert!(missing.is_empty(), "config/sanitize/lsan.supp names what does not exist: {missing:?}");
}
