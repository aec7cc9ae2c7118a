//! Reports the crash or the exit of a worker to the runner, in the worker, before the process ends.
//!
//! The report is one line on the connection, from the handler of the signal, or from an exit handler. The
//! handler of a signal then waits until
//! the runner has taken the stacks. Afterwards the signal takes its effect as if there were no handler.

use std::fmt;
use std::mem;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use libc::{c_int, c_void, sigaction, siginfo_t, ucontext_t};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::registers::Registers;
use super::sanitizer::is_sanitized;

/// The signals that end a process after a fault of its own.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// The code of a signal that the kernel sends without a more precise one.
const SI_KERNEL: c_int = 0x80;

/// The position of SIGABRT in [`SIGNALS`].
const ABORT: usize = 4;

/// The signal by which the runner ends the wait of a thread that has crashed. Other threads ignore it.
const GO_ON: c_int = libc::SIGCONT;

/// The longest wait for the runner: longer than it needs for the stacks.
const WAIT_LIMIT: Duration = Duration::from_secs(6);

/// A signal that ends the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    /// The id of the thread.
    pub thread: i32,
    /// The number of the signal.
    pub signal: i32,
    /// The address of the access, of faults of memory.
    pub address: Option<u64>,
    /// True if the thread is that of the running test.
    pub in_test: bool,
    /// The registers of the thread when the signal came.
    pub registers: Registers,
}

impl Crash {
    /// Lets the thread go on, and the signal take its effect.
    pub fn go_on(&self, process: Pid) {
        // SAFETY: the call takes numbers. The thread blocks the signal, and others ignore it.
        unsafe { libc::syscall(libc::SYS_tgkill, process.as_raw(), self.thread, GO_ON) };
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signal = Signal::try_from(self.signal).map_or("a signal", Signal::as_str);
        match self.address {
            Some(address) => write!(f, "{signal} at {address:#x}"),
            None => f.write_str(signal),
        }
    }
}

/// The last report of a process.
pub enum LastWord {
    /// A signal ends it.
    Crash(Crash),
    /// It has called `exit`.
    Exit {
        /// True if the thread is that of the running test.
        in_test: bool,
    },
}

/// Writes the line of a report, without an allocation. Returns false if there is no room.
pub type WriteLastWord = fn(&mut &mut [u8], LastWord) -> bool;

/// The state that the handler needs.
struct Reporter {
    /// The worker. Processes that it forks have the handlers, too.
    process: c_int,
    connection: RawFd,
    write: WriteLastWord,
    /// The previous actions of [`SIGNALS`].
    previous: [sigaction; SIGNALS.len()],
}

/// Null where crashes are not reported. A reporter is never changed or freed.
static REPORTER: AtomicPtr<Reporter> = AtomicPtr::new(ptr::null_mut());

/// The thread that has crashed first; 0 if there is none.
static CRASHED: AtomicI32 = AtomicI32::new(0);

/// The thread of the running test; 0 if there is none.
static TEST: AtomicI32 = AtomicI32::new(0);

/// A bit for each of [`SIGNALS`] that was given back to its previous action.
static GIVEN_BACK: AtomicU8 = AtomicU8::new(0);

/// The running test of this thread, until it is dropped.
pub struct RunningTest(());

impl RunningTest {
    /// Begins a test on this thread.
    pub fn here() -> Self {
        TEST.store(this_thread(), Ordering::Relaxed);
        Self(())
    }
}

impl Drop for RunningTest {
    fn drop(&mut self) {
        TEST.store(0, Ordering::Relaxed);
    }
}

fn this_thread() -> c_int {
    // SAFETY: the call takes no arguments.
    unsafe { libc::gettid() }
}

fn is_of_test(thread: c_int) -> bool {
    TEST.load(Ordering::Relaxed) == thread
}

/// Makes crashes of this process known to the runner. The connection stays open until the process ends.
///
/// Call it before a driver is loaded: a driver that handles signals of its own then passes the others on to
/// this handler. A sanitizer keeps its handlers; it reports stacks itself.
pub fn report_crashes(connection: &UnixStream, write: WriteLastWord) {
    if is_sanitized() {
        return;
    }
    let process = std::process::id().cast_signed();
    let previous = SIGNALS.map(present_action);
    Reporter { process, connection: connection.as_raw_fd(), write, previous }.publish();
    SIGNALS.into_iter().for_each(set_handler);
}

/// Makes calls of `exit` known to the runner from now on. Exit handlers that are registered later run first.
pub fn report_exits() {
    // SAFETY: the handler takes nothing, and stays in memory.
    unsafe { libc::atexit(handle_exit) };
}

/// Reports an exit, once.
extern "C" fn handle_exit() {
    // SAFETY: a reporter is never changed or freed.
    let Some(reporter) = (unsafe { REPORTER.load(Ordering::Acquire).as_ref() }) else { return };
    if reporter.is_here() {
        reporter.send(LastWord::Exit { in_test: is_of_test(this_thread()) });
    }
}

/// Makes aborts known to the runner, although a driver has set a handler after [`report_crashes`], which
/// may not pass the signal on.
// quirk: DRIVER-16
pub fn report_aborts() {
    // SAFETY: a reporter is never changed or freed.
    let Some(reporter) = (unsafe { REPORTER.load(Ordering::Acquire).as_ref() }) else { return };
    let present = present_action(libc::SIGABRT);
    if present.sa_sigaction != handle as *const () as usize {
        let mut previous = reporter.previous;
        previous[ABORT] = present;
        Reporter { previous, ..*reporter }.publish();
        set_handler(libc::SIGABRT);
    }
}

fn present_action(signal: c_int) -> sigaction {
    // SAFETY: all zeros is a valid action, and the present one is not changed.
    unsafe {
        let mut action = mem::zeroed();
        sigaction(signal, ptr::null(), &mut action);
        action
    }
}

fn set_handler(signal: c_int) {
    // SAFETY: all zeros is a valid action, and the handler has the type that `SA_SIGINFO` asks for.
    unsafe {
        let mut action: sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        sigaction(signal, &action, ptr::null_mut());
    }
}

/// Reports the signal, waits for the runner, and lets the signal take its effect. Calls only functions that
/// may be called in a signal handler.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: a reporter is never changed or freed.
    let Some(reporter) = (unsafe { REPORTER.load(Ordering::Acquire).as_ref() }) else { return };
    let thread = this_thread();
    // SAFETY: the kernel gives both to a handler with `SA_SIGINFO`.
    let (info, context) = unsafe { (&*info, &*context.cast::<ucontext_t>()) };
    if reporter.is_here() {
        match CRASHED.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                if reporter.send_crash(thread, signal, info, context) {
                    wait();
                }
            }
            // The handler of an earlier signal of this thread sends another one.
            Err(crashed) if crashed == thread => {}
            // The process is about to end.
            Err(_) => wait(),
        }
    }
    reporter.give_back(signal);
    if info.si_code <= 0 {
        // A process or thread has sent the signal; no instruction raises it again.
        // SAFETY: the call takes numbers.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
    }
}

impl Reporter {
    /// Makes this the reporter of the handler.
    fn publish(self) {
        REPORTER.store(Box::into_raw(Box::new(self)), Ordering::Release);
    }

    /// Returns whether this process is the worker, and none that it has forked.
    fn is_here(&self) -> bool {
        // SAFETY: the call takes no arguments.
        self.process == unsafe { libc::getpid() }
    }

    fn send_crash(
        &self,
        thread: c_int,
        signal: c_int,
        info: &siginfo_t,
        context: &ucontext_t,
    ) -> bool {
        // The kernel does not know the address of an access that the processor refuses as such.
        let is_fault = info.si_code > 0
            && info.si_code != SI_KERNEL
            && matches!(signal, libc::SIGSEGV | libc::SIGBUS);
        // SAFETY: the kernel sets the address in both signals.
        let address = is_fault.then(|| unsafe { info.si_addr() } as u64);
        let registers = Registers::of_signal(context);
        let in_test = is_of_test(thread);
        self.send(LastWord::Crash(Crash { thread, signal, address, in_test, registers }))
    }

    /// Sends a report to the runner. Returns false if that is not possible.
    #[inline(never)]
    fn send(&self, last_word: LastWord) -> bool {
        // Longer than the report. A line begins, also after a part of another thread's.
        let mut line = [b'\n'; 512];
        let mut left = &mut line[1..511];
        if !(self.write)(&mut left, last_word) {
            return false;
        }
        let length = 512 - left.len();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: `line` has `length` bytes.
        let sent = unsafe { libc::send(self.connection, line.as_ptr().cast(), length, flags) };
        usize::try_from(sent) == Ok(length)
    }

    /// Gives a signal back to its previous action, and to the default action if it comes again: the handler
    /// of a driver may have set this one again, which it found when it was set.
    fn give_back(&self, signal: c_int) {
        let Some(position) = SIGNALS.iter().position(|known| *known == signal) else { return };
        let bit = 1 << position;
        let was_given_back = GIVEN_BACK.fetch_or(bit, Ordering::Relaxed) & bit != 0;
        // SAFETY: all zeros is the default action, and the previous one was in force before.
        unsafe {
            let action = if was_given_back { mem::zeroed() } else { self.previous[position] };
            sigaction(signal, &action, ptr::null_mut());
        }
    }
}

/// Waits for the runner. All signals are blocked.
fn wait() {
    let end = Instant::now() + WAIT_LIMIT;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // SAFETY: all arguments are initialized, and no information on the signal is asked for.
        let signal = unsafe {
            let mut go_on = mem::zeroed();
            libc::sigemptyset(&mut go_on);
            libc::sigaddset(&mut go_on, GO_ON);
            let left = libc::timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            };
            libc::sigtimedwait(&go_on, ptr::null_mut(), &left)
        };
        // The stop of the thread ends the wait as well.
        if signal == GO_ON || Errno::last() == Errno::EAGAIN {
            return;
        }
    }
}
