//! The embedded default: one CPU device for a machine that has none, without root.
//!
//! It is PoCL from its own wheel, and the loader (libOpenCL) that PyOpenCL's wheel brings along.
//! PoCL links each kernel with the machine's `ld`, which whoever builds Rust programs has.

use std::path::Path;

use anyhow::{Context, Result};

use crate::environment::Environment;
use crate::files;
use crate::vendors;
use crate::wheels::WheelSet;

/// The folder that the wheels are unpacked in.
pub const FOLDER: &str = "embedded";

/// PyOpenCL's wheels differ by Python version, its loader does not: one of them serves any machine.
const WHEELS: WheelSet = WheelSet {
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

/// Returns whether the default is in place.
pub fn is_ready(runtimes: &Path) -> bool {
    WHEELS.is_ready(runtimes)
}

/// Fetches what is missing of the default.
pub fn provision(runtimes: &Path) -> Result<()> {
    if !is_ready(runtimes) {
        eprintln!(
            "Setting up an OpenCL device on the CPU (PoCL). No root, no change to the system."
        );
    }
    WHEELS.install(runtimes)
}

/// The variables that show the default to OpenCL programs, once it is in place.
pub fn environment(runtimes: &Path) -> Result<Environment> {
    let tree = WHEELS.path(runtimes);
    let library = |prefix: &'static str| {
        // The names carry hashes, such as libpocl-21062cec.so.
        let found = files::find(&tree, &|name| name.starts_with(prefix))?;
        found.with_context(|| {
            let folder = tree.display();
            format!("there is no {prefix}* in {folder}: delete that folder and run again")
        })
    };
    // Written every time, as absolute paths change when the target folder moves.
    let vendors = runtimes.join("embedded-vendors");
    vendors::write(&vendors, &[("pocl", library("libpocl-")?)])?;
    eprintln!("OpenCL devices: the embedded default, {}", vendors.display());
    Ok(Environment::blank()
        // The path ends with a slash.
        // quirk: LOADER-1
        .set("OCL_ICD_VENDORS", vendors.join(""))
        .set("OPENCL_DYLIB_PATH", library("libOpenCL-")?)
        // This loader crashes if the variable is unset, and lists the device twice if the variable
        // names the wheel's folder.
        // quirk: LOADER-4
        .set("PYOPENCL_HOME", ""))
}
