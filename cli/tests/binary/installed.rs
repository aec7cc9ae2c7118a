//! The binary as `cargo install` leaves it: without its checkout, with the expectations and profiles
//! of `config/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clmatrix_cli::__private::stored_runs;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::verdict::Verdict;

/// Two tests that `config/expectations/pocl.toml` expects to fail on every version of PoCL.
const ADJACENT: &str = "copy::rect::adjacent_rectangles_of_one_buffer_are_copied";
const REGION: &str = "image::of_buffer::an_image_of_a_sub_buffer_has_its_bytes";

fn clmatrix(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clmatrix"));
    for variable in ["CLMATRIX_CONFIG", "CLMATRIX_PROFILE", "CLMATRIX_TEST", "PYOPENCL_TEST"] {
        command.env_remove(variable);
    }
    let output = command.current_dir(folder).args(arguments).output().expect("it starts");
    println!("{}{}", text(&output.stdout), text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config")
}

/// The number of entries in `config/expectations`.
fn expectations() -> usize {
    let files = fs::read_dir(config().join("expectations")).expect("a folder");
    // The folders hold for the tests of other programs.
    let files = files.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
    let texts = files.map(|path| fs::read_to_string(path).expect("a text"));
    texts.map(|text| text.lines().filter(|line| *line == "[[expect]]").count()).sum()
}

#[test]
fn outside_the_checkout_profiles_and_failures_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = clmatrix(folder.path(), &["devices", "--profile", "nightly"]);
    assert_eq!(output.status.code(), Some(2));
    let message =
        "no profile `nightly` (configuration: built-in); known: `ci`, `default`, `sanitize`";
    assert!(text(&output.stderr).contains(message));
    if !clmatrix(folder.path(), &["devices", "--devices", "pocl"]).status.success() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let arguments = ["run", "--devices", "pocl", "--report-dir", "reports", ADJACENT, REGION];
    let output = clmatrix(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0));
    let log = stored_runs::find(&folder.path().join("reports"), "latest").expect("a run");
    let log = RunLog::read(&log).expect("a log");
    let verdicts: Vec<Verdict> = log.results.iter().map(|result| result.verdict).collect();
    assert_eq!(verdicts, [Verdict::ExpectedFail; 2]);
    let stderr = text(&output.stderr);
    let summary = format!("configuration: built-in; expectations: {}", expectations());
    assert_eq!(stderr.lines().next(), Some(&*summary));
    assert!(!stderr.contains("no test of this target"), "each names a test");
}

/// Runs a command of `clmatrix` with this cache folder of the user, out of reach of PyPI.
fn clmatrix_with_cache(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clmatrix"));
    command.env("XDG_CACHE_HOME", cache).env("PIP_NO_INDEX", "1").args(arguments);
    command.output().expect("it starts")
}

#[test]
fn a_download_that_fails_leaves_nothing_and_says_what_to_do() {
    let cache = tempfile::tempdir().expect("a folder");
    let output = clmatrix_with_cache(cache.path(), &["provision", "--print-env"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let stderr = text(&output.stderr);
    let pip = "the OpenCL runtime could not be fetched; see pip's message above";
    let no_pip = "fetched with Python's pip, and there is none";
    assert!(stderr.contains(pip) || stderr.contains(no_pip), "{stderr}");
    let left: Vec<_> = files(cache.path(), "").into_iter().collect();
    assert!(left.iter().all(|file| file == "/clmatrix/opencl/pocl.lock"), "{left:?}");
}

/// Returns whether a runtime is in the folder of downloads and works on this processor.
fn works_here(downloaded: &Path, runtime: &str) -> bool {
    let mut provision = Command::new(env!("CARGO_BIN_EXE_clmatrix"));
    provision.args(["provision", "--no-download", "--driver", runtime, "--folder"]).arg(downloaded);
    provision.output().expect("it starts").status.success()
}

/// The wheels that `cargo xtask matrix --from embedded` has downloaded serve as those of the user.
#[test]
fn a_downloaded_device_is_shown_to_other_programs() {
    let downloaded = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../opencl");
    let runtime = ["pocl", "intel"].into_iter().find(|runtime| works_here(&downloaded, runtime));
    let Some(runtime) = runtime else {
        println!("skipped: the embedded default is not downloaded");
        return;
    };
    let cache = tempfile::tempdir().expect("a folder");
    let runtimes = cache.path().join("clmatrix/opencl");
    fs::create_dir_all(&runtimes).expect("a folder");
    for part in [runtime, "loader"] {
        let link = std::os::unix::fs::symlink(downloaded.join(part), runtimes.join(part));
        link.expect("a link");
    }
    let script =
        "eval \"$(\"$1\" provision --no-download --print-env)\" && \"$1\" devices --format json";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_clmatrix")]);
    shell.env("XDG_CACHE_HOME", cache.path()).env("PIP_NO_INDEX", "1");
    shell.env_remove("CLMATRIX_TEST").env_remove("CLMATRIX_ICD").env_remove("CLMATRIX_CONFIG");
    let output = shell.output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let devices: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("a list of devices");
    assert_eq!(devices.as_array().map(Vec::len), Some(1), "{devices}");
    assert_eq!(devices[0]["id"], format!("{runtime}-cpu"));

    let json =
        clmatrix_with_cache(cache.path(), &["provision", "--no-download", "--print-env=json"]);
    let variables: serde_json::Value = serde_json::from_slice(&json.stdout).expect("an object");
    let vendors = runtimes.join(format!("{runtime}-vendors/"));
    assert_eq!(variables["OCL_ICD_VENDORS"].as_str(), vendors.to_str());
}

#[test]
fn a_machine_without_a_device_is_told_how_to_get_one() {
    let empty = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_clmatrix"));
    command.arg("devices").env("OCL_ICD_VENDORS", empty.path());
    for variable in ["CLMATRIX_ICD", "OCL_ICD_FILENAMES", "OPENCL_DYLIB_PATH"] {
        command.env_remove(variable);
    }
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    let advice = format!("eval \"$({} provision --print-env)\"", env!("CARGO_BIN_EXE_clmatrix"));
    assert!(text(&output.stderr).contains(&advice), "{}", text(&output.stderr));
}

/// The paths of all files below `folder`, from there.
fn files(folder: &Path, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = format!("{prefix}/{}", path.file_name().expect("a name").display());
        if path.is_dir() {
            found.append(&mut files(&path, &name));
        } else {
            found.insert(name);
        }
    }
    found
}

#[test]
fn a_package_holds_the_configuration() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--list", "--allow-dirty", "--package", env!("CARGO_PKG_NAME")]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let packed: BTreeSet<String> = text(&output.stdout)
        .lines()
        .filter(|line| line.starts_with("config/"))
        .map(str::to_owned)
        .collect();
    assert_eq!(packed, files(&config(), "config"));
    assert!(packed.contains("config/clmatrix.toml"));
}
