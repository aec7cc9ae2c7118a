//! Takes the native stacks of a worker, from the runner.

mod module;
mod registers;
mod stopped_thread;
mod symbols;
mod unwinding;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::Pid;

use self::module::{Memory, Module};
use self::registers::Registers;
pub use self::registers::{REGISTERS, of_signal};
use self::stopped_thread::StoppedThread;
use self::symbols::Symbols;
use self::unwinding::Unwinding;
use super::crash::Crash;
use crate::stacks::{Frame, MOST_THREADS, Stacks, ThreadStack, WORKER_THREAD};

/// The time for the addresses of the stacks of a worker.
const LIMIT: Duration = Duration::from_secs(5);

/// The time for the names of functions, on a busy machine with much debug information.
const NAMES_LIMIT: Duration = Duration::from_secs(30);

/// The part of [`LIMIT`] in which the worker is stopped.
const STANDSTILL_LIMIT: Duration = Duration::from_secs(3);

/// Takes the stacks of a process: first that of the thread that has crashed, or that runs the tests. A thread that has
/// crashed continues as soon as the stacks are there, before their functions have names.
///
/// Also returns whether code of the executable has started the thread that has crashed: the outermost frame outside
/// the C library is in the executable.
///
/// Separate threads do the work, since a file system, or a thread in the kernel, may hang. They end by themselves.
pub fn take(process: Pid, crash: Option<Crash>) -> (Stacks, bool) {
    let deadline = Instant::now() + NAMES_LIMIT;
    let (sender, receiver) = mpsc::channel();
    let started = thread::Builder::new().name("clmatrix-stacks".to_owned()).spawn(move || {
        // The receiver may have given up.
        let _ = send_stacks(process, crash, |stacks| sender.send(stacks));
    });
    let first = receiver.recv_timeout(LIMIT);
    crash.iter().for_each(|crash| crash.go_on(process));
    let none = match (started, first) {
        (Ok(_), Ok(mut stacks)) => {
            let left = || deadline.saturating_duration_since(Instant::now());
            while let Ok(named) = receiver.recv_timeout(left()) {
                stacks = named;
            }
            return stacks;
        }
        (Ok(_), Err(RecvTimeoutError::Timeout)) => format!("not taken within {LIMIT:?}"),
        (Ok(_), Err(RecvTimeoutError::Disconnected)) => "the unwinder panicked".to_owned(),
        (Err(error), _) => error.to_string(),
    };
    (Stacks::none(none), false)
}

/// Sends the stacks: with addresses alone, with the names of functions, and with places in the source.
fn send_stacks<E>(
    process: Pid,
    crash: Option<Crash>,
    mut send: impl FnMut((Stacks, bool)) -> Result<(), E>,
) -> Result<(), E> {
    // The tracing of threads that did not stop ends with the tracing thread.
    let tracing = thread::spawn(move || unwound(process, crash));
    let (mut unwound, modules, more_threads) = match tracing.join() {
        Ok(Ok(unwound)) => unwound,
        Ok(Err(error)) => return send((Stacks::none(error), false)),
        Err(_) => return send((Stacks::none("the unwinder panicked"), false)),
    };
    let executable = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
    let crashed = unwound.iter().find(|thread| thread.stack.crash.is_some());
    let is_of_executable = crashed.is_some_and(|thread| thread.is_begun_by(&executable, &modules));
    let named = |unwound: &[Unwound], symbols: &Symbols<'_>| {
        let threads = unwound.iter().map(|thread| thread.named(symbols)).collect();
        (Stacks { threads, more_threads, error: None }, is_of_executable)
    };
    let addresses = |unwound: &[Unwound]| {
        unwound.iter().flat_map(|thread| &thread.addresses).copied().collect()
    };
    let mut symbols = Symbols::new(&modules, addresses(&unwound));
    send(named(&unwound, &symbols))?;
    symbols.find_functions();
    unwound.iter_mut().for_each(|thread| thread.leave_out_runtime(&symbols));
    send(named(&unwound, &symbols))?;
    symbols.keep(&addresses(&unwound));
    symbols.find_lines();
    send(named(&unwound, &symbols))
}

fn thread_name(process: Pid, id: Pid) -> String {
    let name = fs::read(format!("/proc/{process}/task/{id}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// Stops the threads and unwinds their stacks. The threads go on when this returns. Returns also the number
/// of threads that are left out.
fn unwound(process: Pid, crash: Option<Crash>) -> Result<(Vec<Unwound>, Vec<Module>, u32), String> {
    let deadline = Instant::now() + STANDSTILL_LIMIT;
    let of_worker = |part| move |error: io::Error| format!("the {part} of the worker: {error}");
    let tasks = fs::read_dir(format!("/proc/{process}/task")).map_err(of_worker("threads"))?;
    let ids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    let mut ids: Vec<Pid> = ids.map(Pid::from_raw).collect();
    let is_worker = |id: &&Pid| thread_name(process, **id) == WORKER_THREAD;
    let crashed = crash.map(|crash| Pid::from_raw(crash.thread));
    let first = crashed.or_else(|| ids.iter().find(is_worker).copied()).unwrap_or(process);
    ids.sort_by_key(|id| (*id != first, *id));
    let more_threads = ids.len().saturating_sub(MOST_THREADS) as u32;
    ids.truncate(MOST_THREADS);
    let mut threads = Vec::new();
    for id in ids {
        match StoppedThread::seize(id) {
            Ok(thread) => threads.push(thread),
            // It has ended.
            Err(Errno::ESRCH) => {}
            Err(error) => return Err(format!("ptrace of the worker: {}", error.desc())),
        }
    }
    let memory = Memory::open(process).map_err(of_worker("memory"))?;
    let modules = Module::all(process).map_err(of_worker("modules"))?;
    let mut unwinding = Unwinding::new(&memory, &modules, deadline);
    let mut unwound = Vec::new();
    for thread in &mut threads {
        let crash = crash.filter(|_| crashed == Some(thread.id));
        let registers = thread.wait(deadline).and_then(|()| match crash {
            Some(crash) => Ok((Registers::from_numbers(crash.registers), Some(crash.signal))),
            None => Ok((thread.registers()?, None)),
        });
        let (addresses, error) = match registers {
            Ok((registers, signal)) => unwinding.addresses(registers, signal),
            Err(Errno::ESRCH) => continue,
            Err(error) => (Vec::new(), Some(error.desc().to_owned())),
        };
        let stack = ThreadStack {
            id: thread.id.as_raw().cast_unsigned(),
            name: thread_name(process, thread.id),
            crash: crash.map(|crash| crash.to_string()),
            frames: Vec::new(),
            error,
        };
        unwound.push(Unwound { stack, addresses });
    }
    Ok((unwound, modules, more_threads))
}

/// The stack of a thread, without names of functions.
struct Unwound {
    /// The stack, without frames.
    stack: ThreadStack,
    /// The addresses of the calls, the innermost first.
    addresses: Vec<u64>,
}

impl Unwound {
    /// Returns whether code of this file has started the thread: the outermost frame outside the library that creates
    /// threads is in the file. Returns false for a stack that is not whole.
    fn is_begun_by(&self, file: &Path, modules: &[Module]) -> bool {
        let is_file = |module: usize| Path::new(&modules[module].path) == file;
        let mut outermost = self.addresses.iter().rev().map(|at| Module::at(modules, *at));
        let Some(Some(first)) = outermost.next().filter(|_| self.stack.error.is_none()) else {
            return false;
        };
        let begin = outermost.find(|module| *module != Some(first)).flatten();
        is_file(first) || begin.is_some_and(is_file)
    }

    /// Leaves out the frames of the runtime that calls the code of a thread or test, which Rust's
    /// backtraces leave out, too.
    fn leave_out_runtime(&mut self, symbols: &Symbols<'_>) {
        let is_begin = |frame: &Frame| {
            let function = frame.function.as_deref().unwrap_or_default();
            function.ends_with("__rust_begin_short_backtrace")
        };
        let is_runtime = |address: &u64| symbols.at(*address).iter().any(is_begin);
        if let Some(begin) = self.addresses.iter().position(is_runtime) {
            self.addresses.truncate(begin);
            self.stack.error = None;
        }
    }

    /// Returns the frames with names.
    fn named(&self, symbols: &Symbols<'_>) -> ThreadStack {
        let frames = self.addresses.iter().flat_map(|address| symbols.at(*address));
        ThreadStack { frames: frames.cloned().collect(), ..self.stack.clone() }
    }
}
