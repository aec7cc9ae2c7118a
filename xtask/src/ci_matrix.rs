//! The CI matrix: PoCL, rusticl on llvmpipe, Oclgrind and Intel's CPU runtime, side by side.
//!
//! The first three are Debian's packages, the last one comes from PyPI. A private vendors folder
//! names these four drivers only: the packages also register with the system (Mesa's Clover among
//! them), and what else the machine has must not change what CI tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clmatrix_runner::provision::wheels;
use clmatrix_runner::provision::{Environment, Runtime, vendors};

use crate::apt;
use crate::files::cannot;

/// The OpenCL loader, which all of the drivers are found through.
const LOADER: &str = "ocl-icd-libopencl1";

/// The variable, with its value, without which rusticl shows no device: the name of a driver of Mesa.
// quirk: RUSTICL-4
pub const ENABLE_RUSTICL: (&str, &str) = ("RUSTICL_ENABLE", "llvmpipe");

/// A driver out of a Debian package.
struct Packaged {
    /// The name of its `.icd` file in the private vendors folder.
    icd: &'static str,
    /// Its usual name.
    title: &'static str,
    package: &'static str,
    /// A file of the package: the driver library, or the `.icd` file that names it.
    file: &'static str,
    /// The version in Debian 12, on which the expectations are based.
    expected: &'static str,
}

const PACKAGED: [Packaged; 3] = [
    Packaged {
        icd: "pocl",
        title: "PoCL",
        package: "pocl-opencl-icd",
        file: "pocl.icd",
        expected: "3.1",
    },
    Packaged {
        icd: "rusticl",
        title: "rusticl",
        package: "mesa-opencl-icd",
        file: "rusticl.icd",
        expected: "22.3.6",
    },
    Packaged {
        icd: "oclgrind",
        title: "Oclgrind",
        package: "oclgrind",
        file: "liboclgrind-rt-icd.so",
        expected: "21.10",
    },
];

/// Returns whether the matrix has been set up. The vendors folder is what [`provision`] writes last.
pub fn is_provisioned(runtimes: &Path) -> bool {
    vendors_folder(runtimes).is_dir()
}

/// Installs what is missing, and prints the versions of what is there.
pub fn provision(runtimes: &Path) -> Result<()> {
    install_packages()?;
    Runtime::Intel.wheels().install(runtimes)?;
    let drivers = drivers(runtimes)?;
    vendors::write(&vendors_folder(runtimes), &drivers)?;
    print_versions(&drivers);
    Ok(())
}

/// The variables that show the drivers to OpenCL programs.
///
/// A matrix that has lost a driver is an error: tests that silently run on fewer devices than
/// before would be the worse surprise.
pub fn environment(runtimes: &Path) -> Result<Environment> {
    let vendors = vendors_folder(runtimes);
    ensure!(
        is_provisioned(runtimes),
        "the CI matrix is selected but not installed; run `cargo xtask provision`"
    );
    ensure!(
        Runtime::Intel.wheels().is_ready(runtimes) && vendors::are_installed(&vendors)?,
        "the CI matrix is no longer complete (packages or folders have changed): run \
         `cargo xtask provision` again, or go without it with `--from machine`"
    );
    eprintln!("OpenCL devices: the CI matrix, {}", vendors.display());
    Ok(Environment::blank()
        // The path ends with a slash.
        // quirk: LOADER-1
        .set("OCL_ICD_VENDORS", vendors.join(""))
        .set(ENABLE_RUSTICL.0, ENABLE_RUSTICL.1))
}

/// The variables that show PoCL alone, if it is set up.
pub fn pocl_environment(runtimes: &Path) -> Option<Environment> {
    let icd = vendors::icd(&vendors_folder(runtimes), "pocl");
    let library = fs::read_to_string(&icd).ok()?;
    if !Path::new(library.trim_end()).is_file() {
        return None;
    }
    eprintln!("OpenCL devices: PoCL of the CI matrix, {}", icd.display());
    Some(Environment::blank().set("OCL_ICD_VENDORS", icd))
}

/// The folder of the drivers' `.icd` files.
pub fn vendors_folder(runtimes: &Path) -> PathBuf {
    runtimes.join("ci-vendors")
}

fn install_packages() -> Result<()> {
    let mut packages: Vec<_> = PACKAGED.iter().map(|driver| driver.package).collect();
    packages.push(LOADER);
    if !wheels::has_pip() {
        packages.push("python3-pip");
    }
    apt::install(&packages)
}

/// The drivers as (name of the `.icd` file, absolute path of the library).
///
/// Not every release has all of the packages. One that is not there is pointed out and left out:
/// the profile `ci`, which expects all four, then fails; other runs make do with the rest.
fn drivers(runtimes: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut drivers = Vec::new();
    for driver in &PACKAGED {
        match apt::file(driver.package, driver.file).and_then(library) {
            Ok(library) => drivers.push((driver.icd, library)),
            Err(error) => eprintln!("warning: going without {}: {error:#}", driver.title),
        }
    }
    drivers.push((Runtime::Intel.name(), Runtime::Intel.library(runtimes)?));
    Ok(drivers)
}

/// The absolute path of a driver library, given itself or the `.icd` file that names it.
fn library(file: PathBuf) -> Result<PathBuf> {
    if file.extension().is_none_or(|extension| extension != "icd") {
        return Ok(file);
    }
    let text = fs::read_to_string(&file).with_context(|| cannot("read", &file))?;
    let name = text.trim();
    // Joining with an absolute path gives that path.
    let candidates = library_folders().into_iter().map(|folder| folder.join(name));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("{} names {name}, which does not exist", file.display()))
}

/// Where Debian's and Ubuntu's packages put shared libraries.
fn library_folders() -> [PathBuf; 2] {
    [format!("/usr/lib/{}-linux-gnu", env::consts::ARCH).into(), "/usr/lib".into()]
}

fn print_versions(drivers: &[(&str, PathBuf)]) {
    println!("The CI matrix is set up:");
    for driver in &PACKAGED {
        if !drivers.iter().any(|(icd, _)| *icd == driver.icd) {
            continue;
        }
        let version = apt::version(driver.package).unwrap_or_default();
        let note = version_note(&version, driver.expected);
        println!("  {:9} {version:17} (package {}){note}", driver.title, driver.package);
    }
    let (name, version, _) = Runtime::Intel.wheels().pins[0];
    println!("  {:9} {version:17} (wheel {name})", "Intel CPU");
}

/// Returns a note on a version that is not the one of Debian 12.
fn version_note(version: &str, expected: &str) -> String {
    let is_expected = version
        .strip_prefix(expected)
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
    if is_expected {
        return String::new();
    }
    format!(" - CI has {expected}, so expect some different verdicts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::TempFolder;

    #[test]
    fn another_version_than_cis_is_pointed_out() {
        for (version, expected) in
            [("3.1-3+deb12u1", "3.1"), ("3.1", "3.1"), ("22.3.6-1", "22.3.6")]
        {
            assert_eq!(version_note(version, expected), "", "{version}");
        }
        for (version, expected) in [("3.10-1", "3.1"), ("5.0-2.1", "3.1"), ("", "3.1")] {
            assert_ne!(version_note(version, expected), "", "{version}");
        }
    }

    #[test]
    fn an_icd_file_leads_to_its_library() {
        let folder = TempFolder::new("library");
        let driver = folder.0.join("libdriver.so.1");
        let icd = folder.0.join("driver.icd");
        fs::write(&driver, "").unwrap();
        fs::write(&icd, format!("{}\n", driver.display())).unwrap();
        assert_eq!(library(icd.clone()).unwrap(), driver);
        assert_eq!(library(driver.clone()).unwrap(), driver);
        fs::write(&icd, "libno-such-driver.so\n").unwrap();
        assert!(library(icd).is_err());
    }
}
