//! The limit of a process's resident memory.

use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::child_process::ChildProcess;
use super::resident_memory_in;

/// The time between two looks at the memory.
pub(super) const INTERVAL: Duration = Duration::from_millis(50);

/// The limit of the resident memory of a keeper's child, and its excess.
pub(super) struct MemoryLimit {
    /// In bytes.
    limit: u64,
    keeper: Pid,
    /// The file in which the kernel counts the memory; `None` before the keeper has started the process.
    statm: Option<String>,
    looked: Option<Instant>,
    excess: Option<u64>,
}

impl MemoryLimit {
    pub fn new(limit: u64, keeper: Pid) -> Self {
        Self { limit, keeper, statm: None, looked: None, excess: None }
    }

    /// Returns the memory that was more than the limit, in bytes.
    pub fn excess(&self) -> Option<u64> {
        self.excess
    }

    /// Looks at the memory if it is time to. Returns true once, when it is more than the limit.
    pub fn is_exceeded_now(&mut self) -> bool {
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= INTERVAL);
        if !is_due || self.excess.is_some() {
            return false;
        }
        self.looked = Some(Instant::now());
        if self.statm.is_none() {
            let children = ChildProcess::all_of(self.keeper);
            self.statm = children.first().map(|child| format!("/proc/{}/statm", child.pid));
        }
        let memory = self.statm.as_deref().and_then(resident_memory_in);
        self.excess = memory.filter(|memory| *memory > self.limit);
        self.excess.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use nix::sys::signal::{Signal, killpg};

    use super::*;

    #[test]
    fn an_excess_is_seen_once() {
        // A process of its own, whose children other tests do not start.
        let mut keeper = Command::new("sh");
        keeper.args(["-c", "sleep 60 & echo; wait"]).stdout(Stdio::piped()).process_group(0);
        let mut keeper = keeper.spawn().expect("a shell");
        let stdout = keeper.stdout.as_mut().expect("a pipe");
        stdout.read_exact(&mut [0]).expect("the shell has started its child");
        let pid = Pid::from_raw(keeper.id().cast_signed());
        let mut limit = MemoryLimit::new(1 << 10, pid);
        assert!(limit.is_exceeded_now() && !limit.is_exceeded_now());
        assert!(limit.excess().is_some_and(|excess| excess > 1 << 10));
        let mut enough = MemoryLimit::new(u64::MAX, pid);
        assert!(!enough.is_exceeded_now() && enough.excess().is_none());
        killpg(pid, Signal::SIGKILL).expect("the group ends");
        keeper.wait().expect("the shell ends");
    }
}
