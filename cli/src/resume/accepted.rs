//! An unfinished run that may go on.

use clmatrix_harness::private::run::resumed_run::ResumedRun;

use super::unfinished::Unfinished;

/// An unfinished run that may go on.
pub(crate) struct Accepted {
    /// Its log and its results so far.
    pub(crate) unfinished: Unfinished,
    /// The differences from the run so far that were accepted.
    pub(crate) differences: Vec<String>,
}

impl From<Accepted> for ResumedRun {
    fn from(accepted: Accepted) -> Self {
        let Accepted { unfinished, differences } = accepted;
        Self { sum: unfinished.sum, differences }
    }
}
