//! Processes on Unix systems other than Linux.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgrp};

use crate::os::ExitCause;

/// Advice for a machine without a driver.
pub const DRIVER_ADVICE: &str = "install a driver";

/// The interval between two checks of a connection with unread bytes.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A worker and the processes that it starts: a process group.
pub struct Family(OnceLock<Pid>);

impl Family {
    /// Creates an empty family.
    pub fn new() -> io::Result<Self> {
        Ok(Self(OnceLock::new()))
    }

    /// Makes the child the leader of a process group.
    pub fn prepare(command: &mut Command) {
        command.process_group(0);
    }

    /// Adds a child, and with it all processes that it starts.
    pub fn add(&self, child: &Child) -> io::Result<()> {
        self.0.get_or_init(|| Pid::from_raw(child.id().cast_signed()));
        Ok(())
    }

    /// Kills all processes of the family.
    pub fn kill(&self) {
        if let Some(group) = self.0.get() {
            let _ = killpg(*group, Signal::SIGKILL);
        }
    }
}

/// Returns whether a read of this stream returns bytes or the end at once; false after the end.
pub fn is_readable(stream: &Option<impl AsFd>) -> bool {
    let Some(stream) = stream else { return false };
    let mut streams = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    poll(&mut streams, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// Returns whether a process has ended. Does not reap it, so that its id stays its own.
pub fn has_ended(child: &mut Child) -> bool {
    let mut end = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the call writes to the structure. Where the process runs, the structure stays as it is.
    unsafe {
        libc::waitid(libc::P_PID, child.id(), end.as_mut_ptr(), flags) == 0
            && end.assume_init().si_signo != 0
    }
}

/// Returns the cause of the end of a process.
pub fn exit_cause(status: ExitStatus) -> ExitCause {
    match status.signal() {
        Some(signal) => ExitCause::Signalled(
            Signal::try_from(signal).map_or("a signal", Signal::as_str).to_owned(),
        ),
        None => ExitCause::Exited(status.code().unwrap_or_default()),
    }
}

/// Does nothing: a crash opens no window.
pub fn leave_crashes_to_the_runner() {}

/// Kills the family of this process when its runner has ended.
pub fn end_with_the_runner(connection: &TcpStream) -> io::Result<()> {
    let connection = connection.try_clone()?;
    let watch = move || {
        // Unread bytes come from a runner that is still running.
        loop {
            match connection.peek(&mut [0]) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
                _ => thread::sleep(LOOK_INTERVAL),
            }
        }
        let _ = killpg(getpgrp(), Signal::SIGKILL);
    };
    thread::Builder::new().name("clmatrix-runner".to_owned()).spawn(watch).map(drop)
}

/// Returns `None`: the model of the processor is not queried.
pub fn cpu() -> Option<String> {
    None
}

/// Returns `None`: the memory of the machine is not queried.
pub fn memory() -> Option<u64> {
    None
}
