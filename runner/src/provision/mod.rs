//! An OpenCL device for a machine that has none, without root: the feature `provision`.
//!
//! [`provide`] installs the first [`Runtime`] that works on this processor. [`wheels`] downloads it from PyPI,
//! `check` builds and runs kernels with it in a worker, `findings` stores the result, and [`vendors`] writes the
//! folder of `.icd` files that the [`Environment`] names.

mod check;
pub mod environment;
#[doc(hidden)]
pub mod files;
mod findings;
pub mod runtime;
pub mod vendors;
pub mod wheels;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

pub use environment::Environment;
pub use runtime::Runtime;

use self::check::check;
use self::findings::Findings;
use crate::folders::user_cache_folder;
use crate::os;
use crate::terminal::status_line;

/// The request for a device.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The folder of the runtimes; `None` for one in the cache folder of the user.
    pub folder: Option<PathBuf>,
    /// The runtime; `None` for the first one that works.
    pub driver: Option<Runtime>,
    /// Forbids downloads.
    pub no_download: bool,
}

/// The reason why no device can be provided.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The wheels are for another platform.
    #[error(
        "the OpenCL runtimes on PyPI are for x86-64 Linux with glibc only. Install an OpenCL driver \
         for this machine yourself, then run again"
    )]
    Platform,
    /// The machine has no pip.
    #[error(
        "OpenCL runtimes are fetched with Python's pip, and there is none. Install it (Debian, \
         Ubuntu: `apt-get install python3-pip`)"
    )]
    NoPip,
    /// pip has failed with this exit status.
    #[error(
        "the OpenCL runtime could not be fetched; see pip's message above ({0}). Where PyPI is \
         out of reach, point pip at a mirror (`pip config set global.index-url URL`), or install an \
         OpenCL driver yourself (Debian, Ubuntu: `apt-get install pocl-opencl-icd ocl-icd-libopencl1`)"
    )]
    Pip(ExitStatus),
    /// A library of wheels is not in their folder.
    #[error("there is no {0} in {folder}: delete that folder and run again", folder = .1.display())]
    Incomplete(String, PathBuf),
    /// No runtime works, or may be downloaded.
    #[error(
        "no OpenCL driver of PyPI can be used here, for the reasons above. {}nstall one (Debian, Ubuntu: \
         `apt-get install pocl-opencl-icd ocl-icd-libopencl1`; Fedora, Arch: the package `pocl`), or point \
         OCL_ICD_VENDORS at a folder of .icd files",
        if *no_download { "Allow the download, or i" } else { "I" }
    )]
    NothingWorks {
        /// True if downloads are forbidden.
        no_download: bool,
    },
    /// There is no place for downloads.
    #[error("there is no folder for downloads: set XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// A file cannot be read or written, or a program cannot be started.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Installs the first runtime that works here, unless it is installed, and returns the variables that show it to
/// OpenCL programs. The executable must have an entry point of this crate.
///
/// # Errors
///
/// See [`ProvisionError`]. The reasons why runtimes do not work go to standard error.
pub fn provide(request: &Request) -> Result<Environment, ProvisionError> {
    if !os::RUNS_WHEELS {
        return Err(ProvisionError::Platform);
    }
    let in_cache = || user_cache_folder().map(|cache| cache.join("clmatrix").join("opencl"));
    let runtimes = request.folder.clone().or_else(in_cache).ok_or(ProvisionError::NoCacheFolder)?;
    let findings = Findings::new(&runtimes);
    let wanted = request.driver.map_or(Runtime::ALL.to_vec(), |driver| vec![driver]);
    for (number, runtime) in wanted.into_iter().enumerate() {
        let reason = match provide_runtime(runtime, request, &runtimes, &findings) {
            Ok(Ok(environment)) => return Ok(environment),
            Ok(Err(reason)) => reason,
            // Another runtime would fail for the same reason.
            Err(error) if number == 0 => return Err(error),
            Err(error) => format!("cannot be installed: {error}"),
        };
        status_line(&format!("{runtime} {reason}"));
    }
    Err(ProvisionError::NothingWorks { no_download: request.no_download })
}

/// Installs a runtime and checks it, once for each processor. A runtime that the request names is checked again
/// if it did not work. Returns the reason if it does not work here, or may not be downloaded.
fn provide_runtime(
    runtime: Runtime,
    request: &Request,
    runtimes: &Path,
    findings: &Findings,
) -> Result<Result<Environment, String>, ProvisionError> {
    let fails = |reason: &str| {
        let processor = &findings.processor;
        format!("does not work on this machine (processor: {processor}): {reason}")
    };
    let known = findings.of(runtime);
    if let (Some(Err(reason)), None) = (&known, request.driver) {
        let again = format!("`--driver {}` checks it again", runtime.name());
        return Ok(Err(format!("{}; found earlier, {again}", fails(reason))));
    }
    if request.no_download && !runtime.is_installed(runtimes) {
        return Ok(Err("is not downloaded, and downloads are forbidden".to_owned()));
    }
    runtime.install(runtimes)?;
    let environment = runtime.environment(runtimes)?;
    if known != Some(Ok(())) {
        let checked = check(&environment).inspect(|found| findings.keep(runtime, found));
        if let Ok(Err(reason)) | Err(reason) = checked {
            return Ok(Err(fails(&reason)));
        }
    }
    status_line(&format!("OpenCL device: {runtime}, in {}", runtimes.display()));
    Ok(Ok(environment))
}

/// Returns the last lines of the error for a machine without a device: `command` provides one.
pub(crate) fn advice(command: &str) -> Option<String> {
    let [(pocl, pocl_size), (intel, intel_size)] =
        Runtime::ALL.map(|runtime| (runtime.wheels().title, runtime.wheels().size));
    os::RUNS_WHEELS.then(|| {
        format!(
            "download a driver for the CPU from PyPI, without root: {pocl} ({pocl_size}), or where that \
             does not work, {intel} ({intel_size}; proprietary):\n  {command}"
        )
    })
}
