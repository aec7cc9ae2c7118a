//! Systems other than Linux: a connection of TCP within the machine, and streams that are polled.
//!
//! There is no process between runner and worker. The runner itself ends the processes that a worker has started, as
//! one [`Family`].

mod absent;
mod connecting;
mod received;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use absent::{
    AddressSpaceEnd, Baseline, Crash, LIMITS_MEMORY, LastWord, LeftBehind, RunningTest,
    finds_leaks, library_of_platform, report_crashes, report_crashes_first, report_exits,
    resident_memory, trim_heap, write_profile,
};
#[cfg(feature = "provision")]
pub use absent::{RUNS_WHEELS, processor};
use connecting::Meeting;
pub use connecting::become_worker;
use received::Received;
pub use system::{DRIVER_ADVICE, cpu, memory};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use super::{ExitCause, Source, Wakeup, exit_now};
use crate::result::not_run_reason::{NotRunReason, StopCause};
use crate::stacks::Stacks;
use system::Family;

/// The connection of runner and worker.
pub type Connection = TcpStream;

/// The interval between two polls of the streams and the end of a worker. Answers come without that wait.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The time after output in which more of it is polled for without a pause: a pipe holds little, and a worker that
/// writes much waits for the runner.
const OUTPUT_TIME: Duration = Duration::from_millis(1);

/// A wait of more than this time shows that this process was stopped.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The time that killed processes have to end.
const END_LIMIT: Duration = Duration::from_secs(3);

/// A child process, and the runner's ends of its connection and of its standard output and error.
///
/// A drop ends it, and all processes that it has started.
pub struct Process {
    child: Mutex<Child>,
    /// Set when the child has ended and is reaped.
    status: OnceLock<ExitStatus>,
    id: u32,
    family: Family,
    /// `None` if the child ended before it connected.
    connection: Option<TcpStream>,
    received: Arc<Received>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// True if the last wait found output.
    had_output: bool,
}

impl Process {
    /// Starts `command`, and waits until it is connected or has ended.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        let family = Family::new()?;
        let meeting = Meeting::new()?;
        meeting.announce(&mut command);
        Family::prepare(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut process = Self {
            id: child.id(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child: Mutex::new(child),
            status: OnceLock::new(),
            family,
            connection: None,
            received: Arc::default(),
            had_output: false,
        };
        // From here on an error ends the child.
        process.family.add(&process.child())?;
        process.connection = meeting.wait_for(|| process.status().is_some())?;
        match &process.connection {
            Some(connection) => {
                let (connection, received) = (connection.try_clone()?, process.received.clone());
                thread::Builder::new()
                    .name("clmatrix-answers".to_owned())
                    .spawn(move || received.take_all(connection))?;
            }
            None => process.received.close(),
        }
        Ok(process)
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Sends bytes to the worker. They are lost if the worker has ended; the next wait reports its end.
    pub fn send(&mut self, bytes: &[u8]) {
        if let Some(connection) = &mut self.connection {
            let _ = connection.write_all(bytes);
        }
    }

    /// Does nothing: the memory of workers is not limited here.
    pub fn limit_memory(&mut self, _limit: Option<u64>) {}

    /// Returns `None`.
    pub fn memory_excess(&self) -> Option<u64> {
        None
    }

    /// Returns `None`.
    pub fn processor_time(&self) -> Option<Duration> {
        None
    }

    /// Waits until something can be read, the deadline passes or the run is stopped. The deadline moves by the time
    /// in which this process was stopped.
    pub fn wait(&mut self, deadline: &mut Instant, stop: &StopSignal) -> Wakeup {
        let begin = Instant::now();
        loop {
            if stop.is_set() {
                return Wakeup::Stopped;
            }
            let (output, death) = (self.has_output(), self.status().is_some());
            if output || death || self.received.is_ready() {
                self.had_output = output;
                return Wakeup::Ready { output, death };
            }
            let now = Instant::now();
            let left = deadline.saturating_duration_since(now);
            if left.is_zero() {
                return Wakeup::Deadline;
            }
            if self.had_output && now - begin < OUTPUT_TIME {
                thread::yield_now();
                continue;
            }
            self.received.wait(left.min(LOOK_INTERVAL));
            let waited = now.elapsed();
            if waited > STANDSTILL {
                *deadline += waited;
            }
        }
    }

    /// Returns whether standard output or error has bytes or an end of file.
    pub fn has_output(&self) -> bool {
        self.stdout.as_ref().is_some_and(system::is_readable)
            || self.stderr.as_ref().is_some_and(system::is_readable)
    }

    /// Reads the available bytes; `Some(0)` at the end of file, `None` if there are none yet.
    pub fn read(&mut self, source: Source, buffer: &mut [u8]) -> Option<usize> {
        match source {
            Source::Socket => self.received.read(buffer),
            Source::Stdout => read(&mut self.stdout, system::is_readable, buffer),
            Source::Stderr => read(&mut self.stderr, system::is_readable, buffer),
        }
    }

    /// Returns whether it has closed its standard output or error.
    pub fn has_closed_a_stream(&self) -> bool {
        self.stdout.is_none() || self.stderr.is_none()
    }

    /// Returns the reason why there are no stacks, and false.
    pub fn take_stacks(&self, _crash: Option<Crash>) -> (Stacks, bool) {
        (Stacks::none(format_args!("not available on {}", std::env::consts::OS)), false)
    }

    /// Does nothing: no crash waits for the runner.
    pub fn go_on(&self, _crash: &Crash) {}

    /// Returns the exit cause of the worker, if it has ended. The answers that the worker has sent are received then.
    pub(super) fn ending(&self) -> Option<ExitCause> {
        let status = self.status()?;
        self.received.is_closed().then(|| system::exit_cause(status))
    }

    /// Returns the exit status of the child, if it has ended, after it has killed the processes that the child started.
    fn status(&self) -> Option<ExitStatus> {
        let mut child = self.child();
        if self.status.get().is_none() && system::has_ended(&mut child) {
            // The id of a reaped process may become that of another one.
            self.family.kill();
            let _ = child.wait().map(|status| self.status.set(status));
        }
        self.status.get().copied()
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the worker and all processes that it started.
    pub(super) fn end(&mut self) {
        if self.status().is_none() {
            self.family.kill();
            // The family may not have it yet.
            let _ = self.child().kill();
        }
        if let Some(connection) = &self.connection {
            let _ = connection.shutdown(Shutdown::Both);
        }
        let deadline = Instant::now() + END_LIMIT;
        while self.status().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads the available bytes of a stream, which becomes `None` at its end: a closed pipe would be ready forever.
fn read<S: Read>(
    stream: &mut Option<S>,
    is_readable: fn(&S) -> bool,
    buffer: &mut [u8],
) -> Option<usize> {
    let its = stream.as_mut().filter(|stream| is_readable(stream))?;
    let count = match its.read(buffer) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return None,
        Err(_) => 0,
        Ok(count) => count,
    };
    if count == 0 {
        *stream = None;
    }
    Some(count)
}

/// Set when the run must stop.
pub struct StopSignal(Arc<Stop>);

/// The other end of a [`StopSignal`].
pub struct StopSwitch(Arc<Stop>);

#[derive(Default)]
struct Stop {
    reason: OnceLock<StopCause>,
    lock: Mutex<()>,
    thrown: Condvar,
}

/// Creates a signal and its switch.
pub fn stop_signal() -> io::Result<(StopSignal, StopSwitch)> {
    let stop = Arc::<Stop>::default();
    Ok((StopSignal(stop.clone()), StopSwitch(stop)))
}

impl StopSignal {
    /// Returns whether the switch has been thrown.
    pub fn is_set(&self) -> bool {
        self.0.reason.get().is_some()
    }

    /// Waits for a time, or until the switch is thrown.
    pub fn wait(&self, time: Duration) {
        let lock = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.0.thrown.wait_timeout_while(lock, time, |()| !self.is_set());
    }

    /// Returns the cause of the stop.
    pub fn cause(&self) -> Option<StopCause> {
        self.0.reason.get().copied()
    }

    /// Returns the reason why a test was not run since the run was stopped.
    pub fn not_run(&self) -> NotRunReason {
        NotRunReason::Stopped { by: self.cause().unwrap_or(StopCause::Signal) }
    }
}

impl StopSwitch {
    /// Stops the run. Returns false if it was stopped before: the first cause counts.
    pub fn stop(&self, cause: StopCause) -> bool {
        let _lock = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = self.0.reason.set(cause).is_ok();
        self.0.thrown.notify_all();
        is_first
    }
}

/// Runs another program and ends with its exit status: no process can become another one here. Returns the error if
/// the program cannot be started.
pub fn become_program(command: &mut Command) -> io::Error {
    match command.stdin(Stdio::null()).status() {
        Ok(status) => exit_now(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// Does nothing: the caller waits in `read`.
pub fn wait_for_bytes(_connection: &Connection) {}
