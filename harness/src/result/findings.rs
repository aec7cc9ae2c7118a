//! Facts about a test beside its outcome.

use serde::{Deserialize, Serialize};

/// The records of a test and its leftovers. The worker finds them; the log and the reports have them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    /// The properties that the test recorded by [`record_property`](crate::record_property).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<(String, String)>,
    /// The changes that the test left behind in its process, and the objects of the driver, a line each:
    /// `RLIMIT_NOFILE 1024 -> 0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// The resident memory of the worker after the test, in bytes. Absent if it differs by less than 1 MiB
    /// from the last one in the log.
    #[serde(rename = "resident_bytes", default, skip_serializing_if = "Option::is_none")]
    pub resident: Option<u64>,
}
