//! Reports the crash or the exit of a worker to the runner, in the worker, before the process ends.
//!
//! The report is one line on the connection, from the handler of the signal, or from an exit handler. The
//! handler of a signal then waits until the runner has taken the stacks. Afterwards the signal takes its effect as if
//! there were no handler.
//!
//! A thread that a test starts has the signal stack of the standard library, of 8 KiB, of which AVX-512 takes 3.5. A
//! debug build has to do with the rest: the handler sends the report first, and calls few functions.

use std::fmt;
use std::mem;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use libc::{c_int, c_void, sigaction, siginfo_t, ucontext_t};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::baseline::disposition;
use super::profile::leave_profile;
use super::sanitizer::is_sanitized;
use super::stacks::{self, REGISTERS};
use crate::os::LastWord;

/// The signals that end a process after a fault of its own.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// The code of a signal that the kernel sends without a more precise one.
const SI_KERNEL: c_int = 0x80;

/// The bytes of the signal stack of the thread that runs the tests: a driver with LLVM keeps one so large.
const STACK: usize = 128 << 10;

/// The signal by which the runner ends the wait of a thread that has crashed. Other threads ignore it.
const GO_ON: c_int = libc::SIGCONT;

/// The longest wait for the runner: longer than it needs for the stacks.
const WAIT_LIMIT: Duration = Duration::from_secs(6);

/// A signal that ends the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The id of the thread.
    pub thread: i32,
    /// The number of the signal.
    pub signal: i32,
    /// The address of the access, for memory faults.
    pub address: Option<u64>,
    /// The registers of the thread when the signal came.
    pub registers: [u64; REGISTERS],
}

impl Crash {
    /// Resumes the thread, so that the signal takes its effect.
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

/// The mark at the beginning of the line of a report. The other lines of a worker are JSON.
const MARK: char = '!';

/// The count of numbers in a report.
const NUMBERS: usize = 5 + REGISTERS;

/// The count of hexadecimal digits of a number.
const DIGITS: usize = 16;

/// The bytes of a report: a line feed, the mark, the numbers and a line feed.
const LENGTH: usize = 3 + NUMBERS * DIGITS;

impl LastWord {
    /// Returns the numbers of the report. The signal of an exit is 0.
    fn numbers(self) -> [u64; NUMBERS] {
        let mut numbers = [0; NUMBERS];
        numbers[0] = self.in_test.into();
        if let Some(crash) = self.crash {
            numbers[1] = crash.thread as u64;
            numbers[2] = crash.signal as u64;
            numbers[3] = crash.address.is_some().into();
            numbers[4] = crash.address.unwrap_or(0);
            numbers[5..].copy_from_slice(&crash.registers);
        }
        numbers
    }

    /// Returns the line. The handler of a signal calls this: nothing is allocated, and the formatting of the standard
    /// library takes more stack.
    fn line(self) -> [u8; LENGTH] {
        // A line begins, also after a part of another thread's.
        let mut line = [b'\n'; LENGTH];
        line[1] = MARK as u8;
        let mut end = 2;
        for number in self.numbers() {
            let mut shift = u64::BITS;
            while shift > 0 {
                shift -= 4;
                line[end] = b"0123456789abcdef"[(number >> shift & 0xf) as usize];
                end += 1;
            }
        }
        line
    }

    /// Reads a line; `None` if it is not a report.
    pub fn parse(line: &str) -> Option<Self> {
        let digits = line.strip_prefix(MARK)?;
        let numbers = (0..NUMBERS).map(|number| {
            u64::from_str_radix(digits.get(number * DIGITS..(number + 1) * DIGITS)?, 16).ok()
        });
        let numbers: [u64; NUMBERS] = numbers.collect::<Option<Vec<_>>>()?.try_into().ok()?;
        let [in_test, thread, signal, has_address, address, registers @ ..] = numbers;
        let crash = (signal != 0).then(|| Crash {
            thread: thread as i32,
            signal: signal as i32,
            address: (has_address == 1).then_some(address),
            registers,
        });
        Some(Self { in_test: in_test == 1, crash })
    }
}

/// The state that the handler needs.
struct Reporter {
    /// The worker. Processes that it forks have the handlers, too.
    process: c_int,
    connection: RawFd,
    /// The actions of [`SIGNALS`] before this one's, and before a driver was loaded.
    previous: [sigaction; SIGNALS.len()],
}

/// Null if crashes are not reported. A reporter is never changed or freed.
static REPORTER: AtomicPtr<Reporter> = AtomicPtr::new(ptr::null_mut());

/// The thread that has crashed first; 0 if there is none.
static CRASHED: AtomicI32 = AtomicI32::new(0);

/// The thread of the running test; 0 if there is none.
static TEST: AtomicI32 = AtomicI32::new(0);

/// Begins a test on this thread, or ends it.
pub fn set_running_test(is_running: bool) {
    TEST.store(if is_running { this_thread() } else { 0 }, Ordering::Relaxed);
}

fn this_thread() -> c_int {
    // SAFETY: the call takes no arguments.
    unsafe { libc::gettid() }
}

fn is_of_test(thread: c_int) -> bool {
    TEST.load(Ordering::Relaxed) == thread
}

/// Makes crashes of this process known to the runner. The connection stays open until the process ends. The tests run
/// on the calling thread.
///
/// Call it before a driver is loaded: a driver that handles signals itself then passes the others on to this handler.
/// A sanitizer keeps its handlers; it reports stacks itself.
pub fn report_crashes(connection: &UnixStream) {
    if is_sanitized() {
        return;
    }
    let process = std::process::id().cast_signed();
    let previous = SIGNALS.map(present_action);
    let reporter = Box::new(Reporter { process, connection: connection.as_raw_fd(), previous });
    REPORTER.store(Box::into_raw(reporter), Ordering::Release);
    let stack = libc::stack_t {
        ss_sp: vec![0_u8; STACK].leak().as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: STACK,
    };
    // SAFETY: the stack is never freed.
    unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
    SIGNALS.into_iter().for_each(set_handler);
}

/// Makes calls of `exit` known to the runner from now on. Exit handlers that are registered later run first.
pub fn report_exits() {
    // SAFETY: the handler takes no arguments, and stays in memory.
    unsafe { libc::atexit(handle_exit) };
}

/// Reports an exit, once. The profile of a worker is not that of a process that a test has forked.
extern "C" fn handle_exit() {
    // SAFETY: a reporter is never changed or freed.
    let Some(reporter) = (unsafe { REPORTER.load(Ordering::Acquire).as_ref() }) else { return };
    if reporter.is_here() {
        reporter.send(LastWord { in_test: is_of_test(this_thread()), crash: None });
    } else {
        leave_profile();
    }
}

/// Makes crashes known to the runner although a driver has set handlers after [`report_crashes`]: one of SIGABRT, which
/// may not pass it on, or one that the first signal resets. The latter is a report of crashes, too, and may need more
/// than the signal stack of a thread has. A driver may need any other handler for its work.
// quirk: DRIVER-16
pub fn report_crashes_first() {
    if REPORTER.load(Ordering::Acquire).is_null() {
        return;
    }
    for signal in SIGNALS {
        let present = present_action(signal);
        if present.sa_sigaction != handle as *const () as usize
            && (signal == libc::SIGABRT || present.sa_flags & libc::SA_RESETHAND != 0)
        {
            set_handler(signal);
        }
    }
}

fn present_action(signal: c_int) -> sigaction {
    disposition(signal).expect("the C library does not keep it")
}

fn set_handler(signal: c_int) {
    // SAFETY: all zeros is a valid action, and the handler has the type that `SA_SIGINFO` requires.
    unsafe {
        let mut action: sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // Without an access of memory, the stack of the thread has not come to its end.
        if matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
            action.sa_flags |= libc::SA_ONSTACK;
        }
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
            // An earlier signal of this thread has not ended the process.
            Err(crashed) if crashed == thread => {}
            // The process is about to end.
            Err(_) => wait(),
        }
    }
    reporter.give_back();
    if info.si_code <= 0 {
        // A process or thread has sent the signal; no instruction raises it again.
        // SAFETY: the call takes numbers.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
    }
}

impl Reporter {
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
        // The kernel does not know the address of an access that the processor rejects as malformed.
        let is_fault = info.si_code > 0
            && info.si_code != SI_KERNEL
            && matches!(signal, libc::SIGSEGV | libc::SIGBUS);
        // SAFETY: the kernel sets the address in both signals.
        let address = is_fault.then(|| unsafe { info.si_addr() } as u64);
        let registers = stacks::of_signal(context);
        let crash = Some(Crash { thread, signal, address, registers });
        self.send(LastWord { in_test: is_of_test(thread), crash })
    }

    /// Sends a report to the runner. Returns false if that is not possible.
    fn send(&self, last_word: LastWord) -> bool {
        let line = last_word.line();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the line has `LENGTH` bytes.
        let sent = unsafe { libc::send(self.connection, line.as_ptr().cast(), LENGTH, flags) };
        sent == LENGTH as isize
    }

    /// Gives all signals back to their previous actions: one that reports an overflow of the stack then aborts.
    fn give_back(&self) {
        for (signal, action) in SIGNALS.iter().zip(&self.previous) {
            // SAFETY: the action was in force before.
            unsafe { sigaction(*signal, action, ptr::null_mut()) };
        }
    }
}

/// Waits for the runner. All signals are blocked.
fn wait() {
    let end = Instant::now() + WAIT_LIMIT;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // SAFETY: all arguments are initialized, and no information on the signal is requested.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_back() {
        let registers = [u64::MAX; REGISTERS];
        let crash = |thread, signal, address| Some(Crash { thread, signal, address, registers });
        for (in_test, crash) in [
            (true, None),
            (false, None),
            (false, crash(7, 11, None)),
            (true, crash(i32::MIN, i32::MIN, Some(u64::MAX))),
        ] {
            let last_word = LastWord { in_test, crash };
            let line = last_word.line();
            let text = str::from_utf8(&line[1..LENGTH - 1]).unwrap();
            assert_eq!(LastWord::parse(text), Some(last_word), "{text}");
        }
        for text in ["", "{}", "!1", &format!("!{}", "x".repeat(LENGTH))] {
            assert_eq!(LastWord::parse(text), None, "{text}");
        }
    }
}
