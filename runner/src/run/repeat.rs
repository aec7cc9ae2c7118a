//! The repetition of the tests of a run.

use std::time::Duration;

/// The repetition of the tests of each device; by default none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeat {
    /// The number of times that each test runs; `None`: once, or as often as the other conditions allow.
    pub times: Option<u32>,
    /// The time after which no test is repeated.
    pub time: Option<Duration>,
    /// True if a device ends with its first unexpected result.
    pub until_fail: bool,
}

impl Repeat {
    /// Returns whether tests may run more than once.
    pub fn is_on(&self) -> bool {
        self.most() > 1
    }

    /// Returns the most times that a test runs.
    pub(super) fn most(&self) -> u32 {
        let is_endless = self.time.is_some() || self.until_fail;
        self.times.unwrap_or(if is_endless { u32::MAX } else { 1 })
    }
}
