//! The JSON Schemas of the event log and of the configuration, made from the types of the harness.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::workspace::{Workspace, executables};

/// The schemas and their files.
const FILES: [(&str, &str); 2] =
    [("log", "docs/log.schema.json"), ("config", "config/clmatrix.schema.json")];

/// Writes the schemas, or with `check` compares them with the files and validates logs, which must be of
/// this profile if there is one.
pub fn run(
    workspace: &Workspace,
    check: bool,
    profile: Option<&str>,
    logs: &[PathBuf],
) -> Result<()> {
    let mut build = workspace.cargo();
    // With the other features that `cargo test` has, so that only the harness is built twice.
    build.args(["build", "--workspace", "--features", "clmatrix-runner/schema"]);
    build.args(["--example", "schema"]);
    let [program] = executables(&mut build, ["schema"])?;
    for (name, file) in FILES {
        let output = process::output(Command::new(&program).arg(name))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the schema cannot be made:\n{stderr}");
        let path = workspace.root.join(file);
        if check {
            let found =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            ensure!(found == output.stdout, "{file} is out of date: run `cargo xtask schema`");
        } else {
            let written = fs::write(&path, output.stdout);
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if check && !logs.is_empty() {
        let mut validate = Command::new(program);
        validate.arg("validate").args(profile.map(|profile| format!("--profile={profile}")));
        process::run(validate.args(logs))?;
    }
    Ok(())
}
