//! The published packages: their descriptions, and the files in their archives.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::links::targets;
use super::root;

/// Runs cargo in the workspace and returns its standard output.
fn cargo(arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.current_dir(root()).args(arguments).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

/// Returns the packages that may be published, as cargo describes them.
fn published() -> Vec<Value> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("a list").iter();
    packages.filter(|package| package["publish"].is_null()).cloned().collect()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a package has a name")
}

#[test]
fn all_crates_but_xtask_are_published_with_their_descriptions() {
    let packages = published();
    let mut names: Vec<&str> = packages.iter().map(name).collect();
    names.sort_unstable();
    let expected =
        ["", "-characterize", "-cli", "-harness", "-harness-macros", "-runner", "-suites"];
    assert_eq!(names, expected.map(|rest| format!("clmatrix{rest}")));
    for package in &packages {
        for key in ["description", "license", "readme", "rust_version"] {
            assert!(package[key].is_string(), "{} has no {key}", name(package));
        }
        for key in ["keywords", "categories"] {
            let count = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&count), "{} has {count} {key}", name(package));
        }
    }
}

#[test]
fn continuous_integration_checks_the_oldest_rust_that_is_promised() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect("the file exists");
    for package in published() {
        let version = package["rust_version"].as_str().expect("a package has a rust-version");
        assert!(read(".ci/run").contains(&format!("step .ci/check-archives {version}\n")));
        assert!(read("README.md").contains(&format!("Rust {version} or newer")));
    }
}

#[test]
fn archives_hold_sources_and_licenses_and_no_reports() {
    for package in published() {
        let list = cargo(&["package", "--list", "--allow-dirty", "--package", name(&package)]);
        let files: Vec<&str> = list.lines().collect();
        let readme = package["readme"].as_str().expect("a package has a readme");
        for file in ["Cargo.toml", readme, "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"] {
            assert!(files.contains(&file), "{} lacks {file}", name(&package));
        }
        let is_report = |file: &&str| {
            let extension = file.rsplit('.').next().unwrap_or_default();
            ["svg", "png", "jsonl", "xml", "log"].contains(&extension)
        };
        let folders = "tests benches examples harness runner suites cli xtask target";
        let is_of_the_checkout = |file: &&str| {
            let (folder, _) = file.split_once('/').unwrap_or_default();
            folders.split(' ').any(|of_checkout| folder == of_checkout)
        };
        let extra: Vec<_> =
            files.iter().filter(|file| is_report(file) || is_of_the_checkout(file)).collect();
        assert!(extra.is_empty(), "{} has {extra:?}", name(&package));
    }
}

#[test]
fn the_pages_of_published_packages_have_no_links_into_the_checkout() {
    for package in published() {
        let manifest = package["manifest_path"].as_str().expect("a package has a manifest");
        let readme = package["readme"].as_str().expect("a package has a readme");
        let page = fs::read_to_string(Path::new(manifest).with_file_name(readme));
        let page = page.expect("the page exists");
        let is_relative = |target: &&str| !target.contains("://") && !target.starts_with('#');
        let relative: Vec<_> = targets(&page).into_iter().filter(is_relative).collect();
        assert!(relative.is_empty(), "{} links to {relative:?}", name(&package));
    }
}
