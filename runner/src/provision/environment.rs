//! The variables that show OpenCL programs a driver.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use crate::variable;
use clap::ValueEnum;
use serde_json::{Map, Value};

/// The variables by which OpenCL loaders, and the crates that load them, find drivers.
pub const LOADER_VARIABLES: [&str; 3] =
    ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_DYLIB_PATH"];

/// The format in which variables are printed.
// The comments of the variants are shown by `--help`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Commands for a POSIX shell
    #[default]
    Sh,
    /// A JSON object
    Json,
}

/// Changes to the environment of a child process, or of a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Names with the value to set, or `None` to unset; each name once.
    changes: Vec<(String, Option<OsString>)>,
}

impl Environment {
    /// Returns an environment in which the loader finds no driver yet, whatever the variables of this
    /// process name.
    pub fn blank() -> Self {
        let is_set = |name: &&str| variable::value(name).is_some();
        Self::default().unset(LOADER_VARIABLES.into_iter().filter(is_set))
    }

    /// Unsets variables.
    pub fn unset(mut self, names: impl Iterator<Item = &'static str>) -> Self {
        self.changes.extend(names.map(|name| (name.into(), None)));
        self
    }

    /// Sets a variable, instead of an earlier change of it.
    pub fn set(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.changes.retain(|(other, _)| *other != name);
        self.changes.push((name.into(), Some(value.into())));
        self
    }

    /// Makes the changes for a child process.
    pub fn apply(&self, command: &mut Command) {
        for (name, value) in &self.changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Returns the changes: names with the value to set, or `None` to unset.
    pub(crate) fn changes(&self) -> Vec<(OsString, Option<OsString>)> {
        self.changes.iter().map(|(name, value)| (name.into(), value.clone())).collect()
    }

    /// Parses the text of [`to_json`](Self::to_json).
    ///
    /// # Errors
    ///
    /// The text has another form.
    pub fn from_json(text: &[u8]) -> serde_json::Result<Self> {
        let changes: Map<String, Value> = serde_json::from_slice(text)?;
        let changes = changes.into_iter();
        let changes = changes.map(|(name, value)| (name, value.as_str().map(OsString::from)));
        Ok(Self { changes: changes.collect() })
    }

    /// Returns the changes as text, with the end of the last line.
    pub fn to_text(&self, format: Format) -> String {
        match format {
            Format::Sh => self.to_shell(),
            Format::Json => format!("{:#}\n", self.to_json()),
        }
    }

    /// Returns the changes as commands for a POSIX shell, one a line.
    pub fn to_shell(&self) -> String {
        let line = |(name, value): &(String, Option<OsString>)| match value {
            Some(value) => format!("export {name}={}\n", quoted(value)),
            None => format!("unset {name}\n"),
        };
        self.changes.iter().map(line).collect()
    }

    /// Returns the changes as one JSON object; `null` marks a variable to unset.
    pub fn to_json(&self) -> Value {
        let text = |value: &OsString| value.to_string_lossy().into_owned();
        self.changes.iter().map(|(name, value)| (&**name, value.as_ref().map(text))).collect()
    }
}

/// Quotes a value for a POSIX shell: within single quotes only the quote itself is special.
fn quoted(value: &OsStr) -> String {
    format!("'{}'", value.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_one_entry_and_is_quoted() {
        let unset = ["OPENCL_DYLIB_PATH", "OCL_ICD_VENDORS"];
        let environment = Environment::default()
            .unset(unset.into_iter())
            .set("OCL_ICD_VENDORS", "/it's here")
            .set("PYOPENCL_HOME", "");
        assert_eq!(
            environment.to_text(Format::Sh),
            [
                "unset OPENCL_DYLIB_PATH\n",
                "export OCL_ICD_VENDORS='/it'\\''s here'\n",
                "export PYOPENCL_HOME=''\n",
            ]
            .concat()
        );
        let json = environment.to_text(Format::Json);
        let read = Environment::from_json(json.as_bytes()).unwrap();
        assert_eq!(read.to_json(), environment.to_json());
        assert_eq!(
            environment.to_json().to_string(),
            r#"{"OCL_ICD_VENDORS":"/it's here","OPENCL_DYLIB_PATH":null,"PYOPENCL_HOME":""}"#
        );
    }
}
