//! A test in the list of a program.

use serde::{Deserialize, Serialize};

/// A test in the list of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub name: String,
    pub is_ignored: bool,
}
