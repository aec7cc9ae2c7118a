//! An unfinished run that goes on, as far as it has come.

use crate::log::sum::Sum;

/// An unfinished run that goes on.
pub struct ResumedRun {
    /// The sum of its events.
    pub sum: Sum,
    /// The differences from the run so far that were accepted.
    pub differences: Vec<String>,
}
