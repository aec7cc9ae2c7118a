//! All tests of the workspace: the models that loom explores, then `cargo test`.

use std::process::{Command, ExitCode};

use anyhow::Result;
use clmatrix_harness::provision::Environment;

use crate::process;
use crate::workspace::{Workspace, executables};

/// Runs `cargo test` on the devices that `environment` shows, without arguments also loom. All of
/// it runs, whatever fails, and the last lines name what failed.
pub fn run(
    workspace: &Workspace,
    environment: &Environment,
    arguments: &[String],
) -> Result<ExitCode> {
    let loom_passes = !arguments.is_empty() || passes(loom(workspace));
    let mut test = command(workspace, arguments);
    environment.apply(&mut test);
    // With --no-fail-fast, cargo's last lines are a list of the targets that failed.
    let status = process::status(&mut test)?;
    if !status.success() {
        eprintln!(
            "error: tests failed in the targets that cargo lists above: run one of them again with \
             `cargo xtask test -- -p PACKAGE ...`"
        );
    }
    if !loom_passes {
        eprintln!("error: loom's tests failed: run them again with `cargo xtask loom`");
    }
    Ok(process::exit_code(status, loom_passes))
}

/// Prints an error, which counts as a failure.
fn passes(result: Result<bool>) -> bool {
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        false
    })
}

/// Runs the tests that loom runs, and returns whether they pass.
pub fn loom(workspace: &Workspace) -> Result<bool> {
    let mut build = workspace.cargo();
    build.args(["rustc", "--package", "clmatrix", "--lib", "--profile", "test"]);
    build.args(["--features", "loom"]).env("CARGO_INCREMENTAL", "0");
    // For this crate alone, so that its dependencies are those of all other builds.
    let flags = ["--cfg", "loom", "-C", "opt-level=2"];
    let [tests] = executables(&mut build, &flags, ["clmatrix"])?;
    let mut run = Command::new(tests);
    Ok(process::status(run.current_dir(&workspace.root).arg("loom_tests"))?.success())
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

    /// A test that leaves a file.
    const RECORDS_A_RUN: &str = r#"#[test] fn runs() { std::fs::write("has-run", "").unwrap() }"#;

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

    #[test]
    fn the_other_tests_run_if_loom_cannot_be_built() {
        let folder = TempFolder::new("no-loom");
        // It has no package `clmatrix`, so there is nothing to build for loom.
        let workspace = failing_workspace(&folder);
        // No test fails: its output would look like a failure in the log of these tests.
        for package in ["one", "other"] {
            fs::write(folder.0.join(package).join("src/lib.rs"), RECORDS_A_RUN).unwrap();
        }
        assert!(loom(&workspace).is_err());
        run(&workspace, &Environment::default(), &[]).unwrap();
        assert!(folder.0.join("one/has-run").exists());
    }
}
