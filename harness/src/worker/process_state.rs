//! The process of a worker after a test.

use serde::{Deserialize, Serialize};

/// The state in which a test has left the process of its worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessState {
    /// The objects of the driver that the test left behind, a line each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaks: Vec<String>,
    /// True if each change is undone.
    pub is_as_before: bool,
    /// True if the worker has looked for objects of the test in the driver, and found none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_left_nothing: bool,
    /// True if the test had a context that another test had before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_reused_context: bool,
    /// True if the worker keeps a context that a test has had.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_used_context: bool,
}
