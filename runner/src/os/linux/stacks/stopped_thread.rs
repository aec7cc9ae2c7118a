use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::Registers;

/// The interval between two checks of a thread that will stop.
const LOOK_INTERVAL: Duration = Duration::from_micros(200);

/// A thread of another process that this thread traces and stops, until this is dropped.
pub struct StoppedThread {
    pub id: Pid,
    /// A signal that came before the stop. It is delivered when the thread is resumed.
    signal: Option<Signal>,
}

impl StoppedThread {
    /// Asks a thread to stop.
    ///
    /// # Errors
    ///
    /// `EPERM` where tracing is not permitted, and `ESRCH` if the thread has ended.
    pub fn seize(id: Pid) -> nix::Result<Self> {
        ptrace::seize(id, ptrace::Options::empty())?;
        let thread = Self { id, signal: None };
        ptrace::interrupt(id)?;
        Ok(thread)
    }

    /// Waits until the thread has stopped.
    ///
    /// # Errors
    ///
    /// `ETIMEDOUT`, and `ESRCH` if the thread has ended.
    pub fn wait(&mut self, deadline: Instant) -> nix::Result<()> {
        loop {
            match waitpid(self.id, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL))? {
                WaitStatus::PtraceEvent(..) => return Ok(()),
                WaitStatus::Stopped(_, signal) => {
                    self.signal = Some(signal);
                    return Ok(());
                }
                WaitStatus::Exited(..) | WaitStatus::Signaled(..) => return Err(Errno::ESRCH),
                _ if Instant::now() > deadline => return Err(Errno::ETIMEDOUT),
                _ => thread::sleep(LOOK_INTERVAL),
            }
        }
    }

    /// Returns the registers of the thread, which has stopped.
    ///
    /// # Errors
    ///
    /// `ESRCH` if the thread has ended.
    pub fn registers(&self) -> nix::Result<Registers> {
        ptrace::getregs(self.id).map(|registers| Registers::of_thread(&registers))
    }
}

impl Drop for StoppedThread {
    fn drop(&mut self) {
        // A thread that has not stopped is detached when the tracing thread ends.
        let _ = ptrace::detach(self.id, self.signal);
    }
}
