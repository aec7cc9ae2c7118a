//! An unfinished run that goes on, as far as it has come.

use std::path::PathBuf;
use std::time::Duration;

use crate::log::sum::Sum;

/// An unfinished run that goes on.
pub struct ResumedRun {
    /// Its id.
    pub run_id: String,
    /// The sum of its events.
    pub sum: Sum,
    /// Its logs, the oldest first.
    pub files: Vec<PathBuf>,
    /// Wall time of its parts.
    pub duration: Duration,
    /// The number of its workers.
    pub workers: u32,
    /// The differences from the run so far that were accepted.
    pub differences: Vec<String>,
}
