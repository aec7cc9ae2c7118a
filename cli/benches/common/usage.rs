//! Time and memory of a process.

use std::fmt;
use std::str::FromStr;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The resources that a process has used, without its children.
#[derive(Clone, Copy)]
pub struct Usage {
    /// The CPU time of all its threads in seconds.
    pub cpu: f64,
    /// Its peak memory in MB.
    pub memory: f64,
}

impl Usage {
    /// The usage of this process up to now.
    pub fn now() -> Self {
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the call takes no pointer");
        let time = usage.user_time() + usage.system_time();
        // In units of 1024 bytes.
        let kib = usage.max_rss() as f64;
        Self { cpu: time.num_microseconds() as f64 / 1e6, memory: kib * 1024.0 / 1e6 }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.cpu, self.memory)
    }
}

impl FromStr for Usage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = text.split(' ').map(|number| number.parse().map_err(|_| text.to_owned()));
        let mut next = || numbers.next().unwrap_or_else(|| Err(text.to_owned()));
        Ok(Self { cpu: next()?, memory: next()? })
    }
}
