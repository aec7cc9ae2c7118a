//! Drivers that go wrong while they are asked what they have, beside the real ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Check;
use crate::support::{COMMAND, child, compile, output, shared_library};

pub const CHECKS: &[Check] = &[
    ("drivers::a_bad_driver_costs_its_own_platforms", a_bad_driver_costs_its_own_platforms),
    ("drivers::an_absent_expected_device_fails_the_run", an_absent_expected_device_fails_the_run),
    ("drivers::a_run_without_devices_cannot_be_made", a_run_without_devices_cannot_be_made),
    ("drivers::a_bad_selection_cannot_be_run", a_bad_selection_cannot_be_run),
    ("drivers::an_empty_selection_is_exit_2", an_empty_selection_is_exit_2),
    ("drivers::a_bad_configuration_cannot_be_run", a_bad_configuration_cannot_be_run),
    (
        "drivers::a_filter_that_matches_nothing_cannot_be_run",
        a_filter_that_matches_nothing_cannot_be_run,
    ),
];

/// Compiles a library whose constructor does `body`.
fn library(folder: &Path, name: &str, body: &str) -> PathBuf {
    let source = folder.join(format!("{name}.c"));
    let library = folder.join(format!("lib{name}.so"));
    let code = format!(
        "#include <stdlib.h>\n#include <unistd.h>\n\
         __attribute__((constructor)) static void begin(void) {{ {body} }}\n"
    );
    std::fs::write(&source, code).expect("the source can be written");
    let mut shared = shared_library(&library, &source);
    shared.arg("-O0");
    compile(shared);
    library
}

fn devices_json(arguments: &[&str]) -> Value {
    let mut command =
        child(COMMAND, &[&["devices", "--format", "json", "--all"], arguments].concat());
    command.env("CLMATRIX_ENUMERATION_TIMEOUT", "5s");
    let output = output(command);
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn ids(devices: &Value) -> Vec<String> {
    let devices = devices["devices"].as_array().expect("an array");
    devices.iter().map(|device| device["id"].as_str().expect("an id").to_owned()).collect()
}

fn a_bad_driver_costs_its_own_platforms() {
    let folder = tempfile::tempdir().expect("a folder");
    let garbage = folder.path().join("libgarbage.so");
    std::fs::write(&garbage, "not a library").expect("the file can be written");
    let absent = folder.path().join("libabsent.so");
    let cases = [
        (library(folder.path(), "crash", "*(volatile int *)8 = 1;"), "SIGSEGV"),
        (library(folder.path(), "abort", "abort();"), "SIGABRT"),
        (library(folder.path(), "exit", "_exit(3);"), "exited with status 3"),
        (library(folder.path(), "hang", "for (;;) pause();"), "no answer within 5s"),
        (library(folder.path(), "empty", ""), "not a driver"),
        (garbage, "not a driver"),
        (absent, "there is no file"),
    ];
    let healthy = ids(&devices_json(&[]));
    let mut arguments = Vec::new();
    for (path, _) in &cases {
        arguments.extend(["--icd", path.to_str().expect("a path in UTF-8")]);
    }
    let found = devices_json(&arguments);
    assert_eq!(ids(&found), healthy, "the other devices are all there, in their order");
    let failed = found["failed_drivers"].as_array().expect("an array");
    for (path, reason) in &cases {
        let path = path.display().to_string();
        let failure = failed.iter().find(|failure| failure["driver"] == path.as_str());
        let said = failure.and_then(|failure| failure["reason"].as_str()).expect("it is listed");
        assert!(said.contains(reason), "{path}: {said}");
    }
}

fn run_with_config(config: &str) -> std::process::Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clmatrix.toml");
    std::fs::write(&file, config).expect("the configuration can be written");
    let file = file.to_str().expect("a path in UTF-8");
    let reports = folder.path().join("reports");
    let reports = reports.to_str().expect("a path in UTF-8");
    output(child(COMMAND, &["run", "faulty::passes", "--config", file, "--report-dir", reports]))
}

fn an_absent_expected_device_fails_the_run() {
    let output = run_with_config("[profile.default]\nexpected-devices = [\"atari-*\"]\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("atari-*"));
}

fn cannot_run(mut command: Command, said: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    command.arg("--report-dir").arg(folder.path());
    let output = output(command);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    for text in said {
        assert!(stderr.contains(text), "{text:?} is in {stderr}");
    }
}

fn a_run_without_devices_cannot_be_made() {
    let mut command = child(COMMAND, &["run"]);
    command.env("OCL_ICD_VENDORS", "/nowhere").env_remove("OCL_ICD_FILENAMES");
    cannot_run(command, &["no OpenCL device", "--icd"]);
}

fn a_bad_selection_cannot_be_run() {
    cannot_run(child(COMMAND, &["run", "--devices", "99"]), &["--devices", "99"]);
    let with_variable = |name: &str, value: &str| {
        let mut command = child(COMMAND, &["run"]);
        command.env(name, value);
        command
    };
    cannot_run(
        with_variable("CLMATRIX_TEST", "no such thing"),
        &["CLMATRIX_TEST", "no such thing"],
    );
    cannot_run(with_variable("PYOPENCL_TEST", "a:b:c"), &["PYOPENCL_TEST", "a:b:c"]);
}

fn an_empty_selection_is_exit_2() {
    let empty = "an empty selection; leave the option out for all devices";
    for (selection, reason) in [
        ("", empty),
        (";;", empty),
        (" ; ", empty),
        ("0;", "entry 2 of \"0;\" is empty"),
        (";0", "entry 1 of \";0\" is empty"),
    ] {
        cannot_run(child(COMMAND, &["run", "--devices", selection]), &["--devices", reason]);
    }
    let mut command = child(COMMAND, &["run"]);
    command.env("CLMATRIX_TEST", ";;");
    cannot_run(command, &["CLMATRIX_TEST: an empty selection; unset the variable"]);
    let output = run_with_config("[profile.default]\ndevices = \"\"\n");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("`devices`: an empty selection; leave the key out"), "{stderr}");

    let every = ids(&devices_json(&["--devices", "*"]));
    assert_eq!(every, ids(&devices_json(&[])), "the advice for a profile");
    let mut listing = child(COMMAND, &["devices", "--format", "json"]);
    listing.env("CLMATRIX_TEST", "");
    assert_eq!(crate::support::output(listing).status.code(), Some(0), "empty counts as unset");
}

fn a_bad_configuration_cannot_be_run() {
    let output = run_with_config("[profile.default]\ntimeot = \"1s\"\n");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("clmatrix.toml:2:1") && stderr.contains("`timeout`"), "{stderr}");
    cannot_run(child(COMMAND, &["run", "--profile", "nightly"]), &["nightly", "default"]);
}

fn a_filter_that_matches_nothing_cannot_be_run() {
    cannot_run(child(COMMAND, &["run", "no::such::test"]), &["no::such::test", "clmatrix list"]);
}
