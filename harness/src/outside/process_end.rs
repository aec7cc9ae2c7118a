//! The end of a process of another program.

use crate::verdict::Outcome;
use crate::worker::ran::Ran;

/// The end of a process of another program.
pub struct ProcessEnd {
    /// The attempt at its test.
    pub ran: Ran,
    /// The crash or the hang of the process after the result.
    pub exit: Option<Outcome>,
}

impl ProcessEnd {
    /// Makes the end of a test whose process was not started.
    pub fn not_run(reason: String) -> Self {
        Self { ran: Ran::without_process(Outcome::NotRun { reason }), exit: None }
    }
}
