//! A virtual environment of Python with pinned packages from PyPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::files::{self, cannot};
use crate::process;

/// The file in the virtual environment that names its packages. It is written last.
const STAMP: &str = "pins.txt";

/// Makes the virtual environment `venv` in `folder`, unless it is there, and returns its Python.
pub fn install(folder: &Path, pins: &[&str]) -> Result<PathBuf> {
    let (venv, pinned) = (folder.join("venv"), pins.join("\n"));
    let (python, stamp) = (venv.join("bin/python"), venv.join(STAMP));
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == pinned) {
        return Ok(python);
    }
    eprintln!("Fetching {} from PyPI with pip, into {}", pins[0], venv.display());
    files::remove_tree(&venv)?;
    // Debian's Python makes no venv with pip in it, but its pip installs into another one.
    process::run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(&python);
    pip.args(["install", "--quiet", "--no-deps", "--only-binary=:all:"]).args(pins);
    process::run(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))
        .context("pip 22.3 or newer is needed (Debian, Ubuntu: `apt-get install python3-pip`)")?;
    fs::write(&stamp, pinned).with_context(|| cannot("write", &stamp))?;
    Ok(python)
}
