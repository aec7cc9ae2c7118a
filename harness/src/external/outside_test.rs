//! A test of another program.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::program::Program;

/// A test in the list of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub name: String,
    pub is_ignored: bool,
}

/// A test of another program.
pub struct OutsideTest {
    /// The program.
    pub(crate) program: Arc<Program>,
    /// The name by which the program knows the test; or the reason why its tests are unknown, which is
    /// the failure of the test `list`.
    pub(crate) name: Result<String, String>,
    /// True if the program marks the test as ignored.
    pub(crate) is_ignored: bool,
}

impl OutsideTest {
    /// Returns the id without its device: `SUITE::PROGRAM::TEST`.
    pub fn path(&self) -> String {
        let test = self.name.as_deref().unwrap_or("list");
        let Program { suite, name, .. } = &*self.program;
        match name {
            Some(name) => format!("{}::{name}::{test}", suite.name),
            None => format!("{}::{test}", suite.name),
        }
    }

    /// Returns why the tests of the program are unknown, if this is the test `list`.
    pub fn list_error(&self) -> Option<&str> {
        self.name.as_ref().err().map(String::as_str)
    }
}
