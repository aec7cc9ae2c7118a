//! The documentation agrees with the sources. No device is needed.

mod block;
mod commands;
mod config_schema;
mod links;
mod packages;
mod pyopencl;
mod quirks;
mod readme;
mod sanitize;
mod soundness;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The top folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package has a parent folder")
}

/// The files below `folder` with one of these extensions, without build outputs and hidden folders.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the entry is readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        let extension = path.extension().unwrap_or_default();
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if extensions.iter().any(|wanted| extension == *wanted) {
            found.push(path);
        }
    }
    found
}

/// The texts between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The cells of a table's row.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split(" | ").map(str::trim).collect()
}

/// The names of the tests in the suites.
struct Tests(BTreeSet<String>);

impl Tests {
    /// The names that the binary lists.
    fn listed() -> Self {
        let clmatrix = env!("CARGO_BIN_EXE_clmatrix");
        let output = Command::new(clmatrix).arg("list").output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8_lossy(&output.stdout);
        let names = lines.lines().filter_map(|line| line.split_whitespace().next());
        Self(names.map(str::to_owned).collect())
    }

    /// Returns whether `name` is a test, a test with cases, or a prefix of tests that ends in `*`.
    fn has(&self, name: &str) -> bool {
        match name.strip_suffix('*') {
            Some(prefix) => self.0.iter().any(|test| test.starts_with(prefix)),
            None => self.0.iter().any(|test| {
                test.strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            }),
        }
    }
}
