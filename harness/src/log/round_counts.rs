//! The counts of the rounds of a test.

use std::fmt;
use std::time::SystemTime;

/// The rounds of a test over which its result was summed up.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundCounts {
    /// The number of rounds in which the test passed.
    pub passed: usize,
    /// The number of rounds in which the test ran.
    pub ran: usize,
    /// The round of the result, from 1.
    pub decisive: usize,
    /// The first start.
    pub start: SystemTime,
    /// The last end.
    pub end: SystemTime,
}

impl fmt::Display for RoundCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "passed {} of {}", self.passed, self.ran)?;
        if self.passed < self.ran {
            write!(f, ", went wrong in round {}", self.decisive)
        } else {
            Ok(())
        }
    }
}
