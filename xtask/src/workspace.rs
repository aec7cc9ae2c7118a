//! The workspace: where it lies, where cargo puts what it builds, and the `clmatrix` binary.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use clmatrix_runner::provision::Environment;
use serde_json::Value;

use crate::process;

/// The exit status of `clmatrix devices` without an OpenCL device.
const EXIT_NO_DEVICE: i32 = 2;

/// This workspace, as cargo sees it.
pub struct Workspace {
    /// The folder of the workspace's Cargo.toml.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// The folder that holds the OpenCL runtimes. It lies in cargo's target folder, so that
    /// `cargo clean` removes them and nothing outside the checkout is touched.
    pub runtimes: PathBuf,
}

impl Workspace {
    /// Asks cargo, which knows about `CARGO_TARGET_DIR` and the configuration files.
    pub fn find() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().unwrap_or(here).to_owned();
        let mut metadata = cargo(&root);
        metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
        let output = process::output(metadata.stderr(Stdio::inherit()))?;
        let json: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("`{}` printed no JSON", process::line(&metadata)))?;
        let target =
            json["target_directory"].as_str().context("`cargo metadata` names no target folder")?;
        let target = PathBuf::from(target);
        let runtimes = target.join("opencl");
        Ok(Self { root, target, runtimes })
    }

    /// A cargo command that runs in the workspace's root.
    pub fn cargo(&self) -> Command {
        cargo(&self.root)
    }

    /// Builds the `clmatrix` binary and returns its path.
    pub fn build_clmatrix(&self) -> Result<PathBuf> {
        self.build_with_profile("dev")
    }

    /// Builds the binary as users install it, optimized, and returns its path.
    pub fn build_optimized_clmatrix(&self) -> Result<PathBuf> {
        self.build_with_profile("release")
    }

    fn build_with_profile(&self, profile: &str) -> Result<PathBuf> {
        let mut build = self.cargo();
        build.args(["build", "--package", "clmatrix-cli", "--bin", "clmatrix"]);
        build.args(["--profile", profile]);
        let [clmatrix] = executables(&mut build, ["clmatrix"])?;
        Ok(clmatrix)
    }
}

/// Runs a `cargo build`, and returns the paths of the named executables.
pub fn executables<const N: usize>(build: &mut Command, names: [&str; N]) -> Result<[PathBuf; N]> {
    // Cargo says where they went: `build.target` and profiles move them about.
    build.arg("--message-format=json-render-diagnostics");
    let output = process::output(build.stderr(Stdio::inherit()))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", process::line(build), output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut paths = [const { PathBuf::new() }; N];
    for (path, name) in paths.iter_mut().zip(names) {
        *path = executable(&messages, name)
            .with_context(|| format!("`{}` makes no executable {name}", process::line(build)))?;
    }
    Ok(paths)
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// The executable of this name that cargo's messages (one JSON object a line) tell of.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let path = |line| {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["target"]["name"] != name {
            return None;
        }
        message["executable"].as_str().map(PathBuf::from)
    };
    messages.lines().filter_map(path).next_back()
}

/// Returns whether `clmatrix` sees any OpenCL device in this environment.
pub fn sees_device(clmatrix: &Path, environment: &Environment) -> Result<bool> {
    let mut command = Command::new(clmatrix);
    command.args(["devices", "--format", "json"]);
    environment.apply(&mut command);
    let output = process::output(&mut command)?;
    lists_device(&output).with_context(|| format!("`{}` went wrong", process::line(&command)))
}

/// Fails if `clmatrix` sees devices in this environment, and none of them works.
pub fn check_devices(clmatrix: &Path, environment: &Environment) -> Result<()> {
    let mut command = Command::new(clmatrix);
    command.args(["devices", "--probe", "--format", "json"]);
    environment.apply(&mut command);
    let output = process::output(&mut command)?;
    match broken(&output.stdout) {
        Some(reasons) => bail!("no test is started, as no device works:\n{reasons}"),
        None => Ok(()),
    }
}

/// Reads the output of `clmatrix devices --probe --format json`. Returns a line for each device if none works.
/// A machine without devices has no such output; tests that need none run there.
fn broken(json: &[u8]) -> Option<String> {
    let devices: Vec<Value> = serde_json::from_slice(json).ok()?;
    let line = |device: &Value| {
        Some(format!("  {}: {}", device["id"].as_str()?, device["error"].as_str()?))
    };
    let lines: Option<Vec<String>> = devices.iter().map(line).collect();
    lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
}

/// Reads the outcome of `clmatrix devices --format json`, which lists the machine's devices.
///
/// The list counts, whatever the exit status: that one also tells whether the user's selection
/// matches any of them, and a selection with a typo is no reason to fetch a driver.
fn lists_device(output: &Output) -> Result<bool> {
    if let Ok(devices) = serde_json::from_slice::<Vec<Value>>(&output.stdout) {
        return Ok(!devices.is_empty());
    }
    if output.status.code() == Some(EXIT_NO_DEVICE) {
        return Ok(false);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    bail!("no JSON array, {}\n{}", output.status, stderr.trim_end())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_executable_is_found_among_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"clmatrix"},"executable":null}"#,
            "\nnot JSON\n",
            r#"{"target":{"name":"clmatrix"},"executable":"/t/debug/clmatrix"}"#,
            "\n",
            r#"{"target":{"name":"other"},"executable":"/t/debug/other"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(executable(messages, "clmatrix"), Some("/t/debug/clmatrix".into()));
        assert_eq!(executable(messages, "other"), Some("/t/debug/other".into()));
        assert_eq!(executable(messages, "absent"), None);
    }

    /// The crates of a dependency tree, each with its version and features.
    fn crates(arguments: &[&str]) -> BTreeSet<String> {
        let mut tree = cargo(&Workspace::find().unwrap().root);
        tree.args(["tree", "--prefix", "none", "--format", "{p} {f}", "--edges"]).args(arguments);
        let output = process::output(&mut tree).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    /// Otherwise `cargo test` builds what `cargo xtask matrix` has built once more, and `target/` holds
    /// both.
    #[test]
    fn clmatrix_and_xtask_have_the_dependencies_that_cargo_test_has() {
        let tested = crates(&["normal,dev,build", "--workspace"]);
        for package in ["clmatrix-cli", "xtask"] {
            let alone = crates(&["normal", "--package", package]);
            let differ: Vec<_> = alone.difference(&tested).collect();
            assert!(
                !alone.is_empty() && differ.is_empty(),
                "`cargo test` has other features of {differ:?} than {package}"
            );
        }
    }

    #[test]
    fn devices_are_broken_only_if_none_works() {
        let good = r#"{"id": "a", "duration_ns": 1}"#;
        let bad = r#"{"id": "b", "duration_ns": 1, "error": "no kernel builds"}"#;
        let of = |devices: &[&str]| broken(format!("[{}]", devices.join(", ")).as_bytes());
        assert_eq!(of(&[bad]).as_deref(), Some("  b: no kernel builds"));
        assert_eq!(of(&[bad, good]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(broken(b""), None);
    }

    #[test]
    fn a_device_is_there_only_if_clmatrix_lists_one() {
        let there = |script: &str| {
            let output = Command::new("sh").args(["-c", script]).output().unwrap();
            lists_device(&output)
        };
        assert!(there("echo '[{\"slug\": \"pocl-cpu\"}]'").unwrap());
        assert!(!there("echo '[]'").unwrap());
        assert!(!there("echo '[]'; exit 2").unwrap());
        assert!(!there("echo 'no device' >&2; exit 2").unwrap());
        assert!(there("echo '[{}]'; echo 'nothing matches' >&2; exit 2").unwrap());
        assert!(there("echo 'broken' >&2; exit 1").is_err());
        assert!(there("echo 'pocl-cpu'").is_err());
    }
}
