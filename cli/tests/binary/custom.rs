//! A command with suites of its own, from the blocks of the guide.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::block::block;

#[test]
#[ignore = "builds the harness with other features, which takes 0.1 GB of the target folder"]
fn the_command_of_the_guide_runs_its_suites() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the checkout");
    let page = fs::read_to_string(root.join("docs/guide/tests.md")).expect("the page exists");
    let (_, page) = page.split_once("### A command of your own").expect("the page has the section");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("custom");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).expect("a file");
    let manifest =
        block(page, "# Cargo.toml").replace("../clmatrix", root.to_str().expect("UTF-8"));
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"custom\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [lib]\nname = \"my_suites\"\n{manifest}\n[workspace]\n"
        ),
    );
    write("build.rs", block(page, "// build.rs"));
    write("src/main.rs", block(page, "// src/main.rs"));
    write(
        "src/lib.rs",
        "#[rstest::rstest]\n#[clmatrix_harness::test]\n\
         fn is_there(device: clmatrix::Device, #[values(1, 2)] _number: u32) {\n\
         assert!(!device.name().is_empty());\n}\nuse clmatrix_harness::device;\n",
    );
    // Not that of the checkout, which the folder is in.
    write("clmatrix.toml", "");
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    // Cargo does not build again what the workspace has built.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's target folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&folder).args(["run", "--quiet", "--", "run", "--report-dir", "reports"]);
    cargo.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("CLMATRIX_CONFIG")
        .env_remove("CLMATRIX_PROFILE");
    let output = cargo.output().expect("cargo runs");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let said = said.concat();
    println!("{said}");
    assert!(output.status.success());
    let devices = said.matches(": 2 done in ").count();
    let summary = format!("PASSED: {} tests on {devices} ", 2 * devices);
    assert!(devices > 0 && said.contains(&summary), "{summary}");
}
