//! Drivers that go wrong while they are asked what they have, beside the real ones.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clmatrix_runner::devices::failure::FailureKind;
use clmatrix_runner::verdict::Verdict;
use serde_json::Value;

use crate::check;
use crate::cpu;
use crate::support::{
    COMMAND, Ended, Folder, LIBTEST, child, compile, output, reports, results, shared_library,
    without_devices,
};

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
    let code = format!("#define PLATFORMS {platforms}\n{}", include_str!("bare_driver.c"));
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
    (output.status.code(), serde_json::from_str(&output.stdout).expect("JSON"))
}

fn ids(devices: &Value) -> Vec<String> {
    let devices = devices["devices"].as_array().expect("an array");
    devices.iter().map(|device| device["id"].as_str().expect("an id").to_owned()).collect()
}

check!(a_variable_that_cannot_be_used_is_exit_2, {
    let no_text = OsStr::from_bytes(b"pocl\xff");
    for (name, value, expected) in [
        ("CLMATRIX_ENUMERATION_TIMEOUT", OsStr::new("5"), r#"is "5": invalid duration: "#),
        ("CLMATRIX_ENUMERATION_TIMEOUT", OsStr::new("0s"), "must be longer than zero"),
        ("CLMATRIX_CACHE", OsStr::new("yes"), r#"is "yes": 0 or 1 is expected"#),
        ("CLMATRIX_PROFILE", no_text, "a text in UTF-8 is expected"),
        ("CLMATRIX_TEST", no_text, "a text in UTF-8 is expected"),
        ("PYOPENCL_TEST", no_text, "a text in UTF-8 is expected"),
        ("CLMATRIX_RERUN", no_text, "a text in UTF-8 is expected"),
    ] {
        let folder = Folder::new();
        let ended = output(folder.run(&["faulty::needs_no_device@"]).env(name, value));
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        let line = ended.stderr.lines().last().unwrap_or_default();
        assert!(line.starts_with(&format!("error: {name} is ")), "{line}");
        assert!(line.contains(expected), "{line}");
    }
    let empty = ["CLMATRIX_ENUMERATION_TIMEOUT", "CLMATRIX_CACHE", "CLMATRIX_PROFILE"];
    let mut command = child(COMMAND, &["devices"]);
    command.envs(empty.map(|name| (name, "")));
    assert_eq!(output(command).status.code(), Some(0));
    let mut shard = child(COMMAND, &["list", "--shard", "auto"]);
    let ended = output(shard.env("TEST_SHARD_INDEX", no_text).env("TEST_TOTAL_SHARDS", "2"));
    assert!(ended.stderr.contains("and not a whole number"), "{ended:?}");
});

check!(a_bad_driver_costs_its_own_platforms, {
    let files = Folder::new();
    let folder = files.path();
    let garbage = files.write("libgarbage.so", "not a library");
    let icd = files.write("nothing.icd", "\n");
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
});

check!(a_named_driver_that_fails_is_exit_2, {
    let folder = Folder::new();
    let absent = folder.at("libabsent.so");
    let name = absent.to_str().expect("a path in UTF-8");
    let reason = "libabsent.so: cannot open shared object file: No such file or directory";
    let (status, found) = devices_json(&["--icd", name], &[]);
    assert_eq!(status, Some(2));
    assert!(!ids(&found).is_empty(), "all that there is has been shown");

    let named = || child(COMMAND, &["run", "faulty::passes", "--icd", name]);
    cannot_run(&mut named(), &[name, reason]);
    for variable in ["CLMATRIX_ICD", "OPENCL_DYLIB_PATH"] {
        let mut command = child(COMMAND, &["run", "faulty::passes"]);
        cannot_run(command.env(variable, name), &["cannot use driver", reason]);
    }
    let mut command = named();
    install(&mut command, &[&absent]);
    cannot_run(&mut command, &[reason]);
    // A folder without a driver, in place of which the remembered devices must not be taken.
    for (icd, status) in [("", 0), (name, 2), (folder.path().to_str().expect("a path"), 2)] {
        let listing = output(child(LIBTEST, &["--list"]).env("CLMATRIX_ICD", icd));
        assert_eq!(listing.status.code(), Some(status), "{icd}");
    }

    let in_place = "OPENCL_DYLIB_PATH names a driver in place of the loader";
    cannot_run(named().env("OPENCL_DYLIB_PATH", driver(folder.path(), 1)), &[in_place]);

    let crash = constructor(folder.path(), "crash", "abort();");
    for (driver, reason) in [(driver(folder.path(), 0), "no platform: "), (crash, "SIGABRT")] {
        let mut command = child(COMMAND, &["run", "needs_no_device"]);
        command.env("OPENCL_DYLIB_PATH", driver);
        cannot_run(&mut command, &["cannot use driver OPENCL_DYLIB_PATH: ", reason]);
    }

    let empty = output(child(COMMAND, &["devices"]).env("CLMATRIX_ICD", ""));
    assert_eq!(empty.status.code(), Some(0), "an empty variable counts as unset");
});

/// Runs one test where a driver is installed that does not exist.
fn run_beside_a_failed_driver(role: &str, arguments: &[&str], config: &str) -> (Ended, Folder) {
    let folder = Folder::new();
    let file = folder.write("clmatrix.toml", config);
    let mut command = child(role, &[arguments, &["faulty::passes"]].concat());
    command.env("CLMATRIX_REPORT_DIR", folder.path()).env("CLMATRIX_CONFIG", file);
    install(&mut command, &[&PathBuf::from("/nowhere/libabsent.so")]);
    (output(command), folder)
}

check!(a_driver_of_the_system_that_fails_is_reported, {
    for (strict, element) in [(false, "<skipped "), (true, "<failure ")] {
        let arguments = if strict { &["run", "--strict-drivers"][..] } else { &["run"] };
        let (output, folder) = run_beside_a_failed_driver(COMMAND, arguments, "");
        assert_eq!(output.status.code(), Some(strict.into()));
        let stdout = &output.stdout;
        let end: Vec<&str> = stdout.lines().rev().take(8).collect();
        assert!(end.iter().any(|line| line.contains("DRIVER FAILED /nowhere/libabsent.so")));
        assert!(end.iter().any(|line| line.contains("no such file: /nowhere")), "{stdout}");

        let log = folder.log();
        let failed = &log.failed_drivers[0];
        assert_eq!(failed.driver, "/nowhere/libabsent.so");
        assert_eq!(failed.failure.kind, FailureKind::NoSuchFile);
        let report = folder.junit("failed-drivers");
        assert!(report.contains(element) && report.contains("driver-no-such-file"), "{report}");
    }
});

check!(a_profile_can_be_strict_about_drivers, {
    let strict = "[profile.default]\nstrict-drivers = true\n";
    let (output, _folder) = run_beside_a_failed_driver(COMMAND, &["run"], strict);
    assert_eq!(output.status.code(), Some(1));

    let (output, _folder) = run_beside_a_failed_driver(LIBTEST, &[], strict);
    assert_eq!(output.status.code(), Some(101));
    assert!(output.stdout.contains("test driver@/nowhere/libabsent.so"), "{}", output.stdout);
    let (output, _folder) = run_beside_a_failed_driver(LIBTEST, &[], "");
    assert_eq!(output.status.code(), Some(0));
    let stderr = &output.stderr;
    assert!(stderr.contains("driver /nowhere/libabsent.so: no such file"), "{stderr}");
});

check!(a_platform_without_devices_is_no_failure, {
    let folder = Folder::new();
    let bare = driver(folder.path(), 1);
    let run = output(folder.run(&["faulty::passes", "--strict-drivers"]).arg("--icd").arg(&bare));
    assert_eq!(run.status.code(), Some(0));
    let (_, found) = devices_json(&[], &[&bare]);
    // The machine may have others.
    let empty = found["platforms_without_devices"].as_array().expect("a list");
    assert!(empty.iter().any(|platform| platform["name"] == "Bare"), "{found}");
});

fn run_with_config(config: &str) -> Ended {
    let folder = Folder::new();
    let file = folder.write("clmatrix.toml", config);
    output(folder.run(&["faulty::passes"]).arg("--config").arg(file))
}

check!(an_absent_expected_device_fails_the_run, {
    let output = run_with_config("[profile.default]\nexpected-devices = [\"atari-*\"]\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.contains("atari-*"));
});

/// Checks that a run ends with status 2, and says this.
fn cannot_run(command: &mut Command, said: &[&str]) {
    let folder = Folder::new();
    let Ended { status, stderr, .. } = output(command.arg("--report-dir").arg(folder.path()));
    assert_eq!(status.code(), Some(2));
    for text in said {
        assert!(stderr.contains(text), "{text:?} is in {stderr}");
    }
}

check!(a_run_without_devices_is_exit_2, {
    let mut command = without_devices(child(COMMAND, &["run", "faulty::passes"]));
    let nowhere = "OCL_ICD_VENDORS names /nowhere, which does not exist";
    cannot_run(&mut command, &["no OpenCL device", "CLMATRIX_ICD=", nowhere]);
});

check!(tests_that_need_no_device_run_without, {
    let run = |arguments: &[&str]| {
        let folder = Folder::new();
        (output(without_devices(folder.run(arguments))).status.code(), folder.log(), folder)
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
    let whole = folder.at("events.jsonl");
    assert!(!whole.exists(), "the report of a run with devices stays");
    assert_eq!(output(without_devices(child(COMMAND, &["list"]))).status.code(), Some(0));
});

check!(what_cannot_be_selected_cannot_be_run, {
    for (options, said) in [
        (&["--devices", "99"][..], &["--devices", "99"][..]),
        (&["--profile", "nightly"], &["nightly", "default"]),
        (&["no::such::test"], &["no::such::test", "clmatrix list"]),
    ] {
        cannot_run(&mut child(COMMAND, &[&["run"], options].concat()), said);
    }
    for (variable, value) in [("CLMATRIX_TEST", "no such thing"), ("PYOPENCL_TEST", "a:b:c")] {
        cannot_run(child(COMMAND, &["run"]).env(variable, value), &[variable, value]);
    }
});

check!(an_empty_selection_is_exit_2, {
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
        cannot_run(&mut child(COMMAND, &["run", "--devices", selection]), &["--devices", reason]);
    }
    let empty = "CLMATRIX_TEST: an empty selection; unset the variable";
    cannot_run(child(COMMAND, &["run"]).env("CLMATRIX_TEST", ";;"), &[empty]);
    let output = run_with_config("[profile.default]\ndevices = \"\"\n");
    assert_eq!(output.status.code(), Some(2));
    let stderr = &output.stderr;
    assert!(stderr.contains("`devices`: an empty selection; leave the key out"), "{stderr}");

    let every = ids(&devices_json(&["--devices", "*"], &[]).1);
    assert_eq!(every, ids(&devices_json(&[], &[]).1), "the advice for a profile");
    // An empty variable counts as unset, and `:` is allowed as in PyOpenCL.
    for (variable, value) in [("CLMATRIX_TEST", ""), ("PYOPENCL_TEST", ":")] {
        let mut listing = child(COMMAND, &["devices", "--format", "json"]);
        let ended =
            crate::support::output(listing.env_remove("CLMATRIX_TEST").env(variable, value));
        assert_eq!(ended.status.code(), Some(0), "{variable}");
    }
});

check!(a_bad_configuration_cannot_be_run, {
    let output = run_with_config("[profile.default]\ntimeot = \"1s\"\n");
    assert_eq!(output.status.code(), Some(2));
    let stderr = &output.stderr;
    assert!(stderr.contains("clmatrix.toml:2:1") && stderr.contains("`timeout`"), "{stderr}");
});

check!(list_takes_ids, {
    let listed = |filter: &str| {
        let text = output(child(COMMAND, &["list", filter])).stdout;
        let is_passes = |line: &&str| line.split_whitespace().next() == Some("faulty::passes");
        assert!(text.lines().any(|line| is_passes(&line)), "{filter}: {text}");
        text.lines().count() - 1
    };
    assert_eq!(listed(&cpu::test("faulty::passes")), 1);
    assert_eq!(listed("faulty::passes@"), 1);
    assert_eq!(listed("faulty::pass?s@*"), 1);
    assert!(listed("faulty::") > 1);
});
