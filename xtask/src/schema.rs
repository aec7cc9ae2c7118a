//! The JSON Schema of the event log, made from the types of the harness.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::workspace::{Workspace, executables};

const FILE: &str = "docs/log.schema.json";

/// Writes the schema, or with `check` compares it with the file and validates logs, which must be of
/// this profile if there is one.
pub fn run(
    workspace: &Workspace,
    check: bool,
    profile: Option<&str>,
    logs: &[PathBuf],
) -> Result<()> {
    let mut build = workspace.cargo();
    // With the other features that `cargo test` has, so that only the harness is built twice.
    build.args(["build", "--workspace", "--features", "clmatrix-harness/schema"]);
    build.args(["--example", "log_schema"]);
    let [log_schema] = executables(&mut build, &[], ["log_schema"])?;
    let output = process::output(&mut Command::new(&log_schema))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the schema cannot be made:\n{stderr}");
    let path = workspace.root.join(FILE);
    if !check {
        let written = fs::write(&path, output.stdout);
        return written.with_context(|| format!("cannot write {}", path.display()));
    }
    let found = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(found == output.stdout, "{FILE} is out of date: run `cargo xtask schema`");
    if logs.is_empty() {
        return Ok(());
    }
    let mut validate = Command::new(log_schema);
    validate.args(profile.map(|profile| format!("--profile={profile}"))).args(logs);
    process::run(&mut validate)
}
