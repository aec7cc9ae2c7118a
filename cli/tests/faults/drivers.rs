//! Drivers that go wrong while they are asked what they have, beside the real ones.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clmatrix_runner::devices::failure::FailureKind;
use clmatrix_runner::verdict::Verdict;
use serde_json::Value;

use crate::check;
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
    // An empty variable counts as unset.
    let empty = ["CLMATRIX_CACHE", "CLMATRIX_PROFILE", "CLMATRIX_TEST", "PYOPENCL_TEST"];
    let mut command = child(COMMAND, &["devices"]);
    command.env("CLMATRIX_ENUMERATION_TIMEOUT", "").envs(empty.map(|name| (name, "")));
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

check!(a_driver_of_the_system_that_fails_is_reported, {
    let strict = "[profile.default]\nstrict-drivers = true\n";
    let failed = "DRIVER FAILED /nowhere/libabsent.so";
    for (role, arguments, config, status, said) in [
        (COMMAND, &["run"][..], "", 0, failed),
        (COMMAND, &["run", "--strict-drivers"], "", 1, failed),
        (COMMAND, &["run"], strict, 1, failed),
        (LIBTEST, &[], "", 0, "driver /nowhere/libabsent.so: no such file"),
        (LIBTEST, &[], strict, 101, "test driver@/nowhere/libabsent.so"),
    ] {
        let folder = Folder::new();
        let mut command = child(role, &[arguments, &["faulty::passes"]].concat());
        command.env("CLMATRIX_REPORT_DIR", folder.path());
        folder.configure(&mut command, config);
        install(&mut command, &[&PathBuf::from("/nowhere/libabsent.so")]);
        let ended = output(command);
        assert_eq!(ended.status.code(), Some(status), "{role} {arguments:?}");
        assert!((ended.stdout + &ended.stderr).contains(said), "{role} {arguments:?}");
        if role == COMMAND {
            let kinds = folder.log().failed_drivers.into_iter().map(|failed| failed.failure.kind);
            assert_eq!(kinds.collect::<Vec<_>>(), [FailureKind::NoSuchFile]);
            assert!(folder.junit("failed-drivers").contains("driver-no-such-file"));
        }
    }
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

check!(an_absent_expected_device_fails_the_run, {
    let folder = Folder::new();
    let mut command = folder.run(&["faulty::passes"]);
    folder.configure(&mut command, "[profile.default]\nexpected-devices = [\"atari-*\"]\n");
    let output = output(command);
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

check!(tests_that_need_no_device_run_without, {
    let run = |arguments: &[&str]| {
        let folder = Folder::new();
        (output(without_devices(folder.run(arguments))).status.code(), folder.log(), folder)
    };
    let mut alone = without_devices(child(COMMAND, &["run", "faulty::passes"]));
    let nowhere = "OCL_ICD_VENDORS names /nowhere, which does not exist";
    cannot_run(&mut alone, &["no OpenCL device", "CLMATRIX_ICD=", nowhere]);
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
    cannot_run(&mut child(COMMAND, &["run", "--devices", "99"]), &["--devices", "99"]);
    cannot_run(&mut child(COMMAND, &["run", "--devices", ""]), &["an empty selection"]);
    for (variable, value) in [("CLMATRIX_TEST", "no such thing"), ("PYOPENCL_TEST", "a:b:c")] {
        cannot_run(child(COMMAND, &["run"]).env(variable, value), &[variable, value]);
    }
    let every = ids(&devices_json(&["--devices", "*"], &[]).1);
    assert_eq!(every, ids(&devices_json(&[], &[]).1), "the advice for a profile");
});
