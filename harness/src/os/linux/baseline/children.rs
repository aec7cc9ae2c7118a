use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
use nix::unistd::Pid;

use super::LeftBehind;
use crate::os::linux::child_process::ChildProcess;
use crate::os::linux::keeper::REAP_LIMIT;

/// How long a child may go on after its test: a driver may still compile or link for a command
/// that the test did not wait for.
const GRACE: Duration = Duration::from_millis(200);

/// How often the children are looked at while they may go on.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The children of this process that are not a test's.
///
/// This process is the parent of each descendant whose own parent has ended, so the children are
/// all processes that a test has left, except for their own children.
pub struct Children {
    /// Those that the driver started before the first test.
    known: Vec<Pid>,
    /// Those that had ended at the last look. A driver's thread may be about to wait for one.
    ended: Vec<Pid>,
}

impl Children {
    pub fn now() -> Self {
        let known = ChildProcess::all().into_iter().map(|child| child.pid).collect();
        Self { known, ended: Vec::new() }
    }

    /// Kills the children that a test has left, and waits for those that have ended.
    pub fn end_others(&mut self, left: &mut LeftBehind) {
        if !has_children() {
            return;
        }
        let deadline = Instant::now() + GRACE;
        while self.others().any(|child| !child.has_ended) && Instant::now() < deadline {
            sleep(LOOK_INTERVAL);
        }
        self.kill_others(left);
        self.reap_ended();
    }

    fn others(&self) -> impl Iterator<Item = ChildProcess> {
        ChildProcess::all().into_iter().filter(|child| !self.known.contains(&child.pid))
    }

    /// Kills the others, and then their children, which become children of this process.
    fn kill_others(&self, left: &mut LeftBehind) {
        let deadline = Instant::now() + REAP_LIMIT;
        let mut killed: Vec<ChildProcess> = Vec::new();
        let running = loop {
            let running: Vec<_> = self.others().filter(|child| !child.has_ended).collect();
            if running.is_empty() || Instant::now() >= deadline {
                break running;
            }
            for child in &running {
                if !killed.iter().any(|known| known.pid == child.pid) {
                    let _ = kill(child.pid, Signal::SIGKILL);
                    killed.push(child.clone());
                }
            }
            sleep(Duration::from_millis(1));
        };
        for ChildProcess { pid, name, .. } in killed {
            let is_gone = !running.iter().any(|child| child.pid == pid);
            let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
            left.add(format!("process {pid} ({name})"), is_gone);
        }
    }

    /// Waits for children that had ended at the last look already: by now no thread of a driver is
    /// about to wait for them.
    fn reap_ended(&mut self) {
        let ended: Vec<Pid> =
            self.others().filter(|child| child.has_ended).map(|child| child.pid).collect();
        let (old, new) = ended.into_iter().partition(|pid| self.ended.contains(pid));
        self.ended = new;
        let old: Vec<Pid> = old;
        for pid in old {
            let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
        }
    }
}

fn has_children() -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::All, flags) != Err(Errno::ECHILD)
}
