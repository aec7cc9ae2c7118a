//! The keeper: the parent of a worker, which ends all processes that outlive the worker.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid, setpgid};

use super::child_process::{ChildProcess, kill_child};
use super::profile::write_function;
use crate::os::exit_now;

/// The time that killed processes have to end. A process that hangs in the kernel takes longer.
pub const REAP_LIMIT: Duration = Duration::from_secs(2);

/// The interval between two checks of the worker where the kernel has no process descriptors.
const LOOK_INTERVAL: u16 = 100;

/// Splits this process into a keeper and a worker; returns in the worker only.
///
/// The keeper is the process that the runner started. It waits until the worker ends or the runner closes the
/// connection. Then it kills the worker and all processes that the worker's tests have started, and ends with the
/// worker's exit cause.
///
/// The kernel makes the keeper the parent of each descendant whose own parent has ended
/// (`PR_SET_CHILD_SUBREAPER`), even of one that left its session and process group. No other
/// process becomes a child of the keeper, so the keeper kills no process of another program. The
/// keeper does its work when the worker crashes, and when the runner is killed.
///
/// # Errors
///
/// The errors of `fork`, `prctl` and `setpgid`.
///
/// Call it before another thread exists.
pub fn split(connection: &UnixStream) -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    // Where SIGCHLD is ignored, the kernel discards the exit status of a child.
    set_default(libc::SIGCHLD);
    let keeper = getpid();
    // SAFETY: the constructor that calls this runs before any other thread exists, so the child may make the same
    // calls as this process.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => keep(child, connection),
        ForkResult::Child => {
            // Signals that a test sends to its own group do not reach the keeper.
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            // A test's orphans become children of the worker, which finds them after the test.
            prctl::set_child_subreaper(true)?;
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            if getppid() != keeper {
                exit_now(1);
            }
            Ok(())
        }
    }
}

fn keep(worker: Pid, connection: &UnixStream) -> ! {
    let _ = prctl::set_name(c"clmatrix-keeper");
    let _ = SigSet::all().thread_block();
    close_streams();
    let death = death_of(worker);
    let ending = wait_for_end(worker, connection, death.as_ref());
    if ending.is_none() && write_function().is_some() {
        // An idle worker writes it when the connection is closed.
        wait_for_death(death.as_ref());
    }
    let deadline = Instant::now() + REAP_LIMIT;
    if ending.is_none() {
        kill_child(worker);
        wait_for_death(death.as_ref());
    }
    kill_children(deadline);
    end_like(ending)
}

/// Leaves the three streams to the worker, so that the runner sees the worker close one.
fn close_streams() {
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else { return };
    for stream in 0..=2 {
        // SAFETY: both descriptors are open, and this process reads and writes no stream.
        unsafe { libc::dup2(null.as_raw_fd(), stream) };
    }
}

/// Returns the wait status of the worker; `None` if the runner has closed the connection, or if there
/// is no such child.
fn wait_for_end(
    worker: Pid,
    connection: &UnixStream,
    death: Option<&OwnedFd>,
) -> Option<libc::c_int> {
    let timeout = death.map_or(PollTimeout::from(LOOK_INTERVAL), |_| PollTimeout::NONE);
    loop {
        // The kernel reports POLLHUP, the closing of the other end, without a request.
        let mut fds = vec![PollFd::new(connection.as_fd(), PollFlags::empty())];
        fds.extend(death.map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
        let _ = poll(&mut fds, timeout);
        let mut status = 0;
        // SAFETY: `status` is writable.
        match unsafe { libc::waitpid(worker.as_raw(), &mut status, libc::WNOHANG) } {
            0 => {}
            found => return (found > 0).then_some(status),
        }
        if fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) {
            return None;
        }
    }
}

/// Waits for the end of the worker where the kernel reports it. Most workers leave no processes. Then
/// `kill_children` does not read `/proc`.
fn wait_for_death(death: Option<&OwnedFd>) {
    if let Some(death) = death {
        // The rest of the limit is for the processes of a worker that hangs in the kernel.
        let timeout = PollTimeout::try_from(REAP_LIMIT / 2).expect("it is a second");
        let _ = poll(&mut [PollFd::new(death.as_fd(), PollFlags::POLLIN)], timeout);
    }
}

/// Kills the children of this process and then their children, which become children of this process.
fn kill_children(deadline: Instant) {
    while Instant::now() < deadline {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return,
            Ok(WaitStatus::StillAlive) => {
                ChildProcess::all().iter().for_each(|child| kill_child(child.pid));
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => {}
        }
    }
}

fn end_like(ending: Option<libc::c_int>) -> ! {
    let Some(status) = ending else { exit_now(0) };
    if libc::WIFEXITED(status) {
        exit_now(libc::WEXITSTATUS(status));
    }
    let signal = libc::WTERMSIG(status);
    set_default(signal);
    let _ = SigSet::empty().thread_set_mask();
    // SAFETY: the call takes a number.
    unsafe { libc::raise(signal) };
    exit_now(1)
}

fn set_default(signal: libc::c_int) {
    // SAFETY: the default action needs no handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Returns a descriptor that becomes readable when the process ends, where the kernel supports it (Linux 5.3).
pub fn death_of(pid: Pid) -> Option<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    // SAFETY: the kernel has just returned this descriptor, with close-on-exec set.
    i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}
