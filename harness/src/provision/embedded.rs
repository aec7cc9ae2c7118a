//! The embedded default: one CPU device for a machine that has none, without root.
//!
//! It is PoCL from its own wheel, and the loader (libOpenCL) of PyOpenCL's wheel. PoCL links each
//! kernel with the machine's `ld`, which Rust needs too.

use std::path::Path;

use super::wheels::WheelSet;
use super::{Environment, ProvisionError, vendors};
use crate::terminal::status_line;

/// The folder of the wheels.
pub const FOLDER: &str = "embedded";

/// PyOpenCL's wheels differ by Python version, their loaders do not: one of them serves any machine.
pub(super) const WHEELS: WheelSet = WheelSet {
    folder: FOLDER,
    pins: &[
        (
            "pocl-binary-distribution",
            "3.0",
            "b70c3d7835afd9aabc43dcffe0035d6a71d54eb35d8d55fc2fd4eb1e037128a9",
        ),
        (
            "pyopencl",
            "2026.1.4",
            "31bed2c185b395ace1315afaf14bb60e4ce740ef8e6a74033de64d8984decd87",
        ),
    ],
    options: &[
        "--python-version=3.11",
        "--implementation=cp",
        "--abi=cp311",
        "--abi=none",
        "--platform=manylinux2014_x86_64",
        "--platform=manylinux_2_28_x86_64",
        "--target",
    ],
    size: "59 MB to download, 161 MB on disk",
};

/// Returns whether the default is installed in the folder of the runtimes.
pub fn is_ready(runtimes: &Path) -> bool {
    WHEELS.is_ready(runtimes)
}

/// Downloads the wheels of the default, unless they are there.
///
/// # Errors
///
/// See [`ProvisionError`].
pub fn provision(runtimes: &Path) -> Result<(), ProvisionError> {
    if !is_ready(runtimes) {
        status_line(
            "Setting up an OpenCL device on the CPU (PoCL). No root, no change to the system.",
        );
    }
    WHEELS.install(runtimes)
}

/// Returns the variables that show the default to OpenCL programs, once it is installed.
///
/// # Errors
///
/// A library is missing, or the folder of `.icd` files cannot be written.
pub fn environment(runtimes: &Path) -> Result<Environment, ProvisionError> {
    // The names carry hashes, such as libpocl-21062cec.so.
    let (pocl, loader) =
        (WHEELS.library(runtimes, "libpocl-")?, WHEELS.library(runtimes, "libOpenCL-")?);
    // Written every time, as absolute paths change when the folder moves.
    let vendors = runtimes.join("embedded-vendors");
    vendors::write(&vendors, &[("pocl", pocl)])?;
    status_line(&format!("OpenCL devices: the embedded default, {}", vendors.display()));
    Ok(Environment::blank()
        // The path ends with a slash.
        // quirk: LOADER-1
        .set("OCL_ICD_VENDORS", vendors.join(""))
        .set("OPENCL_DYLIB_PATH", loader)
        // This loader crashes if the variable is unset, and lists the device twice if the variable
        // names the wheel's folder.
        // quirk: LOADER-4
        .set("PYOPENCL_HOME", ""))
}
