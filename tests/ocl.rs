//! The package `ocl/` on the crate ocl: a program that shares objects, and tests on each device. It is outside of the
//! workspace.

use std::path::Path;
use std::process::Command;

/// Runs cargo in the package, and returns what it prints.
fn cargo(command: &str) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ocl");
    // Into the folder of the workspace, without debug info like it: some dependencies are there already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's target folder");
    let output = Command::new(env!("CARGO"))
        .args([command, "--locked"])
        .env("CARGO_TARGET_DIR", target)
        .envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")])
        // Its expected devices are those of other runs.
        .env_remove("CLMATRIX_PROFILE")
        .env_remove("CLMATRIX_REPORT_DIR")
        .current_dir(package)
        .output()
        .expect("cargo runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{stdout}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn a_program_shares_objects_with_ocl() {
    assert!(!cargo("run").is_empty(), "there is no device");
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn a_crate_on_ocl_is_tested_on_each_device() {
    let tests = cargo("test");
    assert!(tests.contains("test doubles_on_the_default_device@"), "there is no device");
}
