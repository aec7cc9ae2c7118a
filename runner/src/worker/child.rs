//! The worker's side: binds the device, then runs the tasks of the runner.

use std::any::Any;
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Write};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::process::Command;
use std::sync::LazyLock;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use clmatrix::cl3::error_codes::CL_PLATFORM_NOT_FOUND_KHR;
use clmatrix::memory::live_objects;
use clmatrix::select::FoundPlatform;
use parking_lot::Mutex;

use super::contexts::{self, kept};
use super::device_probe::{self, Kernels};
use super::protocol::{Answer, Enumerated, Role, Task, TestEnd};
use super::{WorkerAfter, entry, leak_check, property};
use crate::config::Contexts;
use crate::devices::failure::{DriverFailure, FailureKind};
use crate::devices::icd::LoaderVariables;
use crate::devices::{DeviceAddress, diagnose, loader_functions};
use crate::os::Connection;
use crate::registry::{self, ShouldPanic, Test, TestReturn};
use crate::stacks::WORKER_THREAD;
use crate::terminal::AnyError;
use crate::verdict::{Location, Outcome};
use crate::{debug, fixtures, os, variable};

/// The least change of the resident memory that is logged, in bytes.
const RESIDENT_STEP: u64 = 1 << 20;

/// The time in which an earlier test can still end a worker that leaves.
pub const LAST_MOMENT: Duration = Duration::from_millis(20);

/// The exit status of Rust's runtime after a panic.
pub const PANICKED: i32 = 101;

/// Becomes a worker if the environment says so, and then never returns.
///
/// Every entry point calls this first.
pub fn enter_if_asked() {
    debug::enter_if_asked();
    let Some((role, connection)) = entry::take() else { return };
    if role == Role::Program {
        become_program(connection);
    }
    on_thread_of_tests(move || {
        os::report_crashes(&connection);
        os::exit_now(serve(&role, connection))
    })
}

/// Does work that ends the process on this thread, or on one with the stack that `RUST_MIN_STACK` names.
pub fn on_thread_of_tests(work: impl FnOnce() + Send + 'static) -> ! {
    if variable::value("RUST_MIN_STACK").is_none() {
        work();
        os::exit_now(PANICKED)
    }
    // The stack of the main thread has another size. libtest's threads have this one.
    let worker = thread::Builder::new().name(WORKER_THREAD.to_owned());
    match worker.spawn(work) {
        // An error is a panic, after which the thread ends.
        Ok(worker) => drop(worker.join()),
        Err(error) => {
            eprintln!("error: no thread has the stack that RUST_MIN_STACK names: {error}")
        }
    }
    os::exit_now(PANICKED)
}

/// Becomes the program that the arguments name. The keeper remains its parent.
fn become_program(mut connection: Connection) -> ! {
    let mut words = std::env::args_os().skip(1);
    let program = words.next().expect("the runner names a program");
    let error = os::become_program(Command::new(program).args(words));
    // The runner reads the reason from the connection.
    let _ = write!(connection, "the program cannot be started: {error}");
    os::exit_now(1)
}

/// Does the work of a worker on this thread. Returns the exit status.
fn serve(role: &Role, connection: Connection) -> i32 {
    let first = match role {
        Role::Enumerate { library } => Answer::Platforms(enumerate(library.as_deref())),
        Role::Probe => ended(probe_first_device()),
        Role::Host => Answer::Ready,
        Role::Program => unreachable!("the process has become a program"),
        Role::Device(address) => bind(address).map_or_else(Answer::NoDevice, |()| Answer::Ready),
    };
    send(&connection, 0, &first);
    if first != Answer::Ready {
        return i32::from(matches!(first, Answer::NoDevice(_)));
    }
    let mut state = None;
    let mut requests = BufReader::new(&connection);
    while let Some((number, task)) = next_request(&mut requests) {
        let answer = match task {
            Task::Prepare { finds_leaks, contexts: reuse } => {
                contexts::prepare(finds_leaks, reuse == Contexts::Reuse);
                state = Some(WorkerState::here(finds_leaks));
                ended(Ok(()))
            }
            Task::Test { module, name, is_fresh } => {
                let test = registry::find(&module, &name);
                let test = test.expect("runner and worker are one executable");
                // A worker that was not prepared takes the baseline now, without a context.
                let state = state.get_or_insert_with(|| WorkerState::here(false));
                // The test may have forked, and its child must not continue as a second worker.
                let Some(end) = state.test(test, is_fresh) else { return 0 };
                Answer::Done(end)
            }
            Task::Probe => ended(device_probe::probe(&fixtures::device(), Kernels::Simplest)),
            Task::ProbeGate => {
                let note = || send(&connection, number, &Answer::Trying("a gate".to_owned()));
                ended(device_probe::gate(&fixtures::device(), note))
            }
            Task::Leave => {
                if let Role::Device(_) = role {
                    // Its errors are those of the device. Only a crash matters here.
                    let _ = device_probe::probe(&fixtures::device(), Kernels::None);
                }
                os::trim_heap();
                thread::sleep(LAST_MOMENT);
                ended(Ok(()))
            }
            Task::Exit => std::process::exit(0),
            Task::Job(call) => {
                let note = |step: &str| send(&connection, number, &Answer::Trying(step.to_owned()));
                Answer::Ended(call.run(&note))
            }
        };
        // The runner takes the output before the answer for the task's own.
        let _ = io::stdout().flush();
        os::flush_c_streams();
        send(&connection, number, &answer);
    }
    os::write_profile();
    0
}

/// Returns the next task with its number; `None` when the runner has ended.
fn next_request(requests: &mut BufReader<&Connection>) -> Option<(u64, Task)> {
    let mut line = String::new();
    if requests.buffer().is_empty() {
        os::wait_for_bytes(requests.get_ref());
    }
    requests.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

fn send(mut connection: &Connection, number: u64, answer: &Answer) {
    let mut line = serde_json::to_string(&(number, answer)).expect("answers are plain data");
    line.push('\n');
    // It fails if the runner has ended; the keeper then ends this process.
    let _ = connection.write_all(line.as_bytes());
}

/// Returns the answer to a task without output.
fn ended(result: Result<(), AnyError>) -> Answer {
    Answer::Ended(result.map(|()| String::new()).map_err(|error| error.to_string()))
}

/// A worker before its first test.
struct WorkerState {
    process: u32,
    baseline: os::Baseline,
    finds_leaks: bool,
    /// The last resident memory in the log, in bytes.
    resident: u64,
}

impl WorkerState {
    fn here(finds_leaks: bool) -> Self {
        os::report_crashes_first();
        os::report_exits();
        let baseline = os::Baseline::now();
        Self { process: std::process::id(), baseline, finds_leaks, resident: 0 }
    }

    /// Runs a test and undoes the changes that it leaves behind; `None` in a child that the test has forked.
    fn test(&mut self, test: &Test, is_fresh: bool) -> Option<Box<TestEnd>> {
        let started = Instant::now();
        property::take();
        // A driver may have been loaded by the test before.
        os::report_crashes_first();
        let reuses = kept().begin_test(is_fresh);
        let objects = (self.finds_leaks || reuses).then(live_objects);
        let mut outcome = run(test);
        let duration = started.elapsed();
        if std::process::id() != self.process {
            return None;
        }
        let leaks = objects.map(leak_check::leaks_since);
        let mut has_left_nothing = matches!(leaks, Some(None));
        let leaks = leaks.flatten().filter(|_| self.finds_leaks).unwrap_or_default();
        let left = self.baseline.restore();
        let has_failed = matches!(outcome, Outcome::Failed { .. });
        // Unless the worker can continue, the leaks of a failed test end with this process.
        if (!has_failed || has_left_nothing)
            && let Some(has_leaked) = os::finds_leaks()
        {
            // The sanitizer has started a symbolizer, which it uses again.
            self.baseline.keep_children();
            has_left_nothing &= !has_leaked;
            if has_leaked && !has_failed {
                outcome = Outcome::Failed {
                    message: "it leaks memory, as LeakSanitizer reports".to_owned(),
                    location: Some(test.location()),
                };
            }
        }
        let after = match outcome {
            _ if left.remains => WorkerAfter::Spent,
            Outcome::Failed { .. } if has_left_nothing => WorkerAfter::SurvivedFailure,
            Outcome::Passed | Outcome::Skipped { .. } => match kept().has_used() {
                true => WorkerAfter::KeepsUsedContext,
                false => WorkerAfter::Clean,
            },
            Outcome::Failed { .. }
            | Outcome::Crashed { .. }
            | Outcome::TimedOut { .. }
            | Outcome::Ignored { .. }
            | Outcome::NotRun { .. } => WorkerAfter::Spent,
        };
        Some(Box::new(TestEnd {
            outcome,
            duration,
            context: kept().use_of_test,
            properties: property::take(),
            left_behind: left.into_notes(),
            leaks,
            resident: self.resident_if_changed(),
            after,
        }))
    }

    fn resident_if_changed(&mut self) -> Option<u64> {
        let has_changed = |now: &u64| now.abs_diff(self.resident) >= RESIDENT_STEP;
        let now = os::resident_memory().filter(has_changed)?;
        self.resident = now;
        Some(now)
    }
}

/// Returns the platforms that this process sees. If there is none, the failure is that of `library`; all drivers
/// together may show none.
fn enumerate(library: Option<&str>) -> Result<Vec<Enumerated>, DriverFailure> {
    let variables = LoaderVariables::from_environment();
    let failure = match library {
        Some(library) => diagnose::hidden_failure(library),
        None => diagnose::loader_failure(&variables),
    };
    if let Some(failure) = failure {
        return Err(failure);
    }
    match clmatrix::select::platforms() {
        Ok(found) => Ok(found.into_iter().map(enumerated).collect()),
        Err(error)
            if error.code() == CL_PLATFORM_NOT_FOUND_KHR && !variables.bypass_the_loader() =>
        {
            library.map_or(Ok(Vec::new()), |library| Err(diagnose::no_platform(library)))
        }
        Err(error) => {
            Err(DriverFailure::new(FailureKind::NoPlatform, format!("no platform: {error}")))
        }
    }
}

fn enumerated(found: FoundPlatform) -> Enumerated {
    // A driver without a loader may lack a dispatch table.
    let has_table = !LoaderVariables::from_environment().bypass_the_loader()
        && found.platform.properties().any(|(name, value)| {
            name == "CL_PLATFORM_EXTENSIONS" && value.to_string().contains("cl_khr_icd")
        });
    let library = has_table.then(|| os::library_of_platform(found.platform.as_raw())).flatten();
    Enumerated { info: found.info, library }
}

fn probe_first_device() -> Result<(), AnyError> {
    let platforms = clmatrix::select::platforms()?;
    let device = platforms.iter().flat_map(|platform| &platform.devices).next();
    device_probe::probe(device.ok_or("the driver shows no device")?, Kernels::EachKind)
}

/// Makes a device the one of this process's tests.
///
/// # Errors
///
/// It is not at its address.
pub fn bind(address: &DeviceAddress) -> Result<(), String> {
    let platforms = clmatrix::select::platforms().map_err(|error| error.to_string())?;
    let platform = platforms.get(address.platform).ok_or("its platform is gone")?;
    let found = platform.info.devices.get(address.device);
    if !found.is_some_and(|device| address.is_of(device)) {
        let expected = described(&address.name, &address.uuid, &address.pci_address);
        let found = found.map(|info| described(&info.name, &info.uuid, &info.pci_address));
        let found = found.as_deref().unwrap_or("none");
        return Err(format!("expected the device {expected}, found {found}"));
    }
    fixtures::bind(fixtures::Bound {
        platform: platform.platform,
        device: platform.devices[address.device].clone(),
    });
    Ok(())
}

/// Returns `"NAME" (UUID, PCI-ADDRESS)`, without unknown parts.
fn described(name: &str, uuid: &Option<String>, pci_address: &Option<String>) -> String {
    let known: Vec<&str> = uuid.iter().chain(pci_address).map(String::as_str).collect();
    if known.is_empty() { format!("{name:?}") } else { format!("{name:?} ({})", known.join(", ")) }
}

/// Runs one test in this process.
pub fn run(test: &Test) -> Outcome {
    // Evaluated before the first hook is set. A test may have replaced the hook, so each test sets it.
    LazyLock::force(&DEFAULT_HOOK);
    panic::set_hook(Box::new(note_panic));
    PANIC.take();
    SKIPPED.lock().take();
    if let Some(reason) = loader_functions::missing(test.requires) {
        return Outcome::Skipped { reason };
    }
    os::set_running_test(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| __rust_begin_short_backtrace(test.run)));
    os::set_running_test(false);
    let noted = PANIC.take();
    let here = Some(test.location());
    let failed = |message, location| Outcome::Failed { message, location };
    match (result, test.should_panic) {
        (Ok(Ok(())), ShouldPanic::No) => Outcome::Passed,
        (Ok(Err(message)), ShouldPanic::No) => {
            let message = with_skip_elsewhere(shortened(&message));
            let _ = writeln!(io::stderr(), "{message}");
            failed(message, here)
        }
        (Ok(_), _) => failed("test did not panic as expected".to_owned(), here),
        (Err(payload), should_panic) => {
            if let Some(skip) = skip_in(payload.as_ref()) {
                return Outcome::Skipped { reason: skip.0.clone() };
            }
            let message = message_of(payload.as_ref());
            match should_panic {
                ShouldPanic::Yes => Outcome::Passed,
                ShouldPanic::With(expected) if message.contains(expected) => Outcome::Passed,
                ShouldPanic::With(expected) => {
                    let message = format!(
                        "panicked with {message:?}, which does not contain the expected {expected:?}"
                    );
                    failed(message, noted)
                }
                ShouldPanic::No => failed(with_skip_elsewhere(message), noted),
            }
        }
    }
}

/// Calls the test. The standard library ends a short backtrace at a function of this name, as it does
/// for libtest's function of the same name.
#[inline(never)]
fn __rust_begin_short_backtrace(test: fn() -> TestReturn) -> TestReturn {
    // Keeps the call from becoming a tail call, which would have no frame here.
    std::hint::black_box(test())
}

thread_local! {
    /// The place of the last panic of this thread.
    static PANIC: RefCell<Option<Location>> = const { RefCell::new(None) };
}

type PanicHook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// The hook of the standard library, which shortens backtraces.
static DEFAULT_HOOK: LazyLock<PanicHook> = LazyLock::new(panic::take_hook);

/// The panic hook: calls the default hook, which writes to the test's standard error, and keeps the
/// location.
fn note_panic(info: &PanicHookInfo<'_>) {
    if info.payload().is::<Skip>() {
        return;
    }
    os::AddressSpaceEnd::lift();
    DEFAULT_HOOK(info);
    let location = info.location().map(|at| Location { file: at.file().into(), line: at.line() });
    PANIC.set(location);
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.map_or_else(|| "panicked with a value that is not text".to_owned(), shortened)
}

/// The bytes of a message that are kept: `assert_eq!` prints whole buffers.
const LONGEST_MESSAGE: usize = 64 * 1024;

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE);
    format!("{} [... {} bytes cut]", &message[..end], message.len() - end)
}

/// The payload of a panic by which a running test skips itself.
struct Skip(String);

/// The thread of the last `skip!` of the running test, and its reason.
static SKIPPED: Mutex<Option<(ThreadId, String)>> = Mutex::new(None);

/// Ends the running test as skipped; see the macro `skip!` of `clmatrix-harness`.
pub fn skip(reason: String) -> ! {
    *SKIPPED.lock() = Some((thread::current().id(), reason.clone()));
    panic::panic_any(Skip(reason))
}

/// Finds the payload of `skip!`, also in the error of `JoinHandle::join` that is thrown again as a whole.
fn skip_in(payload: &(dyn Any + Send)) -> Option<&Skip> {
    let within = || skip_in(payload.downcast_ref::<Box<dyn Any + Send>>()?.as_ref());
    payload.downcast_ref().or_else(within)
}

/// Returns whether a payload is that of `skip!`.
pub fn is_skip(payload: &(dyn Any + Send)) -> bool {
    skip_in(payload).is_some()
}

/// Puts before the message of a failure that `skip!` has ended another thread, if it has.
fn with_skip_elsewhere(message: String) -> String {
    match &*SKIPPED.lock() {
        Some((thread, reason)) if *thread != thread::current().id() => format!(
            "`skip!` was called on another thread and ended that thread alone: {reason}\n\
             call it on the thread of the test, or pass the payload on with std::panic::resume_unwind\n{message}"
        ),
        _ => message,
    }
}
