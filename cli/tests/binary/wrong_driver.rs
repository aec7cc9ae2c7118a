//! Drivers that lose or misplace bytes are noticed: the suites run on PoCL through a loader that makes
//! one command wrong, `wrong_driver/driver.c`, and the tests named here fail.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use clmatrix_cli::__private::stored_runs;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::verdict::Verdict;
use serde_json::Value;

/// The faults of the loader, and the tests that must notice them. Each includes its cases as well, of
/// which at least one must fail.
const FAULTS: &[(&str, &[&str])] = &[
    (
        "copy: last byte",
        &[
            "buffer::copy::a_copy_uses_both_offsets",
            "buffer::copy::a_copy_moves_all_bytes_of_any_size",
            "buffer::regions::a_copy_of_a_sub_buffer_moves_its_bytes_only",
            "copy::linear::all_bytes_of_any_size_are_copied",
            "svm::as_buffer::copies_between_parts_move_all_bytes_of_any_size",
        ],
    ),
    ("copy: last byte over 1 MiB", &["buffer::copy::a_copy_moves_all_bytes_of_any_size"]),
    ("copy: source offset", &["buffer::regions::a_copy_of_a_sub_buffer_moves_its_bytes_only"]),
    ("copy: destination offset", &["buffer::regions::a_copy_of_a_sub_buffer_moves_its_bytes_only"]),
    (
        "region: origin",
        &[
            "buffer::regions::a_copy_of_a_sub_buffer_moves_its_bytes_only",
            "buffer::regions::writes_and_reads_of_a_sub_buffer_move_its_bytes_only",
            "buffer::regions::rectangular_writes_and_reads_of_a_sub_buffer_move_its_bytes_only",
            "buffer::regions::a_fill_of_a_sub_buffer_writes_its_bytes_only",
            "buffer::regions::a_map_of_a_sub_buffer_covers_its_bytes_only",
        ],
    ),
    ("read: last byte", &["buffer::read_write::all_bytes_of_any_size_are_written_and_read"]),
    ("read: offset", &["buffer::read_write::all_bytes_of_any_size_are_written_and_read"]),
    (
        "write: last byte",
        &[
            "buffer::read_write::all_bytes_of_any_size_are_written_and_read",
            "copy::pending::all_bytes_of_any_size_are_copied",
            "buffer::host_memory::all_bytes_of_any_size_are_written_and_read_back",
        ],
    ),
    ("write: offset", &["buffer::read_write::all_bytes_of_any_size_are_written_and_read"]),
    ("fill: last pattern", &["buffer::fill::a_fill_writes_its_range_only"]),
    ("fill: over 64 KiB", &["buffer::fill::a_fill_writes_all_bytes_of_any_size"]),
    ("fill: offset", &["buffer::fill::a_fill_writes_its_range_only"]),
    ("create: last byte", &["buffer::create::a_buffer_is_initialized_with_host_data_of_any_size"]),
    ("copy of rows: last byte", &["copy::rect::all_bytes_of_any_size_are_copied"]),
    ("write of rows: last byte", &["copy::rect::all_bytes_of_any_size_are_copied"]),
    ("read of rows: last byte", &["copy::rect::all_bytes_of_any_size_are_copied"]),
    ("map: offset", &["buffer::map::all_bytes_of_any_size_are_mapped"]),
    ("map: last byte", &["buffer::map::all_bytes_of_any_size_are_mapped"]),
    ("map of SVM: last byte", &["svm::map::all_bytes_of_any_size_are_mapped"]),
    ("copy of SVM: last byte", &["svm::copy::a_copy_moves_all_bytes_of_any_size"]),
    ("copy of SVM: last byte over 1 MiB", &["svm::copy::a_copy_moves_all_bytes_of_any_size"]),
    ("fill of SVM: last pattern", &["svm::fill::a_fill_writes_all_bytes_of_any_size"]),
    ("fill of SVM: over 64 KiB", &["svm::fill::a_fill_writes_all_bytes_of_any_size"]),
    (
        "free of SVM: at once",
        &[
            "svm::release::svm_bound_to_a_queue_is_freed_on_the_queue",
            "svm::release::svm_bound_to_a_queue_is_freed_after_commands_of_other_queues",
        ],
    ),
    ("migration: last byte", &["migrate::a_migration_keeps_all_bytes_of_any_size"]),
    (
        "kernel: last work item",
        &[
            "buffer::copy::a_copy_uses_both_offsets",
            "launch::sizes::each_work_item_writes_its_byte",
        ],
    ),
    ("write of an image: last pixel", &["image::sizes::all_pixels_are_written_and_read"]),
    ("read of an image: last pixel", &["image::sizes::all_pixels_are_written_and_read"]),
    ("copy of an image: last pixel", &["image::sizes::all_pixels_are_copied_to_another_image"]),
    ("fill of an image: last pixel", &["image::sizes::all_pixels_are_filled"]),
    ("copy to an image: last pixel", &["image::sizes::all_pixels_are_copied_to_and_from_a_buffer"]),
    (
        "copy from an image: last byte",
        &["image::sizes::all_pixels_are_copied_to_and_from_a_buffer"],
    ),
    ("map of an image: origin", &["image::sizes::all_pixels_are_mapped"]),
];

/// Compiles a library of `source` in `folder`, with the linker's `arguments`.
fn library(folder: &Path, source: &Path, arguments: &[&str]) -> PathBuf {
    let library = folder.join(source.file_stem().expect("a name")).with_extension("so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&library, source])
        .args(arguments)
        .status()
        .expect("a C compiler is there, as for every Rust program that is linked");
    assert!(status.success());
    library
}

/// The loader that the tests of this file stand in front of.
pub fn real_loader() -> PathBuf {
    std::env::var_os("OPENCL_DYLIB_PATH").unwrap_or_else(|| "libOpenCL.so.1".into()).into()
}

/// A loader that makes one command wrong, and passes all others on to the real one.
fn wrong_loader(folder: &Path) -> PathBuf {
    wrong_loader_of(&real_loader(), folder)
}

/// The same for this loader.
fn wrong_loader_of(loader: &Path, folder: &Path) -> PathBuf {
    in_front_of(loader, &sources().join("wrong_driver/driver.c"), folder)
}

/// The folder of this file.
pub fn sources() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary"))
}

/// A loader that passes on to another one what `source` does not define.
pub fn in_front_of(loader: &Path, source: &Path, folder: &Path) -> PathBuf {
    // A library is found by the name that the library it is linked to gives itself, here the path of
    // the other loader.
    let empty = folder.join("real.c");
    std::fs::write(&empty, "").expect("the source can be written");
    let real = library(folder, &empty, &[&format!("-Wl,-soname,{}", loader.display())]);
    let real = real.to_str().expect("a path in UTF-8");
    library(folder, source, &["-Wl,--no-as-needed", real])
}

/// Runs `tests` on PoCL with this fault, and returns the log.
fn run(
    loader: &Path,
    fault: &str,
    tests: impl IntoIterator<Item = &'static str>,
    reports: &Path,
) -> RunLog {
    run_with(loader, &[("CLMATRIX_WRONG", fault)], tests, reports)
}

/// Runs `tests` on PoCL with these variables, and returns the log.
pub fn run_with(
    loader: &Path,
    variables: &[(&str, &str)],
    tests: impl IntoIterator<Item = impl AsRef<OsStr>>,
    reports: &Path,
) -> RunLog {
    let output = Command::new(env!("CARGO_BIN_EXE_clmatrix"))
        .arg("run")
        .args(tests)
        .args(["--devices", "pocl", "--report-dir"])
        .arg(reports)
        .env("OPENCL_DYLIB_PATH", loader)
        .envs(variables.iter().copied())
        .env_remove("CLMATRIX_PROFILE")
        .output()
        .expect("it starts");
    stored_runs::find(reports, "latest")
        .ok()
        .and_then(|log| RunLog::read(&log).ok())
        .unwrap_or_else(|| panic!("{variables:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Runs `tests` on PoCL with this fault, and returns those of which a case has another verdict than
/// a pass.
fn not_passed(
    loader: &Path,
    fault: &str,
    tests: &BTreeSet<&'static str>,
) -> BTreeSet<&'static str> {
    let reports = tempfile::tempdir().expect("a folder");
    let log = run(loader, fault, tests.iter().copied(), reports.path());
    let has_not_passed = |test: &&str| {
        let of_test = |path: &str| {
            path.strip_prefix(*test).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let mut results = log.results.iter().filter(|result| of_test(result.test.path()));
        results.any(|result| result.verdict != Verdict::Pass)
    };
    tests.iter().copied().filter(has_not_passed).collect()
}

pub fn has_pocl() -> bool {
    let mut devices = Command::new(env!("CARGO_BIN_EXE_clmatrix"));
    let output = devices.args(["devices", "--devices", "pocl"]).output().expect("it starts");
    output.status.success()
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn wrong_bytes_are_noticed() {
    if !has_pocl() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let loader = wrong_loader(folder.path());
    let all = FAULTS.iter().flat_map(|(_, tests)| *tests).copied().collect();
    let without_fault = not_passed(&loader, "nothing", &all);
    assert!(without_fault.is_empty(), "without a fault, these do not pass: {without_fault:?}");
    for (fault, tests) in FAULTS {
        let tests = tests.iter().copied().collect();
        assert_eq!(not_passed(&loader, fault, &tests), tests, "{fault}");
    }
}

#[test]
fn a_device_on_which_no_kernel_builds_runs_no_test() {
    if !has_pocl() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let loader = wrong_loader(folder.path());
    let log = run(&loader, "build: PoCL", ["buffer::*"], folder.path());
    let [lost] = &log.lost[..] else { panic!("{:?}", log.lost) };
    assert!(lost.after.is_none() && lost.reason.contains("a kernel does not build"), "{lost:?}");
    assert!(log.results.iter().all(|result| result.verdict == Verdict::NotRun));
}

/// The downloads of `cargo xtask matrix --from embedded` and `cargo xtask provision` serve here.
#[test]
fn a_runtime_whose_kernels_do_not_build_is_replaced() {
    let downloaded = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../opencl");
    let real_loader = std::fs::read_dir(downloaded.join("loader/pyopencl/.libs")).ok();
    let real_loader = real_loader.and_then(|mut files| Some(files.next()?.ok()?.path()));
    let (Some(real_loader), true) = (real_loader, downloaded.join("pocl").is_dir()) else {
        println!("skipped: PoCL is not downloaded");
        return;
    };
    let temp = tempfile::tempdir().expect("a folder");
    let folder = temp.path().join("opencl");
    let loader = folder.join("loader");
    std::fs::create_dir_all(&loader).expect("a folder");
    std::fs::copy(downloaded.join("loader/wheels.txt"), loader.join("wheels.txt")).expect("a copy");
    let wrong = wrong_loader_of(&real_loader, temp.path());
    std::fs::rename(wrong, loader.join("libOpenCL-wrong.so")).expect("moved");
    let link = |runtime: &str| {
        std::os::unix::fs::symlink(downloaded.join(runtime), folder.join(runtime)).expect("a link");
    };
    link("pocl");
    let provision = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clmatrix"));
        command.args(["provision", "--folder"]).arg(&folder).args(options);
        // PyPI is out of reach.
        command.env("CLMATRIX_WRONG", "build: PoCL").env("PIP_NO_INDEX", "1");
        let output = command.env_remove("PIP_FIND_LINKS").output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let fails = "PoCL 3.0 does not work on this machine";
    let (status, text) = provision(&["--no-download"]);
    assert_eq!(status, Some(2), "{text}");
    let line = text.lines().find(|line| line.contains(fails)).expect("the reason");
    assert!(line.contains("a kernel does not build") && !line.contains("found earlier"), "{text}");
    assert!(text.contains("Intel's CPU runtime 2026.2.0 is not downloaded"), "{text}");
    assert!(text.contains("pocl-opencl-icd") && text.contains("Fedora, Arch"), "{text}");
    let (status, text) = provision(&["--driver", "pocl"]);
    assert!(status == Some(2) && text.contains(fails) && !text.contains("found earlier"), "{text}");
    let (status, text) = provision(&[]);
    assert_eq!(status, Some(2), "{text}");
    let words = [
        "found earlier",
        "273 MB to download",
        "Intel End User License Agreement",
        "Intel's CPU runtime 2026.2.0 cannot be installed",
        "Fedora, Arch",
    ];
    let places = words.map(|words| text.find(words).unwrap_or_else(|| panic!("{words}: {text}")));
    assert!(places.is_sorted(), "{text}");
    if !downloaded.join("intel").is_dir() {
        println!("Intel's CPU runtime is not downloaded");
        return;
    }
    link("intel");
    let (status, text) = provision(&["--no-download"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(fails) && text.contains("found earlier"), "{text}");
    assert!(text.contains("OpenCL device: Intel's CPU runtime"), "{text}");
}

/// Compares the last runs of two report folders. Returns the exit status and the comparison.
fn diff(a: &Path, b: &Path) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_clmatrix"))
        .args(["diff", "--format", "json"])
        .args([a, b])
        .output()
        .expect("it starts");
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn the_regressions_under_a_wrong_driver_are_the_tests_that_noticed() {
    if !has_pocl() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let loader = wrong_loader(folder.path());
    let run = |fault: &str| {
        let reports = folder.path().join(fault);
        let log = run(&loader, fault, ["buffer::fill::*"], &reports);
        (stored_runs::find(&reports, "latest").expect("a run"), log)
    };
    let ((right, _), (wrong, log)) = (run("nothing"), run("fill: offset"));
    let noticed: BTreeSet<&str> = log
        .results
        .iter()
        .filter(|result| result.verdict != Verdict::Pass)
        .map(|result| result.test.as_str())
        .collect();
    assert!(!noticed.is_empty() && noticed.iter().all(|test| test.starts_with("buffer::fill::")));
    let (status, difference) = diff(&right, &wrong);
    let Value::Object(changes) = &difference["changes"] else { panic!("{difference}") };
    let tests = |kind: &str| -> BTreeSet<&str> {
        let changes = changes[kind].as_array().expect("a list");
        changes.iter().filter_map(|change| change["test"].as_str()).collect()
    };
    assert_eq!((status, tests("regression")), (Some(1), noticed));
    let others = changes.keys().filter(|kind| *kind != "regression");
    assert!(others.clone().count() > 3);
    others.for_each(|kind| assert!(tests(kind).is_empty(), "{kind}: {difference}"));
    // The memory of a virtual machine may grow between the runs.
    let is_size = |fact: &Value| fact["fact"].as_str().is_some_and(|name| name.contains("mem"));
    assert!(difference["facts"].as_array().expect("a list").iter().all(is_size), "{difference}");
    let (status, nothing) = diff(&wrong, &wrong);
    assert_eq!(status, Some(0));
    let Value::Object(changes) = &nothing["changes"] else { panic!("{nothing}") };
    assert!(changes.values().all(|changes| changes.as_array().is_some_and(Vec::is_empty)));
    assert_eq!(nothing["sums"].as_array().map(Vec::len), Some(0), "{nothing}");
}
