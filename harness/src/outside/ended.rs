//! The result of a process.

use crate::verdict::Outcome;
use crate::worker::parent::Attempt;

/// The result of a process.
pub struct Ended {
    /// The attempt at its test.
    pub attempt: Attempt,
    /// The crash or the hang of the process after the result.
    pub exit: Option<Outcome>,
}

impl Ended {
    /// Makes the result of a test whose process was not started.
    pub fn not_run(reason: String) -> Self {
        Self { attempt: Attempt::without_running(Outcome::NotRun { reason }), exit: None }
    }
}
