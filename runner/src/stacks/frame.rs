use std::fmt;

use serde::{Deserialize, Serialize};

use crate::verdict::Location;

/// A frame of a native stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame {
    /// The function, if there is a symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The place in the source, if there is debug information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The path of the executable or library, if the address lies in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The address in the file of the module, or in memory where there is no module, in hexadecimal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
}

/// The name of a frame in place of those between the innermost and the outermost ones of a deep stack.
pub const FRAMES_LEFT_OUT: &str = "<frames between are left out>";

/// The beginnings of functions that end a process after a failure.
const ABORTING: [&str; 11] = [
    "__assert_fail",
    "__pthread_kill",
    "abort",
    "core::panicking::",
    "gsignal",
    "pthread_kill",
    "raise",
    "rust_begin_unwind",
    "std::panicking::",
    "std::process::abort",
    "std::sys::",
];

impl Frame {
    /// Returns whether this frame may belong to the code by which a runtime ends its process.
    pub(super) fn is_of_abort(&self) -> bool {
        match &self.function {
            Some(function) => ABORTING.iter().any(|start| function.starts_with(start)),
            None => self.module_name().is_some_and(|name| name.starts_with("libc.")),
        }
    }

    /// Returns the name of the file of the module.
    fn module_name(&self) -> Option<&str> {
        let module = self.module.as_deref()?;
        Some(module.rsplit_once('/').map_or(module, |(_, name)| name))
    }

    /// Returns the name of the function.
    pub(super) fn function(&self) -> &str {
        self.function.as_deref().unwrap_or("?")
    }

    /// Returns the place in the source, if it is known, else that in the module: ` at FILE:LINE`.
    pub(super) fn place(&self) -> String {
        match &self.location {
            Some(Location { file, line }) => format!(" at {file}:{line}"),
            None => self.address(),
        }
    }

    /// Returns the module and the address: ` (MODULE+ADDRESS)`.
    fn address(&self) -> String {
        match (self.module_name(), self.address.as_str()) {
            (Some(module), address) => format!(" ({module}+{address})"),
            (None, "") => String::new(),
            (None, address) => format!(" ({address})"),
        }
    }
}

impl fmt::Display for Frame {
    /// Writes all known parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.function(), self.place())?;
        self.location.iter().try_for_each(|_| f.write_str(&self.address()))
    }
}
