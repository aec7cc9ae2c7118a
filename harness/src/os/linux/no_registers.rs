//! Registers where no stacks are unwound.

use serde::{Deserialize, Serialize};

/// The registers of a thread, which nothing needs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registers {}

impl Registers {
    /// Returns nothing.
    pub fn of_signal(_context: &libc::ucontext_t) -> Self {
        Self {}
    }
}
