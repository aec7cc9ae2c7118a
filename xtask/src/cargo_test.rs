//! All tests of the workspace: `cargo test`.

use std::process::{Command, ExitCode};

use anyhow::Result;
use clmatrix_runner::provision::Environment;

use crate::process;
use crate::progress;
use crate::workspace::Workspace;

/// The arguments of `cargo test` for the tests that are ignored because they take long.
pub const SLOW: [&str; 9] = [
    "--package=clmatrix",
    "--package=clmatrix-harness",
    "--package=clmatrix-cli",
    "--test=compile_fail",
    "--test=ocl",
    "--test=downstream",
    "--test=binary",
    "--",
    "--ignored",
];

/// Runs `cargo test` on the devices that `environment` shows. All of it runs, whatever fails, and the last
/// lines name what failed.
pub fn run(
    workspace: &Workspace,
    environment: &Environment,
    arguments: &[String],
) -> Result<ExitCode> {
    let mut test = command(workspace, arguments);
    environment.apply(&mut test);
    if arguments.is_empty() {
        eprintln!(
            "All tests but the slow ones take about 8 minutes on two processors, after the build."
        );
    }
    // With --no-fail-fast, cargo's last lines are a list of the targets that failed.
    let status = progress::status(&mut test)?;
    if !status.success() {
        eprintln!(
            "error: tests failed in the targets that cargo lists above: run one of them again with \
             `cargo xtask test -- -p PACKAGE ...`"
        );
    }
    Ok(process::exit_code(status, true))
}

/// Returns whether `cargo test` with these arguments runs the tests of the whole workspace.
pub fn is_of_workspace(arguments: &[String]) -> bool {
    let mut for_cargo = arguments.iter().take_while(|argument| *argument != "--");
    !for_cargo.any(|argument| chooses_packages(argument) && argument != "--workspace")
}

/// `cargo test` with the user's arguments.
fn command(workspace: &Workspace, arguments: &[String]) -> Command {
    let mut test = workspace.cargo();
    test.arg("test");
    let mut for_cargo = arguments.iter().take_while(|argument| *argument != "--");
    if !for_cargo.clone().any(|argument| chooses_packages(argument)) {
        test.arg("--workspace");
    }
    if !for_cargo.any(|argument| argument == "--no-fail-fast") {
        test.arg("--no-fail-fast");
    }
    test.args(arguments);
    test
}

/// Returns whether this argument chooses packages, so that `--workspace` must not be added.
fn chooses_packages(argument: &str) -> bool {
    let name = argument.split('=').next().unwrap_or_default();
    argument.starts_with("-p")
        || ["--package", "--manifest-path", "--workspace", "--all"].contains(&name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::tests::TempFolder;

    /// A workspace of two packages, `one` and `other`, in each of which a test fails.
    fn failing_workspace(folder: &TempFolder) -> Workspace {
        let root = folder.0.clone();
        let write = |file: &str, text: &str| fs::write(root.join(file), text).unwrap();
        write("Cargo.toml", "[workspace]\nmembers = [\"one\", \"other\"]\nresolver = \"3\"\n");
        for name in ["one", "other"] {
            fs::create_dir_all(root.join(name).join("src")).unwrap();
            let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
            write(&format!("{name}/Cargo.toml"), &manifest);
            write(&format!("{name}/src/lib.rs"), "#[test] fn fails() { panic!() }\n");
        }
        let target = root.join("target");
        Workspace { root, runtimes: target.join("opencl"), target }
    }

    /// The last lines of `cargo test`, in which it lists the targets that failed.
    fn failed(workspace: &Workspace, arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
        let mut test = command(workspace, &arguments);
        let output = process::output(test.env("CARGO_TARGET_DIR", &workspace.target)).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let targets = stderr.lines().map(str::trim).filter(|line| line.starts_with("`-p "));
        assert!(stderr.contains("error: "), "{stderr}");
        targets.map(|line| line.trim_matches('`').to_owned()).collect()
    }

    #[test]
    fn what_comes_after_a_failure_runs_and_all_that_failed_is_listed() {
        let folder = TempFolder::new("all-run");
        let workspace = failing_workspace(&folder);
        assert_eq!(failed(&workspace, &[]), ["-p one --lib", "-p other --lib"]);
        let twice = ["--no-fail-fast", "--workspace", "--", "fails"];
        assert_eq!(failed(&workspace, &twice), ["-p one --lib", "-p other --lib"]);
        for one in [&["--package", "other"][..], &["-p", "other"], &["--package=other"]] {
            assert_eq!(failed(&workspace, one), ["-p other --lib"], "{one:?}");
        }
    }
}
