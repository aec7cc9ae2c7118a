//! The embedded default: one CPU device for a machine that has none, without root.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clmatrix_runner::provision::{Environment, Runtime};

use crate::process;
use crate::workspace::Workspace;

/// Has `clmatrix provision` put the default in place, and returns the variables that show it. `driver` is the
/// first one that works, unless it is given.
pub fn environment(
    workspace: &Workspace,
    clmatrix: &Path,
    driver: Option<Runtime>,
    no_provision: bool,
) -> Result<Environment> {
    let mut provision = Command::new(clmatrix);
    provision.args(["provision", "--print-env=json", "--folder"]).arg(&workspace.runtimes);
    if let Some(driver) = driver {
        provision.args(["--driver", driver.name()]);
    }
    if no_provision {
        provision.arg("--no-download");
    }
    let output = process::output(provision.stderr(Stdio::inherit()))?;
    if !output.status.success() {
        bail!("the embedded default cannot be used, for the reason above");
    }
    Environment::from_json(&output.stdout)
        .with_context(|| format!("`{}` printed no variables", process::line(&provision)))
}
