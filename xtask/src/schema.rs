//! The JSON Schema of the event log, made from the types of the harness.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::workspace::Workspace;

const FILE: &str = "docs/log.schema.json";

/// Writes the schema, or with `check` compares it with the file.
pub fn run(workspace: &Workspace, check: bool) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.args(["run", "--quiet", "--package", "clmatrix-harness", "--example", "log_schema"]);
    let output = process::output(&mut cargo)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the schema cannot be made:\n{stderr}");
    let path = workspace.root.join(FILE);
    if check {
        let found = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(found == output.stdout, "{FILE} is out of date: run `cargo xtask schema`");
        return Ok(());
    }
    fs::write(&path, output.stdout).with_context(|| format!("cannot write {}", path.display()))
}
