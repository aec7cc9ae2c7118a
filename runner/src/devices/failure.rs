//! Drivers that cannot be used, and the reason.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A driver that shows no platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedDriver {
    /// The `.icd` file, library or variable that names the driver.
    pub driver: String,
    /// True if the user named it (`--icd`, CLMATRIX_ICD, OPENCL_DYLIB_PATH). Then no test is run.
    #[serde(skip)]
    pub named: bool,
    /// The reason.
    #[serde(flatten)]
    pub failure: DriverFailure,
}

impl fmt::Display for FailedDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.driver, self.failure.reason)
    }
}

/// The reason why a driver shows no platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverFailure {
    /// The kind, for programs.
    pub kind: FailureKind,
    /// The reason in words, with the dynamic linker's message where there is one.
    pub reason: String,
}

impl DriverFailure {
    /// Returns a failure of this kind.
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    /// Returns whether the dynamic linker did not load the library.
    pub fn is_of_loading(&self) -> bool {
        use FailureKind::{CannotLoad, NoSuchFile, NotALibrary};
        matches!(self.kind, NoSuchFile | NotALibrary | CannotLoad)
    }
}

/// The ways in which a driver can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The `.icd` file is empty, or the file or its folder cannot be read.
    IcdFile,
    /// The library does not exist.
    NoSuchFile,
    /// The file is not a shared library.
    NotALibrary,
    /// The dynamic linker refuses the library, for example because it depends on another library
    /// that does not exist.
    CannotLoad,
    /// The library lacks the functions by which loaders enter a driver.
    NoEntryPoint,
    /// The library loads, but shows no platform.
    NoPlatform,
    /// The process that loaded the driver was ended by a signal.
    Crashed,
    /// The driver ended the process that loaded it.
    Exited,
    /// The driver did not answer in time.
    Hung,
    /// The driver could not be probed, through no fault of its own.
    NotProbed,
}

/// The name in reports, as in the log.
impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
