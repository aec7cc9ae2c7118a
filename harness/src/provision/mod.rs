//! An OpenCL device for a machine that has none, without root: the feature `provision`.
//!
//! [`embedded`] is PoCL and a loader from PyPI, for the CPU. `clmatrix provision` and the option
//! `--provision` of a target with `main!` install both in the cache folder of the user, and print the
//! [`Environment`] that shows the device to OpenCL programs. [`wheels`] downloads, and [`vendors`] writes
//! the folder of `.icd` files.

pub mod embedded;
pub mod environment;
mod error;
#[doc(hidden)]
pub mod files;
pub mod vendors;
pub mod wheels;

use std::path::PathBuf;

pub use environment::Environment;
pub use error::ProvisionError;

use crate::folders::user_cache_folder;

/// Installs the embedded default in the cache folder of the user, unless it is there, and returns the
/// variables that show it to OpenCL programs.
///
/// # Errors
///
/// See [`ProvisionError`].
pub fn provide() -> Result<Environment, ProvisionError> {
    let runtimes = runtimes()?;
    embedded::provision(&runtimes)?;
    embedded::environment(&runtimes)
}

/// Returns the last lines of the error that there is no device: `command` provides one.
pub(crate) fn advice(command: &str) -> Option<String> {
    let size = embedded::WHEELS.size;
    let is_supported = wheels::check_platform().is_ok();
    is_supported.then(|| {
        format!(
            "download a driver for the CPU (PoCL from PyPI; {size}), without root:\n  {command}"
        )
    })
}

/// The folder of the runtimes in the cache folder of the user.
fn runtimes() -> Result<PathBuf, ProvisionError> {
    let cache = user_cache_folder().ok_or(ProvisionError::NoCacheFolder)?;
    Ok(cache.join("clmatrix").join("opencl"))
}
