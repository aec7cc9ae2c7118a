//! Code that must not compile: each file of `compile_fail/` has `//~ E0123` on the lines at which the
//! compiler must find that error, and nothing else may be wrong with it.
//!
//! Codes and lines stay the same from one version of the compiler to the next; what it says does not.
//! (`compile_fail` of a documentation test takes any error, except on nightly.)

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Errors of each file: line and code.
type Errors = BTreeMap<String, Vec<(u64, String)>>;

#[test]
fn what_must_not_compile_does_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources(&root.join("tests/compile_fail"));
    let package = write_package(root, &sources);
    let expected: Errors = sources.iter().map(|path| (name(path), expected(&read(path)))).collect();
    assert!(!expected.is_empty() && expected.values().all(|errors| !errors.is_empty()));
    let found = check(&package);
    for (name, expected) in &expected {
        let found = found.get(name).map_or(&[][..], Vec::as_slice);
        assert_eq!(found, expected, "left: found in {name}.rs, right: expected");
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let mut sources: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    sources.sort();
    sources
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn expected(source: &str) -> Vec<(u64, String)> {
    let lines = source.lines().zip(1..);
    lines.filter_map(|(line, number)| Some((number, line.split_once("//~ ")?.1.into()))).collect()
}

/// A package that makes a binary of each source, with the versions that this one has.
fn write_package(root: &Path, sources: &[PathBuf]) -> PathBuf {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    fs::create_dir_all(&package).expect("a folder for the package");
    let mut manifest = format!(
        "[package]\nname = \"compile-fail\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\nclmatrix.path = {root:?}\n"
    );
    for path in sources {
        manifest += &format!("\n[[bin]]\nname = {:?}\npath = {path:?}\n", name(path));
    }
    fs::write(package.join("Cargo.toml"), manifest).expect("a manifest");
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("a lock file");
    package
}

/// Returns the errors of the compiler in each binary of a package.
fn check(package: &Path) -> Errors {
    // Into the same folder as the workspace, without debug info like it, and not with `check`: most
    // dependencies are there already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's target folder");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--keep-going", "--message-format=json", "--target-dir"])
        .arg(target)
        .envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")])
        .current_dir(package)
        .output()
        .expect("cargo runs");
    let log = String::from_utf8_lossy(&output.stderr);
    let mut errors = Errors::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).expect("JSON");
        let diagnostic = &message["message"];
        // The last one of a file counts the others.
        let Some(code) = diagnostic["code"]["code"].as_str() else { continue };
        if diagnostic["level"] != "error" {
            continue;
        }
        let target = message["target"]["name"].as_str().expect("a target's name");
        assert_ne!(target, "clmatrix", "{log}");
        let spans = diagnostic["spans"].as_array().expect("where it is");
        let line = spans.iter().find(|span| span["is_primary"] == true).expect("where it is");
        let line = line["line_start"].as_u64().expect("a line");
        errors.entry(target.to_owned()).or_default().push((line, code.to_owned()));
    }
    assert!(!errors.is_empty(), "{log}");
    for errors in errors.values_mut() {
        errors.sort();
        // How often it says the same varies.
        errors.dedup();
    }
    errors
}
