//! The children of a process, from `/proc`.

use std::fs;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, getpid};

/// A child of a process.
///
/// A child that has ended keeps its id until a thread of this process waits for it. Then the kernel may
/// give the id to another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildProcess {
    /// The process id.
    pub pid: Pid,
    /// The name of its executable, cut to 15 bytes by the kernel.
    pub name: String,
    /// True if it has ended and was not waited for.
    pub has_ended: bool,
}

impl ChildProcess {
    /// Returns the children of this process; none where `/proc` cannot be read. It reads a file for each
    /// process of the machine.
    pub fn all() -> Vec<Self> {
        Self::all_of(getpid())
    }

    /// Returns the children of a process; none where `/proc` cannot be read.
    pub fn all_of(parent: Pid) -> Vec<Self> {
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        processes
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|pid: i32| {
                let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
                Self::child_of(parent, pid, &String::from_utf8_lossy(&stat))
            })
            .collect()
    }

    /// Reads `PID (NAME) STATE PARENT ...`; `None` for a process with another parent.
    fn child_of(parent: Pid, pid: i32, stat: &str) -> Option<Self> {
        // A name may contain parentheses.
        let (head, tail) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = tail.split_whitespace();
        let state = fields.next()?;
        let its_parent: i32 = fields.next()?.parse().ok()?;
        (its_parent == parent.as_raw()).then(|| Self {
            pid: Pid::from_raw(pid),
            name: name.to_owned(),
            has_ended: matches!(state, "Z" | "X"),
        })
    }
}

/// Kills a process, if it is still a child of this process.
pub fn kill_child(pid: Pid) {
    if is_parent_of(Id::Pid(pid)) {
        let _ = kill(pid, Signal::SIGKILL);
    }
}

/// Returns whether this process has such a child, running or ended.
pub fn is_parent_of(child: Id) -> bool {
    let flags = WaitPidFlag::WEXITED
        | WaitPidFlag::WNOHANG
        | WaitPidFlag::WNOWAIT
        // A child that was cloned may send another signal than SIGCHLD at its end.
        | WaitPidFlag::__WALL;
    waitid(child, flags) != Err(Errno::ECHILD)
}

/// Returns the sum of a number of all processes below one.
pub(super) fn sum_below(parent: Pid, number: fn(Pid) -> Option<u64>) -> u64 {
    let below = |child: Pid| number(child).unwrap_or_default() + sum_below(child, number);
    children(parent).into_iter().map(below).sum()
}

fn children(parent: Pid) -> Vec<Pid> {
    // Kernels without CONFIG_PROC_CHILDREN have no such file.
    if !Path::new("/proc/thread-self/children").exists() {
        return ChildProcess::all_of(parent).into_iter().map(|child| child.pid).collect();
    }
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    // The kernel writes a blank after each id.
    let list: String = threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .collect();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_no_child_is_not_killed() {
        let mut sleep = std::process::Command::new("sleep").arg("1000").spawn().expect("it starts");
        // The signal would end this process.
        kill_child(getpid());
        kill_child(Pid::from_raw(sleep.id().cast_signed()));
        let status = sleep.wait().expect("it is a child");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }

    #[test]
    fn a_name_may_look_like_the_rest_of_the_line() {
        let child = |stat| ChildProcess::child_of(Pid::from_raw(7), 9, stat);
        let named = |name: &str, has_ended| {
            Some(ChildProcess { pid: Pid::from_raw(9), name: name.to_owned(), has_ended })
        };
        assert_eq!(child("9 (sleep) S 7 7 7 0"), named("sleep", false));
        assert_eq!(child("9 (a) Z 8 (b)) Z 7 7 7 0"), named("a) Z 8 (b)", true));
        assert_eq!(child("9 (sleep) S 8 7 7 0"), None);
        assert_eq!(child(""), None);
    }
}
