//! Linux: a keeper for each worker, a socket on descriptor 0, `epoll`.

mod baseline;
mod child_process;
mod crash;
mod keeper;
mod library;
mod machine;
mod memory_limit;
mod profile;
mod sanitizer;
#[cfg_attr(
    not(all(feature = "stacks", any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "linux/no_stacks.rs"
)]
mod stacks;

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, SysconfVar, sysconf};

pub use baseline::Baseline;
use child_process::{ChildProcess, sum_below};
pub use crash::{Crash, report_crashes, report_crashes_first, report_exits, set_running_test};
use keeper::death_of;
pub use library::library_of_platform;
#[cfg(feature = "provision")]
pub use machine::processor;
pub use machine::{cpu, memory};
use memory_limit::MemoryLimit;
pub use profile::write_profile;
pub use sanitizer::finds_leaks;

use super::{ExitCause, Source, StopSignal, Wakeup, read_available};
use crate::stacks::Stacks;

/// True if the memory of workers is limited.
pub const LIMITS_MEMORY: bool = true;

/// Advice for a machine without a driver.
pub const DRIVER_ADVICE: &str = "install a driver (on Debian: pocl-opencl-icd for the CPU), or name the folder of its \
                                  .icd file in OCL_ICD_VENDORS";

/// True if this machine runs the wheels with OpenCL drivers, all of them for x86-64 Linux with glibc.
#[cfg(feature = "provision")]
pub const RUNS_WHEELS: bool = cfg!(all(target_arch = "x86_64", target_env = "gnu"));

/// The connection of runner and worker.
pub type Connection = UnixStream;

/// A child process, and the runner's ends of its three descriptors.
///
/// Its descriptor 0 is a socket to the runner; standard output and error are pipes. The child becomes the keeper of a
/// worker ([`become_worker`]). A drop ends both, and all processes that the worker has started.
pub struct Process {
    /// `None` once it has been killed.
    child: Option<Child>,
    pid: Pid,
    /// Becomes readable when the keeper ends, where the kernel supports it (Linux 5.3). The socket's
    /// end is not enough: processes that a test has forked hold it open.
    death: Option<OwnedFd>,
    /// The connection for requests and answers.
    socket: Connection,
    /// Standard output and error, by their [`Source`], unless the child has closed them.
    outputs: [Option<PipeReader>; 2],
    /// The descriptors above, and the signal that stops the run. A call of `poll` for each test takes
    /// longer.
    watched: Epoll,
    /// True if the signal is among them.
    watches_stop: bool,
    /// The limit of the resident memory of the worker and the processes below it.
    memory: Option<MemoryLimit>,
}

/// The most descriptors that a process watches.
const WATCHED: usize = 5;

/// The mark of the signal that stops the run, for [`Process::watched`].
const STOP: u64 = 1;
/// The mark of the connection.
const SOCKET: u64 = 2;
/// The mark of the end of the keeper.
const DEATH: u64 = 4;
/// The mark of standard output and error.
const OUTPUT: u64 = 8;

/// The time that a keeper has to end after the connection is closed: longer than it waits for the
/// processes that it kills.
const END_LIMIT: Duration = keeper::REAP_LIMIT.saturating_add(Duration::from_secs(1));

/// The longest single wait. A wait of more than twice the time shows that this process was stopped.
const STEP: Duration = Duration::from_millis(500);

impl Process {
    /// Starts `command` as the leader of a new process group.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let [(stdout, their_stdout), (stderr, their_stderr)] = [io::pipe()?, io::pipe()?];
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(their_stdout)
            .stderr(their_stderr)
            .process_group(0);
        socket.set_nonblocking(true)?;
        let watched = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        watch(&watched, &socket, SOCKET)?;
        let child = command.spawn()?;
        // `command` keeps copies of the child's ends; a stream ends only when all copies are gone.
        drop(command);
        let pid = Pid::from_raw(child.id().cast_signed());
        let process = Self {
            child: Some(child),
            pid,
            death: death_of(pid),
            socket,
            outputs: [Some(stdout), Some(stderr)],
            watched,
            watches_stop: false,
            memory: None,
        };
        // From here on an error ends the child.
        for output in process.outputs.iter().flatten() {
            fcntl(output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            watch(&process.watched, output, OUTPUT)?;
        }
        process.death.iter().try_for_each(|death| watch(&process.watched, death, DEATH))?;
        Ok(process)
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.pid.as_raw().cast_unsigned()
    }

    /// Sends bytes to the worker. They are lost if the worker has ended; the next wait reports its end.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// Limits the resident memory of the worker and the processes below it, in bytes, until the next call.
    /// [`wait`](Self::wait) checks it while it waits.
    pub fn limit_memory(&mut self, limit: Option<u64>) {
        self.memory = limit.map(|limit| MemoryLimit::new(limit, self.pid));
    }

    /// Returns this memory, if it was more than its limit.
    pub fn memory_excess(&self) -> Option<u64> {
        self.memory.as_ref()?.excess
    }

    /// Returns the processor time that the worker and the processes below it have used, if it is known.
    pub fn processor_time(&self) -> Option<Duration> {
        let used = |process| {
            let clock = nix::time::clock_getcpuclockid(process).ok()?;
            Some(Duration::from(clock.now().ok()?).as_nanos() as u64)
        };
        let nanos = sum_below(self.pid, used);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    /// Waits until something can be read, the deadline passes, the worker exceeds its memory limit, or the run is
    /// stopped. Each call has the same signal. The deadline moves by the time in which this process was stopped.
    pub fn wait(&mut self, deadline: &mut Instant, stop: &StopSignal) -> Wakeup {
        if !self.watches_stop {
            watch(&self.watched, &stop.event.0, STOP).expect("the signal can be watched");
            self.watches_stop = true;
        }
        loop {
            let begin = Instant::now();
            let mut left = deadline.saturating_duration_since(begin);
            let is_over = left.is_zero();
            if let Some(memory) = &mut self.memory {
                if memory.is_exceeded_now() {
                    return Wakeup::Deadline;
                }
                left = left.min(memory_limit::INTERVAL);
            }
            // Rounded up, so that the last fraction of a millisecond is not spun away.
            let millis = if left.is_zero() { 0 } else { left.min(STEP).as_millis() as u16 + 1 };
            let ready = self.ready(EpollTimeout::from(millis));
            let late = begin.elapsed().saturating_sub(STEP);
            if late > STEP {
                *deadline += late;
            }
            match ready {
                Ok(0) if is_over => return Wakeup::Deadline,
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(ready) if ready & STOP != 0 => return Wakeup::Stopped,
                Ok(ready) => {
                    return Wakeup::Ready {
                        output: ready & OUTPUT != 0,
                        death: self.death.is_none() || ready & DEATH != 0,
                    };
                }
                Err(error) => panic!("epoll on a child's descriptors: {error}"),
            }
        }
    }

    /// Returns whether standard output or error has bytes or an end of file.
    pub fn has_output(&self) -> bool {
        self.ready(EpollTimeout::ZERO).is_ok_and(|ready| ready & OUTPUT != 0)
    }

    /// Waits until a watched descriptor is ready. Returns the marks of those that are.
    fn ready(&self, timeout: EpollTimeout) -> nix::Result<u64> {
        let mut events = [EpollEvent::empty(); WATCHED];
        let count = self.watched.wait(&mut events, timeout)?;
        Ok(events[..count].iter().fold(0, |marks, event| marks | event.data()))
    }

    /// Reads the available bytes of the connection; `Some(0)` at its end, `None` if there are none yet.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Option<usize> {
        read_available(&mut Some(&self.socket), buffer)
    }

    /// Reads the available bytes of a stream; `Some(0)` at its end, `None` if there are none yet.
    pub fn read(&mut self, source: Source, buffer: &mut [u8]) -> Option<usize> {
        read_available(&mut self.outputs[source as usize], buffer)
    }

    /// Returns whether it has closed its standard output or error.
    pub fn has_closed_a_stream(&self) -> bool {
        self.outputs.iter().any(Option::is_none)
    }

    /// Takes the stacks of the worker, and then resumes a thread that has crashed. Also returns whether code of the
    /// executable has started that thread, according to its stack.
    pub fn take_stacks(&self, crash: Option<Crash>) -> (Stacks, bool) {
        match self.worker() {
            Some(worker) => stacks::take(worker, crash),
            None => (Stacks::none("the worker has ended"), false),
        }
    }

    /// Resumes a thread that has crashed.
    pub fn go_on(&self, crash: &Crash) {
        self.worker().into_iter().for_each(|worker| crash.go_on(worker));
    }

    /// Returns the process id of the worker: the only child of its keeper, as long as it runs.
    fn worker(&self) -> Option<Pid> {
        let children = ChildProcess::all_of(self.pid);
        children.iter().find(|child| !child.has_ended).map(|child| child.pid)
    }

    /// Returns the exit cause of the keeper, which is that of its worker, if it has ended. Does not reap
    /// the keeper, so that its process id stays its own until [`end`](Self::end).
    pub(super) fn ending(&self) -> Option<ExitCause> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.pid), flags) {
            Ok(WaitStatus::Exited(_, status)) => Some(ExitCause::Exited(status)),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Some(ExitCause::Signalled(signal.as_str().to_owned()))
            }
            _ => None,
        }
    }

    /// Ends the worker and all processes that it started, by closing the connection to its keeper.
    pub(super) fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = self.socket.shutdown(Shutdown::Both);
        if self.ends_within(END_LIMIT) {
            let _ = child.wait();
        } else {
            // A child that hangs before it becomes a keeper.
            let _ = killpg(self.pid, Signal::SIGKILL);
            std::thread::spawn(move || child.wait());
        }
    }
}

/// Returns the value that `fill` writes over zeros, if it returns true.
///
/// # Safety
///
/// All zeros are a valid value.
unsafe fn filled<T>(fill: impl FnOnce(&mut T) -> bool) -> Option<T> {
    // SAFETY: the caller's.
    let mut value = unsafe { std::mem::zeroed() };
    fill(&mut value).then_some(value)
}

/// Adds a descriptor with a mark to those that are watched.
fn watch(watched: &Epoll, fd: &impl AsFd, mark: u64) -> nix::Result<()> {
    watched.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, mark))
}

/// Becomes readable for all waiting threads when the run is to stop.
pub(super) struct StopEvent(EventFd);

impl StopEvent {
    pub fn new() -> io::Result<Self> {
        Ok(Self(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?))
    }

    pub fn set(&self) {
        let _ = self.0.write(1);
    }

    pub fn wait(&self, time: Duration) {
        let mut event = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut event, PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX));
    }
}

/// Makes this process a worker: no core dumps, a keeper as its parent, descriptor 0 handed over.
///
/// Call it once, before any other thread exists. The connection is returned on a descriptor of
/// its own, and 0 becomes `/dev/null`, so that a test that reads standard input gets its end.
pub fn become_worker() -> io::Result<Connection> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let connection = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // An error unless it is a socket.
    connection.peer_addr()?;
    keeper::split(&connection)?;
    let null = File::open("/dev/null")?;
    // SAFETY: both descriptors are open; 0 is only ever used through `io::stdin`, which does not
    // mind what it refers to.
    if unsafe { libc::dup2(null.as_raw_fd(), 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(connection)
}

/// Becomes another program, whose orphans are the keeper's. Returns the error if that is not possible.
pub fn become_program(command: &mut Command) -> io::Error {
    nix::sys::prctl::set_child_subreaper(false).map_or_else(io::Error::from, |()| command.exec())
}

/// Waits until the socket has bytes or is closed.
///
/// The kernel wakes a thread that waits in `read` each time the other process reads, too. A thread that waits in
/// `poll` keeps sleeping.
pub fn wait_for_bytes(socket: &Connection) {
    // After an error, the caller waits in `read`.
    let _ = poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
}

/// Makes the C allocator return as much free memory as possible to the system.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: `malloc_trim` takes any size, and any thread may call it.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The address space in bytes from which a process is taken for one with a sanitizer.
const SANITIZED: u64 = 1 << 40;

/// The number of live [`AddressSpaceEnd`]s.
static ENDS: AtomicUsize = AtomicUsize::new(0);

/// A limit of the address space of this process, until this is dropped or the test panics.
pub struct AddressSpaceEnd {
    soft: rlim_t,
    hard: rlim_t,
}

impl AddressSpaceEnd {
    /// Limits the address space to `bytes` more than are in use. Returns `None` if that is not possible:
    /// sanitizers use terabytes, and end the process themselves when memory runs out.
    pub fn after(bytes: u64) -> Option<Self> {
        let in_use = address_space_in_use().filter(|bytes| *bytes < SANITIZED)?;
        let (soft, hard) = getrlimit(Resource::RLIMIT_AS).ok()?;
        setrlimit(Resource::RLIMIT_AS, in_use.saturating_add(bytes).min(hard), hard).ok()?;
        ENDS.fetch_add(1, Ordering::Relaxed);
        Some(Self { soft, hard })
    }

    /// Makes room for the report of a panic. Where memory runs out in a backtrace, Rust's standard
    /// library waits for itself forever.
    pub(crate) fn lift() {
        if ENDS.load(Ordering::Relaxed) > 0
            && let Ok((_, hard)) = getrlimit(Resource::RLIMIT_AS)
        {
            let _ = setrlimit(Resource::RLIMIT_AS, hard, hard);
        }
    }
}

impl Drop for AddressSpaceEnd {
    fn drop(&mut self) {
        // Raising the soft limit to what it was is always allowed.
        let _ = setrlimit(Resource::RLIMIT_AS, self.soft, self.hard);
        ENDS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the resident memory of this process in bytes.
pub fn resident_memory() -> Option<u64> {
    resident_memory_in("/proc/self/statm")
}

fn resident_memory_in(statm: &str) -> Option<u64> {
    // The worker calls this after each test: one `read` suffices, without the size of the file.
    let (mut file, mut statm) = (File::open(statm).ok()?, [0; 128]);
    let length = file.read(&mut statm).ok()?;
    let statm = str::from_utf8(&statm[..length]).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * page as u64)
}

/// Returns the address space of this process, in bytes.
fn address_space_in_use() -> Option<u64> {
    machine::bytes_of("/proc/self/status", "VmSize")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_space_ends_as_long_as_it_is_to() {
        const GIB: usize = 1 << 30;
        let can_have = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
        if address_space_in_use().is_none_or(|bytes| bytes >= SANITIZED) {
            assert!(AddressSpaceEnd::after(1 << 30).is_none(), "a sanitizer's process has no end");
            return;
        }
        let end = AddressSpaceEnd::after(2 << 30).expect("it can be had");
        assert!(can_have(GIB) && !can_have(4 * GIB));
        drop(end);
        assert!(can_have(4 * GIB));
        let end = AddressSpaceEnd::after(2 << 30).expect("it can be had");
        assert!(!can_have(4 * GIB));
        AddressSpaceEnd::lift();
        assert!(can_have(4 * GIB), "a panic has all memory for its report");
        drop(end);
    }
}
