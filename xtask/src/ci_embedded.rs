//! A new user's first two commands, on a machine that has no OpenCL device of its own.
//!
//! The devices of the machine are hidden: `--from embedded` names the loader and the one driver to use,
//! and all other variables that loaders, drivers and clmatrix read are removed.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};
use clmatrix_runner::provision::Runtime;

use crate::embedded;
use crate::files;
use crate::process;
use crate::workspace::Workspace;

/// The most that cargo's target folder may hold after both commands without the driver, in bytes.
const TARGET_LIMIT: u64 = 2_000_000_000;

/// How the names of the variables start that choose devices or change how they are tested.
const HIDDEN: [&str; 5] = ["CLMATRIX_", "PYOPENCL_", "OCL_", "OPENCL_", "POCL_"];

/// The suites that run on Intel's runtime where PoCL is the embedded default.
const SUITES: [&str; 3] = ["buffer::*", "copy::*", "launch::*"];

/// Runs `cargo xtask matrix` and `cargo xtask test` on the embedded default, both even if the first fails. The
/// tests of the first command and the fault tests of the second reuse contexts. Fails if the target folder is too
/// large then. Before, runs three suites on Intel's runtime, if both it and PoCL work here; a test of the second
/// command needs it.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let mut failed = Vec::new();
    if let Err(error) = run_on_intel(workspace) {
        failed.push(format!("{error:#}"));
    }
    for (task, arguments) in [("matrix", &["--", "--contexts", "reuse"][..]), ("test", &[])] {
        let mut command = workspace.cargo();
        command.args(["xtask", task, "--from", "embedded"]).args(arguments);
        hide_variables(&mut command);
        command.env("CLMATRIX_FAULTS_CONTEXTS", "reuse");
        if !process::status(&mut command)?.success() {
            failed.push(format!("`cargo xtask {task} --from embedded` failed"));
        }
    }
    let target = workspace.target.display();
    match target_size(workspace) {
        Ok(size) if size > TARGET_LIMIT => failed.push(format!(
            "{target} is larger than {}: if other commands have built there too, run `cargo clean` \
             before",
            gigabytes(TARGET_LIMIT)
        )),
        Ok(_) => {}
        Err(error) => failed.push(format!("the size of {target} is unknown: {error:#}")),
    }
    for failure in &failed {
        eprintln!("error: {failure}");
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs three suites on Intel's runtime, if it is not the embedded default and works here.
fn run_on_intel(workspace: &Workspace) -> Result<()> {
    let clmatrix = workspace.build_clmatrix()?;
    for runtime in [Runtime::Pocl, Runtime::Intel] {
        if let Err(error) = embedded::environment(workspace, &clmatrix, Some(runtime), false) {
            eprintln!(
                "three suites do not run on Intel's runtime beside the embedded default: {error:#}"
            );
            return Ok(());
        }
    }
    let mut command = workspace.cargo();
    command.args(["xtask", "matrix", "--from", "embedded", "--driver", "intel", "--"]).args(SUITES);
    hide_variables(&mut command);
    ensure!(process::status(&mut command)?.success(), "three suites failed on Intel's runtime");
    Ok(())
}

fn hide_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if HIDDEN.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
}

/// Prints how large each part of the target folder is, and returns the sum in bytes.
///
/// The OpenCL runtimes do not count: their sizes are those of their drivers.
fn target_size(workspace: &Workspace) -> Result<u64> {
    let mut parts = Vec::new();
    for path in files::entries(&workspace.target)? {
        // One folder for each profile of cargo is too coarse.
        if path.join("deps").is_dir() {
            parts.extend(files::entries(&path)?);
        } else if path != workspace.runtimes {
            parts.push(path);
        }
    }
    let (mut sum, mut usage) = (0, files::DiskUsage::default());
    eprintln!("\nThe size of {}:", workspace.target.display());
    for part in parts {
        let size = usage.add(&part)?;
        sum += size;
        if size >= 10_000_000 {
            let name = part.strip_prefix(&workspace.target).unwrap_or(&part);
            eprintln!("{:>8}  {}", gigabytes(size), name.display());
        }
    }
    eprintln!("{:>8}  in all, of at most {}", gigabytes(sum), gigabytes(TARGET_LIMIT));
    Ok(sum)
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}
