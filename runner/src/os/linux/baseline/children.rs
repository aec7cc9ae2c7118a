use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::wait::{Id, WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::LeftBehind;
use crate::os::linux::child_process::{ChildProcess, is_parent_of, kill_child};
use crate::os::linux::keeper::REAP_LIMIT;

/// The time that a child may run after its test: a driver may still compile or link for a command
/// that the test did not wait for.
const GRACE: Duration = Duration::from_secs(1);

/// The interval between two checks of running children.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The children of this process that are not a test's.
///
/// This process is the parent of each descendant whose own parent has ended, so its children are all processes that a
/// test has left, except for their own children.
pub struct Children {
    /// The children that the driver started before the first test.
    known: Vec<Pid>,
    /// The children that had ended at the last check. A driver's thread may be about to wait for one.
    ended: Vec<Pid>,
}

impl Children {
    pub fn now() -> Self {
        let mut children = Self { known: Vec::new(), ended: Vec::new() };
        children.keep();
        children
    }

    /// Records all present children as the driver's or the worker's own.
    pub fn keep(&mut self) {
        let children = if is_parent_of(Id::All) { ChildProcess::all() } else { Vec::new() };
        self.known = children.into_iter().map(|child| child.pid).collect();
    }

    /// Kills the children that a test has left, and waits for those that have ended.
    pub fn end_others(&mut self, left: &mut LeftBehind) {
        if !is_parent_of(Id::All) {
            return;
        }
        let deadline = Instant::now() + GRACE;
        let mut others = self.others();
        while has_running(&others) && Instant::now() < deadline {
            sleep(LOOK_INTERVAL);
            others = self.others();
        }
        let others = self.kill(others, left);
        self.reap(&others);
    }

    /// Returns the children that are not known.
    fn others(&self) -> Vec<ChildProcess> {
        let mut children = ChildProcess::all();
        children.retain(|child| !self.known.contains(&child.pid));
        children
    }

    /// Kills `others`, and then their children, which become children of this process. Returns the
    /// others that are left.
    fn kill(&self, mut others: Vec<ChildProcess>, left: &mut LeftBehind) -> Vec<ChildProcess> {
        let deadline = Instant::now() + REAP_LIMIT;
        let mut killed: Vec<ChildProcess> = Vec::new();
        while has_running(&others) && Instant::now() < deadline {
            for child in others.into_iter().filter(|child| !child.has_ended) {
                if !killed.iter().any(|known| known.pid == child.pid) {
                    kill_child(child.pid);
                    killed.push(child);
                }
            }
            sleep(Duration::from_millis(1));
            others = self.others();
        }
        for ChildProcess { pid, name, .. } in killed {
            let is_gone = !others.iter().any(|child| child.pid == pid && !child.has_ended);
            let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
            left.add(format!("process {pid} ({name})"), is_gone);
        }
        others
    }

    /// Waits for children that had already ended at the last check: by now, no thread of a driver is about to wait
    /// for them.
    fn reap(&mut self, others: &[ChildProcess]) {
        let ended = others.iter().filter(|child| child.has_ended).map(|child| child.pid);
        let (old, new): (Vec<_>, Vec<_>) = ended.partition(|pid| self.ended.contains(pid));
        self.ended = new;
        for pid in old {
            let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
        }
    }
}

fn has_running(children: &[ChildProcess]) -> bool {
    children.iter().any(|child| !child.has_ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_ends_without_a_signal_is_known() {
        // SAFETY: this is `fork` without a signal at the end of the child, which only waits for its end.
        let pid = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
        if pid == 0 {
            loop {
                // SAFETY: the call takes no arguments.
                unsafe { libc::pause() };
            }
        }
        let pid = Pid::from_raw(i32::try_from(pid).expect("a process id"));
        let known = Children::now().known;
        kill_child(pid);
        waitpid(pid, Some(WaitPidFlag::__WALL)).expect("it is a child");
        assert!(known.contains(&pid), "{known:?} without {pid}");
    }
}
