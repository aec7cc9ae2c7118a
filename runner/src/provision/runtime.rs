//! The runtimes that can be provided, each an OpenCL driver for the CPU out of wheels from PyPI.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::wheels::WheelSet;
use super::{Environment, ProvisionError, vendors};
use crate::terminal::status_line;

/// The folder of the loader, libOpenCL.
pub const LOADER_FOLDER: &str = "loader";

/// PyOpenCL's wheels differ by Python version, their loaders do not: one of them works on any machine.
const LOADER: WheelSet = WheelSet {
    folder: LOADER_FOLDER,
    title: "the OpenCL loader of PyOpenCL's wheel",
    pins: &[(
        "pyopencl",
        "2026.1.4",
        "31bed2c185b395ace1315afaf14bb60e4ce740ef8e6a74033de64d8984decd87",
    )],
    options: &[
        "--python-version=3.11",
        "--implementation=cp",
        "--abi=cp311",
        "--platform=manylinux_2_28_x86_64",
        "--target",
    ],
    size: "1 MB to download, 3 MB on disk",
    licence: "BSD; the rest of the wheel is MIT",
};

/// PoCL links each kernel with the machine's `ld`, which Rust needs too.
const POCL: WheelSet = WheelSet {
    folder: "pocl",
    title: "PoCL",
    pins: &[(
        "pocl-binary-distribution",
        "3.0",
        "b70c3d7835afd9aabc43dcffe0035d6a71d54eb35d8d55fc2fd4eb1e037128a9",
    )],
    options: &["--platform=manylinux2014_x86_64", "--target"],
    size: "58 MB to download, 158 MB on disk",
    licence: "MIT",
};

/// `--prefix`, as `--target` would drop the wheel's files for `lib/`: here, all files.
const INTEL: WheelSet = WheelSet {
    folder: "intel",
    title: "Intel's CPU runtime",
    pins: &[
        (
            "intel-opencl-rt",
            "2026.2.0",
            "6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67",
        ),
        (
            "intel-cmplr-lib-rt",
            "2026.2.0",
            "9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748",
        ),
        ("tbb", "2023.2.0", "7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c"),
    ],
    options: &["--ignore-installed", "--prefix"],
    size: "273 MB to download, 495 MB on disk, 800 MB while unpacking",
    licence: "proprietary: Intel End User License Agreement for Developer Tools",
};

/// A runtime that can be provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Runtime {
    /// PoCL.
    Pocl,
    /// Intel's CPU runtime.
    Intel,
}

impl Runtime {
    /// The runtimes in the order in which they are tried: PoCL is small and free.
    pub const ALL: [Self; 2] = [Self::Pocl, Self::Intel];

    /// Returns the wheels, without the loader.
    pub fn wheels(self) -> &'static WheelSet {
        match self {
            Self::Pocl => &POCL,
            Self::Intel => &INTEL,
        }
    }

    /// Returns the name of its `.icd` file and on the command line.
    pub fn name(self) -> &'static str {
        self.wheels().folder
    }

    /// Returns the driver's library.
    ///
    /// # Errors
    ///
    /// The wheels are not unpacked, or were changed since.
    pub fn library(self, runtimes: &Path) -> Result<PathBuf, ProvisionError> {
        let beginning = match self {
            // The name carries a hash, such as libpocl-21062cec.so.
            Self::Pocl => "libpocl-",
            Self::Intel => "libintelocl.so",
        };
        self.wheels().library(runtimes, beginning)
    }

    /// Returns whether the runtime and the loader are installed in the folder of the runtimes.
    pub fn is_installed(self, runtimes: &Path) -> bool {
        self.wheels().is_ready(runtimes) && LOADER.is_ready(runtimes)
    }

    /// Downloads the wheels of the runtime and of the loader, unless they are installed.
    ///
    /// # Errors
    ///
    /// See [`ProvisionError`].
    pub fn install(self, runtimes: &Path) -> Result<(), ProvisionError> {
        if !self.is_installed(runtimes) {
            status_line(&format!(
                "Setting up an OpenCL device on the CPU: {self}. No root, no change to the system."
            ));
        }
        self.wheels().install(runtimes)?;
        LOADER.install(runtimes)
    }

    /// Returns the variables that show the runtime to OpenCL programs, once it is installed.
    ///
    /// # Errors
    ///
    /// A library is missing, or the folder of `.icd` files cannot be written.
    pub fn environment(self, runtimes: &Path) -> Result<Environment, ProvisionError> {
        let loader = LOADER.library(runtimes, "libOpenCL-")?;
        // Written every time, as absolute paths change when the folder moves.
        let vendors = runtimes.join(format!("{}-vendors", self.name()));
        vendors::write(&vendors, &[(self.name(), self.library(runtimes)?)])?;
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
}

impl fmt::Display for Runtime {
    /// Writes the usual name and the version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WheelSet { title, pins, .. } = self.wheels();
        write!(f, "{title} {}", pins[0].1)
    }
}
