//! A virtual environment of Python with pinned packages from PyPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::files::{self, cannot};
use crate::process;

/// The file in the virtual environment that names its packages. It gets this name last.
const STAMP: &str = "pins.txt";

/// Makes the virtual environment `venv` in `folder`, unless it is there, and returns its Python. `pins` are
/// requirements of pip with the hashes of their wheels.
pub fn install(folder: &Path, pins: &str) -> Result<PathBuf> {
    let venv = folder.join("venv");
    let (python, stamp) = (venv.join("bin/python"), venv.join(STAMP));
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == pins) {
        return Ok(python);
    }
    eprintln!("Fetching Python packages from PyPI with pip, into {}", venv.display());
    files::remove_tree(&venv)?;
    // Debian's Python makes no venv with pip in it, but its pip installs into another one.
    process::run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv))?;
    let requirements = venv.join("requirements.txt");
    fs::write(&requirements, pins).with_context(|| cannot("write", &requirements))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(&python);
    pip.args(["install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]);
    pip.arg("--requirement").arg(&requirements);
    process::run(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))
        .context(
            "needs pip 22.3 or newer (Debian, Ubuntu: `apt-get install python3-pip`), and the packages are \
             pinned for CPython 3.11 to 3.14 on x86-64 Linux",
        )?;
    fs::rename(&requirements, &stamp).with_context(|| cannot("write", &stamp))?;
    Ok(python)
}
