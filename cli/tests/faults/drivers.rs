//! Drivers that go wrong while they are asked what they have, beside the real ones.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clmatrix_harness::private::devices::failure::FailureKind;
use clmatrix_harness::private::verdict::Verdict;
use serde_json::Value;
use tempfile::TempDir;

use crate::Check;
use crate::cpu;
use crate::support::{
    COMMAND, LIBTEST, child, compile, log, output, reports, results, shared_library,
    without_devices,
};

pub const CHECKS: &[Check] = &[
    ("drivers::a_bad_driver_costs_its_own_platforms", a_bad_driver_costs_its_own_platforms),
    ("drivers::a_named_driver_that_fails_is_exit_2", a_named_driver_that_fails_is_exit_2),
    (
        "drivers::a_driver_of_the_system_that_fails_is_reported",
        a_driver_of_the_system_that_fails_is_reported,
    ),
    ("drivers::a_profile_can_be_strict_about_drivers", a_profile_can_be_strict_about_drivers),
    ("drivers::a_platform_without_devices_is_no_failure", a_platform_without_devices_is_no_failure),
    ("drivers::an_absent_expected_device_fails_the_run", an_absent_expected_device_fails_the_run),
    ("drivers::a_run_without_devices_is_exit_2", a_run_without_devices_is_exit_2),
    ("drivers::tests_that_need_no_device_run_without", tests_that_need_no_device_run_without),
    ("drivers::a_bad_selection_cannot_be_run", a_bad_selection_cannot_be_run),
    ("drivers::an_empty_selection_is_exit_2", an_empty_selection_is_exit_2),
    ("drivers::a_bad_configuration_cannot_be_run", a_bad_configuration_cannot_be_run),
    (
        "drivers::a_filter_that_matches_nothing_cannot_be_run",
        a_filter_that_matches_nothing_cannot_be_run,
    ),
    ("drivers::list_takes_ids", list_takes_ids),
];

/// Compiles a library.
fn library(folder: &Path, name: &str, code: &str, with: Option<&Path>) -> PathBuf {
    let source = folder.join(format!("{name}.c"));
    let library = folder.join(format!("lib{name}.so"));
    std::fs::write(&source, code).expect("the source can be written");
    let mut shared = shared_library(&library, &source);
    shared.arg("-O0").arg("-Wl,--no-as-needed").args(with);
    compile(shared);
    library
}

/// Compiles a library whose constructor does `body`.
fn constructor(folder: &Path, name: &str, body: &str) -> PathBuf {
    let code = format!(
        "#include <stdlib.h>\n#include <unistd.h>\n\
         __attribute__((constructor)) static void begin(void) {{ {body} }}\n"
    );
    library(folder, name, &code, None)
}

/// A library that depends on one that does not exist.
fn needy(folder: &Path) -> PathBuf {
    let gone = library(folder, "gone", "", None);
    let needy = library(folder, "needy", "", Some(&gone));
    std::fs::remove_file(gone).expect("the library can be removed");
    needy
}

/// A driver by the rules of cl_khr_icd, which shows `platforms` platforms without a device.
pub fn driver(folder: &Path, platforms: usize) -> PathBuf {
    let code = format!(
        r#"
        #include <string.h>
        typedef struct platform {{ void **dispatch; }} *cl_platform_id;
        static int answer(const char *text, size_t size, char *value, size_t *length) {{
            if (length) *length = strlen(text) + 1;
            if (value && size > strlen(text)) strcpy(value, text);
            return 0;
        }}
        int clGetPlatformInfo(cl_platform_id platform, unsigned name, size_t size, void *value, size_t *length) {{
            switch (name) {{
            case 0x0900: return answer("FULL_PROFILE", size, value, length);
            case 0x0901: return answer("OpenCL 1.2", size, value, length);
            case 0x0902: return answer("Bare", size, value, length);
            case 0x0903: return answer("Nobody", size, value, length);
            case 0x0904: return answer("cl_khr_icd", size, value, length);
            case 0x0920: return answer("BARE", size, value, length);
            default: return -30;
            }}
        }}
        static int no_devices(void) {{ return -1; }}
        static void *dispatch[256] = {{ 0, clGetPlatformInfo, no_devices }};
        static struct platform bare = {{ dispatch }};
        int clIcdGetPlatformIDsKHR(unsigned entries, cl_platform_id *platforms, unsigned *count) {{
            if (count) *count = {platforms};
            if (platforms && entries) *platforms = &bare;
            return {platforms} ? 0 : -1001;
        }}
        void *clGetExtensionFunctionAddress(const char *name) {{
            if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return clIcdGetPlatformIDsKHR;
            if (!strcmp(name, "clGetPlatformInfo")) return clGetPlatformInfo;
            return 0;
        }}
        "#
    );
    library(folder, &format!("bare{platforms}"), &code, None)
}

/// Adds drivers in the way of a system, which no option names.
fn install(command: &mut Command, drivers: &[&PathBuf]) {
    let mut paths: Vec<PathBuf> = drivers.iter().map(|path| path.to_path_buf()).collect();
    if let Some(present) = std::env::var_os("OCL_ICD_FILENAMES") {
        paths.extend(std::env::split_paths(&present));
    }
    command.env("OCL_ICD_FILENAMES", std::env::join_paths(paths).expect("no path has a colon"));
}

fn devices_json(arguments: &[&str], drivers: &[&PathBuf]) -> (Option<i32>, Value) {
    let mut command =
        child(COMMAND, &[&["devices", "--format", "json", "--all"], arguments].concat());
    command.env("CLMATRIX_ENUMERATION_TIMEOUT", "5s");
    install(&mut command, drivers);
    let output = output(command);
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn ids(devices: &Value) -> Vec<String> {
    let devices = devices["devices"].as_array().expect("an array");
    devices.iter().map(|device| device["id"].as_str().expect("an id").to_owned()).collect()
}

fn a_bad_driver_costs_its_own_platforms() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let garbage = folder.join("libgarbage.so");
    std::fs::write(&garbage, "not a library").expect("the file can be written");
    let icd = folder.join("nothing.icd");
    std::fs::write(&icd, "\n").expect("the file can be written");
    let cases = [
        (constructor(folder, "crash", "*(volatile int *)8 = 1;"), "crashed", "SIGSEGV"),
        (constructor(folder, "abort", "abort();"), "crashed", "SIGABRT"),
        (constructor(folder, "exit", "_exit(3);"), "exited", "exited with status 3"),
        (constructor(folder, "hang", "for (;;) pause();"), "hung", "no answer within 5s"),
        (constructor(folder, "empty", ""), "no-entry-point", "clGetExtensionFunctionAddress"),
        (driver(folder, 0), "no-platform", "no platform"),
        (garbage, "not-a-library", "libgarbage.so: file too short"),
        (
            folder.join("libabsent.so"),
            "no-such-file",
            "libabsent.so: cannot open shared object file: No such file or directory",
        ),
        (needy(folder), "cannot-load", "libgone.so: cannot open shared object file"),
        (icd, "icd-file", "the .icd file is empty"),
    ];
    let (status, healthy) = devices_json(&[], &[]);
    assert_eq!(status, Some(0));
    let paths: Vec<&PathBuf> = cases.iter().map(|(path, ..)| path).collect();
    let (status, found) = devices_json(&[], &paths);
    assert_eq!(status, Some(0), "the other devices can be used");
    assert_eq!(ids(&found), ids(&healthy), "in their order");
    let failed = found["failed_drivers"].as_array().expect("an array");
    for (path, kind, reason) in &cases {
        let path = path.display().to_string();
        let failure = failed.iter().find(|failure| failure["driver"] == path.as_str());
        let failure = failure.unwrap_or_else(|| panic!("{path} is listed: {failed:?}"));
        assert_eq!(failure["kind"], *kind, "{failure}");
        assert!(failure["reason"].as_str().expect("a text").contains(reason), "{failure}");
    }
}

fn a_named_driver_that_fails_is_exit_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let absent = folder.path().join("libabsent.so");
    let name = absent.to_str().expect("a path in UTF-8");
    let reason = "libabsent.so: cannot open shared object file: No such file or directory";
    let (status, found) = devices_json(&["--icd", name], &[]);
    assert_eq!(status, Some(2));
    assert!(!ids(&found).is_empty(), "all that there is has been shown");

    cannot_run(child(COMMAND, &["run", "faulty::passes", "--icd", name]), &[name, reason]);
    for variable in ["CLMATRIX_ICD", "OPENCL_DYLIB_PATH"] {
        let mut command = child(COMMAND, &["run", "faulty::passes"]);
        command.env(variable, name);
        cannot_run(command, &["cannot use driver", reason]);
    }
    let mut command = child(COMMAND, &["run", "faulty::passes", "--icd", name]);
    install(&mut command, &[&absent]);
    cannot_run(command, &[reason]);
    // A folder without a driver, in place of which the remembered devices must not be taken.
    for (icd, status) in [("", 0), (name, 2), (folder.path().to_str().expect("a path"), 2)] {
        let mut listing = child(LIBTEST, &["--list"]);
        listing.env("CLMATRIX_ICD", icd);
        assert_eq!(output(listing).status.code(), Some(status), "{icd}");
    }

    let mut bypassed = child(COMMAND, &["run", "faulty::passes", "--icd", name]);
    bypassed.env("OPENCL_DYLIB_PATH", driver(folder.path(), 1));
    cannot_run(bypassed, &["OPENCL_DYLIB_PATH names a driver in place of the loader"]);

    let crash = constructor(folder.path(), "crash", "abort();");
    for (driver, reason) in [(driver(folder.path(), 0), "no platform: "), (crash, "SIGABRT")] {
        let mut command = child(COMMAND, &["run", "needs_no_device"]);
        command.env("OPENCL_DYLIB_PATH", driver);
        cannot_run(command, &["cannot use driver OPENCL_DYLIB_PATH: ", reason]);
    }

    let mut empty = child(COMMAND, &["devices"]);
    empty.env("CLMATRIX_ICD", "");
    assert_eq!(output(empty).status.code(), Some(0), "an empty variable counts as unset");
}

/// Runs one test where a driver is installed that does not exist.
fn run_beside_a_failed_driver(role: &str, arguments: &[&str], config: &str) -> (Output, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clmatrix.toml");
    std::fs::write(&file, config).expect("the configuration can be written");
    let mut command = child(role, &[arguments, &["faulty::passes"]].concat());
    command.env("CLMATRIX_REPORT_DIR", folder.path()).env("CLMATRIX_CONFIG", file);
    install(&mut command, &[&PathBuf::from("/nowhere/libabsent.so")]);
    (output(command), folder)
}

fn a_driver_of_the_system_that_fails_is_reported() {
    for (strict, element) in [(false, "<skipped "), (true, "<failure ")] {
        let arguments = if strict { &["run", "--strict-drivers"][..] } else { &["run"] };
        let (output, folder) = run_beside_a_failed_driver(COMMAND, arguments, "");
        assert_eq!(output.status.code(), Some(strict.into()));
        let stdout = String::from_utf8_lossy(&output.stdout);
        let end: Vec<&str> = stdout.lines().rev().take(8).collect();
        assert!(end.iter().any(|line| line.contains("DRIVER FAILED /nowhere/libabsent.so")));
        assert!(end.iter().any(|line| line.contains("no such file: /nowhere")), "{stdout}");

        let log = log(folder.path());
        let failed = &log.failed_drivers[0];
        assert_eq!(failed.driver, "/nowhere/libabsent.so");
        assert_eq!(failed.failure.kind, FailureKind::NoSuchFile);
        let report = reports(folder.path()).join("junit/failed-drivers.xml");
        let report = std::fs::read_to_string(report).expect("a report of its own");
        assert!(report.contains(element) && report.contains("driver-no-such-file"), "{report}");
    }
}

fn a_profile_can_be_strict_about_drivers() {
    let strict = "[profile.default]\nstrict-drivers = true\n";
    let (output, _folder) = run_beside_a_failed_driver(COMMAND, &["run"], strict);
    assert_eq!(output.status.code(), Some(1));

    let (output, _folder) = run_beside_a_failed_driver(LIBTEST, &[], strict);
    assert_eq!(output.status.code(), Some(101));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("test driver@/nowhere/libabsent.so"), "{stdout}");
    let (output, _folder) = run_beside_a_failed_driver(LIBTEST, &[], "");
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("driver /nowhere/libabsent.so: no such file"), "{stderr}");
}

fn a_platform_without_devices_is_no_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let bare = driver(folder.path(), 1);
    let mut command = child(COMMAND, &["run", "faulty::passes", "--strict-drivers", "--icd"]);
    command.arg(&bare).arg("--report-dir").arg(folder.path());
    assert_eq!(output(command).status.code(), Some(0));
    let (_, found) = devices_json(&[], &[&bare]);
    // The machine may have others.
    let empty = found["platforms_without_devices"].as_array().expect("a list");
    assert!(empty.iter().any(|platform| platform["name"] == "Bare"), "{found}");
}

fn run_with_config(config: &str) -> Output {
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

fn a_run_without_devices_is_exit_2() {
    let command = without_devices(child(COMMAND, &["run", "faulty::passes"]));
    let nowhere = "OCL_ICD_VENDORS names /nowhere, which does not exist";
    cannot_run(command, &["no OpenCL device", "--icd", nowhere]);
}

fn tests_that_need_no_device_run_without() {
    let run = |arguments: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = without_devices(child(COMMAND, &["run"]));
        command.args(arguments).arg("--report-dir").arg(folder.path());
        (output(command).status.code(), log(folder.path()), folder)
    };
    let (status, alone, _) = run(&["needs_no_device"]);
    assert_eq!(status, Some(0));
    assert_eq!(results(&alone, "needs_no_device")[0].verdict, Verdict::Pass);

    let (status, all, folder) = run(&[]);
    assert_eq!(status, Some(2));
    assert_eq!(results(&all, "needs_no_device")[0].verdict, Verdict::Pass);
    let passes = &results(&all, "passes")[0];
    assert_eq!(
        (passes.test.as_str(), passes.verdict),
        ("faulty::passes@no-device", Verdict::NotRun)
    );
    assert!(passes.summary().contains("no OpenCL device was found"), "{}", passes.summary());
    for report in ["host.xml", "no-device.xml"] {
        assert!(reports(folder.path()).join("junit").join(report).is_file(), "{report}");
    }
    let whole = folder.path().join("events.jsonl");
    assert!(!whole.exists(), "the report of a run with devices stays");
    assert_eq!(output(without_devices(child(COMMAND, &["list"]))).status.code(), Some(0));
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
        (":", "entry 1 of \":\" names no platform"),
        ("0;", "entry 2 of \"0;\" names no platform"),
        (";0", "entry 1 of \";0\" names no platform"),
        ("0; :0", "entry 2 of \"0; :0\" names no platform"),
        ("=0;0", "entry 1 of \"=0;0\" names no platform"),
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

    let every = ids(&devices_json(&["--devices", "*"], &[]).1);
    assert_eq!(every, ids(&devices_json(&[], &[]).1), "the advice for a profile");
    let mut listing = child(COMMAND, &["devices", "--format", "json"]);
    listing.env("CLMATRIX_TEST", "");
    assert_eq!(crate::support::output(listing).status.code(), Some(0), "empty counts as unset");
    let mut listing = child(COMMAND, &["devices", "--format", "json"]);
    listing.env("PYOPENCL_TEST", ":").env_remove("CLMATRIX_TEST");
    assert_eq!(crate::support::output(listing).status.code(), Some(0), "as in PyOpenCL");
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

fn list_takes_ids() {
    let listed = |filter: &str| {
        let output = output(child(COMMAND, &["list", filter]));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_passes = |line: &&str| line.split_whitespace().next() == Some("faulty::passes");
        assert!(text.lines().any(|line| is_passes(&line)), "{filter}: {text}");
        text.lines().count() - 1
    };
    assert_eq!(listed(&cpu::test("faulty::passes")), 1);
    assert_eq!(listed("faulty::passes@"), 1);
    assert_eq!(listed("faulty::pass?s@*"), 1);
    assert!(listed("faulty::") > 1);
}
