//! The reason why no device can be provided.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

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
