//! The limit of the resident memory of a worker and the processes below it.

use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::child_process::sum_below;
use super::machine::bytes_of;
use super::resident_memory_in;

/// The time between two checks of the memory.
pub(super) const INTERVAL: Duration = Duration::from_millis(50);

/// The limit of the resident memory of all processes below a keeper, and its excess.
pub(super) struct MemoryLimit {
    /// In bytes.
    limit: u64,
    keeper: Pid,
    looked: Option<Instant>,
    /// The memory that was more than the limit, in bytes.
    pub excess: Option<u64>,
}

impl MemoryLimit {
    pub fn new(limit: u64, keeper: Pid) -> Self {
        Self { limit, keeper, looked: None, excess: None }
    }

    /// Checks the memory if a check is due. Returns true once, when it is more than the limit.
    pub fn is_exceeded_now(&mut self) -> bool {
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= INTERVAL);
        if !is_due || self.excess.is_some() {
            return false;
        }
        self.looked = Some(Instant::now());
        let is_more = |memory: &u64| *memory > self.limit;
        // The second check takes the kernel longer.
        self.excess = Some(sum_below(self.keeper, resident))
            .filter(is_more)
            .map(|_| sum_below(self.keeper, proportional))
            .filter(is_more);
        self.excess.is_some()
    }
}

fn resident(process: Pid) -> Option<u64> {
    resident_memory_in(&format!("/proc/{process}/statm"))
}

/// Returns the resident memory of a process, with its share of the memory that it shares with others.
fn proportional(process: Pid) -> Option<u64> {
    let rollup = format!("/proc/{process}/smaps_rollup");
    bytes_of(&rollup, "Pss").or_else(|| resident(process))
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
        assert!(limit.excess.is_some_and(|excess| excess > 1 << 10));
        let mut enough = MemoryLimit::new(u64::MAX, pid);
        assert!(!enough.is_exceeded_now() && enough.excess.is_none());
        killpg(pid, Signal::SIGKILL).expect("the group ends");
        keeper.wait().expect("the shell ends");
    }
}
