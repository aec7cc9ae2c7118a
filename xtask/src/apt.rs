//! Debian's and Ubuntu's packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{self, output, run};

/// Installs those packages that are missing and that this release has, without the packages that
/// they recommend.
pub fn install(packages: &[&str]) -> Result<()> {
    let is_missing = |name: &&str| version(name).is_none();
    let mut missing: Vec<&str> = packages.iter().copied().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("Installing packages with apt-get: {}", missing.join(" "));
    if missing.iter().all(is_known) && run(&mut install_command(&missing)?).is_ok() {
        return Ok(());
    }
    // Lists of packages are absent in most container images, and outdated after a while.
    run(apt_get()?.arg("update"))?;
    missing.retain(is_known);
    if missing.is_empty() {
        return Ok(());
    }
    run(&mut install_command(&missing)?).context("the packages could not be installed")
}

fn install_command(packages: &[&str]) -> Result<Command> {
    let mut command = apt_get()?;
    command.args(["install", "--yes", "--no-install-recommends"]);
    // Rather fail than put aside another loader or driver that the machine has.
    command.arg("--no-remove").args(packages);
    Ok(command)
}

/// Returns whether apt's lists have a package.
fn is_known(package: &&str) -> bool {
    let mut show = Command::new("apt-cache");
    show.args(["show", package]);
    output(&mut show).is_ok_and(|output| output.status.success())
}

/// The version of an installed package, without epoch.
pub fn version(package: &str) -> Option<String> {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status} ${Version}", package]);
    let output = output(&mut query).ok().filter(|output| output.status.success())?;
    installed_version(&String::from_utf8_lossy(&output.stdout))
}

/// Reads `installed 1:2.3-4` as 2.3-4; a package that is known but not installed has no version.
fn installed_version(status: &str) -> Option<String> {
    let version = status.strip_prefix("installed ")?.trim();
    let without_epoch = version.split_once(':').map_or(version, |(_, rest)| rest);
    Some(without_epoch.to_owned())
}

/// The file that a package installed under a path with this end.
pub fn file(package: &str, end: &str) -> Result<PathBuf> {
    let version = version(package).with_context(|| {
        format!("this release has no package {package} (Ubuntu: is `universe` enabled?)")
    })?;
    let mut list = Command::new("dpkg");
    let output = output(list.args(["--listfiles", package]))?;
    let files = String::from_utf8_lossy(&output.stdout);
    let mut files = files.lines().map(PathBuf::from);
    let found = files.find(|path| path.ends_with(end) && path.exists());
    found.with_context(|| format!("version {version} of the package {package} has no {end}"))
}

/// `apt-get` as root, never asking.
fn apt_get() -> Result<Command> {
    ensure!(
        output(Command::new("apt-get").arg("--version")).is_ok(),
        "this machine has no apt-get: `cargo xtask provision` is for Debian and Ubuntu. \
         `cargo xtask matrix` and `cargo xtask test` work elsewhere"
    );
    let is_root = process::is_root();
    let mut command = Command::new(if is_root { "env" } else { "sudo" });
    if !is_root {
        ensure!(
            output(Command::new("sudo").arg("--version")).is_ok(),
            "installing packages takes root: run as root, or install sudo. Without either, \
             `cargo xtask matrix` and `cargo xtask test` set up a CPU device of their own"
        );
        command.arg("env");
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_installed_packages_have_a_version() {
        let cases = [
            ("installed 3.1-3+deb12u1", Some("3.1-3+deb12u1")),
            ("installed 1:15.0.6-4", Some("15.0.6-4")),
            ("not-installed ", None),
            ("config-files 3.1-3", None),
            ("", None),
        ];
        for (status, expected) in cases {
            assert_eq!(installed_version(status).as_deref(), expected, "{status:?}");
        }
    }
}
