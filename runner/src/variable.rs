//! The environment variables of this process.
//!
//! No other module of the runner and the command reads one; the lint `disallowed_methods` sees to that. `os` alone does.

#![allow(clippy::disallowed_methods)]

use std::env;
use std::ffi::OsString;

/// A variable with a value that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{name} is {value:?}: {expected}")]
pub struct VariableError {
    /// The variable.
    pub name: &'static str,
    /// Its value; U+FFFD stands for what is no text.
    pub value: String,
    /// The values that can be used.
    pub expected: String,
}

/// Returns the value of a variable as it is.
pub fn value(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// Returns the value of a variable, such as a path; an empty one counts as unset.
pub fn given(name: &str) -> Option<OsString> {
    value(name).filter(|value| !value.is_empty())
}

/// Returns the value of a variable as text, in which U+FFFD stands for all that is not UTF-8.
pub fn lossy(name: &str) -> Option<String> {
    value(name).map(|value| value.to_string_lossy().into_owned())
}

/// Returns the text of a variable that another program has set; one that is empty or not UTF-8 counts as unset.
pub fn text(name: &str) -> Option<String> {
    given(name)?.into_string().ok()
}

/// Returns all variables.
pub fn all() -> env::VarsOs {
    env::vars_os()
}

/// Returns the text of a variable of the user's; an empty one counts as unset.
///
/// # Errors
///
/// The value is not UTF-8.
pub fn text_variable(name: &'static str) -> Result<Option<String>, VariableError> {
    let value = given(name);
    let text = value.map(|value| value.into_string());
    text.transpose().map_err(|value| VariableError {
        name,
        value: value.to_string_lossy().into_owned(),
        expected: "a text in UTF-8 is expected".to_owned(),
    })
}
