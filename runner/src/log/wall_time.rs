//! The wall time of a run.

use std::time::{Duration, SystemTime};

/// The wall time of a run so far, without the pauses before it was resumed.
#[derive(Clone, Copy, Debug)]
pub struct WallTime {
    /// The time at which the run began or was resumed.
    begin: SystemTime,
    /// The wall time before that.
    before: Duration,
    /// The wall time so far.
    pub total: Duration,
}

impl WallTime {
    /// The time of a run that begins.
    pub fn new(begin: SystemTime) -> Self {
        Self { begin, before: Duration::ZERO, total: Duration::ZERO }
    }

    /// Goes on after a pause.
    pub fn resume(&mut self, time: SystemTime) {
        (self.begin, self.before) = (time, self.total);
    }

    /// Takes the end of a test into account.
    pub fn extend_to(&mut self, end: SystemTime) {
        let part = end.duration_since(self.begin).unwrap_or_default();
        self.total = self.total.max(self.before + part);
    }
}
