//! The repetition of the tests of a run.

use std::time::Duration;

use humantime::format_duration;

/// The rounds of each device over its tests; by default one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeat {
    /// The most rounds; `None`: one, or as many as the other conditions allow.
    pub rounds: Option<u32>,
    /// The time after which no test is started.
    pub time: Option<Duration>,
    /// True if a device ends with its first unexpected result.
    pub until_fail: bool,
}

impl Repeat {
    /// Returns whether there may be more than one round.
    pub(super) fn is_on(&self) -> bool {
        self.most() > 1
    }

    /// The most rounds.
    pub(super) fn most(&self) -> u32 {
        let is_endless = self.time.is_some() || self.until_fail;
        self.rounds.unwrap_or(if is_endless { u32::MAX } else { 1 })
    }

    /// Returns the reason why a device starts no more tests.
    pub(super) fn end(&self, elapsed: Duration, has_failed: bool) -> Option<String> {
        if self.until_fail && has_failed {
            return Some("--until-fail: a result on this device was unexpected".to_owned());
        }
        let time = self.time.filter(|time| elapsed >= *time)?;
        Some(format!("the time of --for has passed: {}", format_duration(time)))
    }
}
