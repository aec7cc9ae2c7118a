//! The worker's side: binds the device, then runs the tasks of the runner.

use std::any::Any;
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Write};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::process::Command;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use clmatrix::cl3::error_codes::CL_PLATFORM_NOT_FOUND_KHR;
use clmatrix::select::FoundPlatform;

use super::contexts::kept;
use super::device_probe::{self, Kernels};
use super::leak_check::LeakCheck;
use super::process_state::ProcessState;
use super::property;
use super::protocol::{Answer, Enumerated, ROLE_VARIABLE, Request, Role, Task};
use crate::config::Contexts;
use crate::devices::device_address::DeviceAddress;
use crate::devices::diagnose;
use crate::devices::failure::{DriverFailure, FailureKind};
use crate::devices::icd::LoaderVariables;
use crate::devices::loader_functions;
use crate::os::Connection;
use crate::registry::{self, ShouldPanic, Test, TestReturn};
use crate::result::ended::Ended;
use crate::result::findings::Findings;
use crate::verdict::{Location, Outcome};
use crate::{fixtures, os};

/// The least change of the resident memory that is logged, in bytes.
const RESIDENT_STEP: u64 = 1 << 20;

/// The time in which a worker that leaves can still be ended by an earlier test.
pub const LAST_MOMENT: Duration = Duration::from_millis(20);

/// Becomes a worker if the environment says so, and then never returns.
///
/// Every entry point calls this first.
pub fn enter_if_asked() {
    let Some(role) = std::env::var_os(ROLE_VARIABLE) else { return };
    let role: Role = role
        .to_str()
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_else(|| panic!("{ROLE_VARIABLE} is set by the runner for its workers only"));
    // Processes that the tests start are no workers.
    // SAFETY: no other thread exists yet: an entry point calls this first, and a target with
    // libtest's own `main` is started with `--test-threads=1`, which runs the test on the main thread.
    unsafe { std::env::remove_var(ROLE_VARIABLE) };
    let connection = os::become_worker().expect("the runner waits for its worker");
    if role == Role::Program {
        become_program(connection);
    }
    // Numbers are written without an allocation.
    os::report_crashes(&connection, |line, last_word| {
        let answer = match last_word {
            os::LastWord::Crash(crash) => Answer::Crashing(crash),
            os::LastWord::Exit { in_test } => Answer::Exiting { in_test },
        };
        serde_json::to_writer(line, &answer).is_ok()
    });
    let status = serve(&role, connection);
    os::exit_now(status)
}

/// Becomes the program that the arguments name. The keeper stays its parent.
fn become_program(mut connection: Connection) -> ! {
    let mut words = std::env::args_os().skip(1);
    let program = words.next().expect("the runner names a program");
    let error = os::become_program(Command::new(program).args(words));
    // The runner reads the reason from the connection.
    let _ = write!(connection, "the program cannot be started: {error}");
    os::exit_now(1)
}

fn serve(role: &Role, connection: Connection) -> i32 {
    let mut runner = Runner::new(connection);
    match role {
        Role::Enumerate { library } => {
            runner.send(&Answer::Platforms(enumerate(library.as_deref())));
            return 0;
        }
        Role::Probe => {
            runner.send(&Answer::Probed { number: 0, result: probe_first_device() });
            return 0;
        }
        Role::Host => {}
        Role::Program => unreachable!("the process has become a program"),
        Role::Device(address) => {
            if let Err(reason) = bind(address) {
                runner.send(&Answer::NoDevice(reason));
                return 1;
            }
        }
    }
    runner.send(&Answer::Ready);
    let mut state = None;
    while let Some(Request { number, task }) = runner.next_request() {
        let answer = match task {
            Task::Prepare { finds_leaks, contexts } => {
                prepare(finds_leaks, contexts);
                state = Some(WorkerState::here(finds_leaks));
                Answer::Prepared { number }
            }
            Task::Test { module, name, is_fresh } => {
                let test = registry::find(&module, &name);
                let test = test.expect("runner and worker are one executable");
                // A worker that was not prepared takes the baseline now, without a context.
                let state = state.get_or_insert_with(|| WorkerState::here(false));
                // The test may have forked, and its child must not go on as a second worker.
                let Some(answer) = state.test(number, test, is_fresh) else { return 0 };
                answer
            }
            Task::Probe => {
                let result = device_probe::probe(&fixtures::device(), Kernels::Simplest);
                Answer::Probed { number, result }
            }
            Task::Leave => {
                if let Role::Device(_) = role {
                    // Its errors are those of the device. Only a crash is of interest here.
                    let _ = device_probe::probe(&fixtures::device(), Kernels::None);
                }
                os::trim_heap();
                thread::sleep(LAST_MOMENT);
                Answer::Left { number }
            }
            Task::Exit => std::process::exit(0),
            Task::Job(call) => {
                let note =
                    |step: &str| runner.send(&Answer::Trying { number, step: step.to_owned() });
                Answer::JobDone { number, output: call.run(&note) }
            }
        };
        // The runner takes what has been written when the answer comes as the task's own.
        let _ = io::stdout().flush();
        os::flush_c_streams();
        runner.send(&answer);
    }
    0
}

/// Creates the first context of this process, and keeps it for the first test or releases it.
///
/// Drivers change signal handlers and start threads and helpers when they make their first context. An
/// error is left to the tests.
fn prepare(finds_leaks: bool, contexts: Contexts) {
    let context = fixtures::first_context();
    let mut kept = kept();
    kept.finds_leaks = finds_leaks;
    kept.reuses = contexts == Contexts::Reuse;
    if let Some(context) = context.as_ref().filter(|_| contexts == Contexts::Reuse) {
        kept.add_idle(context);
    }
}

/// A worker before its first test.
struct WorkerState {
    process: u32,
    baseline: os::Baseline,
    finds_leaks: bool,
    /// The resident memory that the log has last, in bytes.
    resident: u64,
}

impl WorkerState {
    fn here(finds_leaks: bool) -> Self {
        os::report_aborts();
        os::report_exits();
        let baseline = os::Baseline::now();
        Self { process: std::process::id(), baseline, finds_leaks, resident: 0 }
    }

    /// Runs a test and undoes what it leaves behind; `None` in a child that the test has forked.
    fn test(&mut self, number: u64, test: &Test, is_fresh: bool) -> Option<Answer> {
        let started = Instant::now();
        property::take();
        // A driver may have been loaded by the test before.
        os::report_aborts();
        let reuses = kept().begin_test(is_fresh);
        let check = (self.finds_leaks || reuses).then(LeakCheck::begin);
        let mut outcome = run(test);
        let duration = started.elapsed();
        if std::process::id() != self.process {
            return None;
        }
        let leaks = check.map(LeakCheck::end);
        let mut has_left_nothing = matches!(leaks, Some(None));
        let leaks = leaks.flatten().filter(|_| self.finds_leaks).unwrap_or_default();
        let left = self.baseline.restore();
        let has_failed = matches!(outcome, Outcome::Failed { .. });
        // Unless the worker can go on, the leaks of a failed test end with this process.
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
        let is_as_before = !left.remains();
        let findings = Findings {
            properties: property::take(),
            left_behind: left.into_notes(),
            resident: self.resident_if_changed(),
        };
        let (has_reused_context, keeps_used_context) = kept().use_of_contexts();
        let process = ProcessState {
            leaks,
            is_as_before,
            has_left_nothing,
            has_reused_context,
            keeps_used_context,
        };
        let ended = Box::new(Ended { outcome, duration, findings });
        Some(Answer::Done { number, ended, process })
    }

    fn resident_if_changed(&mut self) -> Option<u64> {
        let now = os::resident_memory()?;
        let has_changed = now.abs_diff(self.resident) >= RESIDENT_STEP;
        has_changed.then(|| {
            self.resident = now;
            now
        })
    }
}

/// The platforms that this process sees. Where there is none, the failure is that of `library`; all
/// drivers together may show none.
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
        && found
            .platform
            .opencl3()
            .extensions()
            .is_ok_and(|extensions| extensions.contains("cl_khr_icd"));
    let library = has_table.then(|| os::library_of_platform(found.platform.as_raw())).flatten();
    Enumerated { info: found.info, library }
}

fn probe_first_device() -> Result<(), String> {
    let platforms = clmatrix::select::platforms().map_err(|error| error.to_string())?;
    let device = platforms.iter().flat_map(|platform| &platform.devices).next();
    device_probe::probe(device.ok_or("the driver shows no device")?, Kernels::EachKind)
}

fn bind(address: &DeviceAddress) -> Result<(), String> {
    let platforms = clmatrix::select::platforms().map_err(|error| error.to_string())?;
    let platform = platforms.get(address.platform).ok_or("its platform is gone")?;
    let found = platform.info.devices.get(address.device);
    if !found.is_some_and(|device| address.is_of(device)) {
        let DeviceAddress { name, uuid, pci_address, .. } = address;
        let expected = described(name, uuid.as_deref(), pci_address.as_deref());
        let found = found.map_or_else(
            || "none".to_owned(),
            |info| described(&info.name, info.uuid.as_deref(), info.pci_address.as_deref()),
        );
        return Err(format!("expected the device {expected}, found {found}"));
    }
    fixtures::bind(fixtures::Bound {
        platform: platform.platform,
        device: platform.devices[address.device].clone(),
    });
    Ok(())
}

/// `"NAME" (UUID, PCI-ADDRESS)`, as far as they are known.
fn described(name: &str, uuid: Option<&str>, pci_address: Option<&str>) -> String {
    let known: Vec<&str> = uuid.into_iter().chain(pci_address).collect();
    match known.is_empty() {
        true => format!("{name:?}"),
        false => format!("{name:?} ({})", known.join(", ")),
    }
}

/// Runs one test in this process.
fn run(test: &Test) -> Outcome {
    // Evaluated before the first hook is set. A test may have replaced the hook, so each test sets it.
    LazyLock::force(&DEFAULT_HOOK);
    panic::set_hook(Box::new(note_panic));
    PANIC.take();
    if let Some(reason) = loader_functions::missing(test.requires) {
        return Outcome::Skipped { reason };
    }
    let running = os::RunningTest::here();
    let result = panic::catch_unwind(AssertUnwindSafe(|| __rust_begin_short_backtrace(test.run)));
    drop(running);
    let noted = PANIC.take();
    match (result, test.should_panic) {
        (Ok(Ok(())), ShouldPanic::No) => Outcome::Passed,
        (Ok(Err(message)), ShouldPanic::No) => {
            let message = shortened(&message);
            let _ = writeln!(io::stderr(), "{message}");
            Outcome::Failed { message, location: Some(test.location()) }
        }
        (Ok(_), _) => Outcome::Failed {
            message: "test did not panic as expected".to_owned(),
            location: Some(test.location()),
        },
        (Err(payload), should_panic) => {
            if let Some(skip) = payload.downcast_ref::<Skip>() {
                return Outcome::Skipped { reason: skip.0.clone() };
            }
            let message = message_of(payload.as_ref());
            match should_panic {
                ShouldPanic::Yes => Outcome::Passed,
                ShouldPanic::With(expected) if message.contains(expected) => Outcome::Passed,
                ShouldPanic::With(expected) => Outcome::Failed {
                    message: format!(
                        "panicked with {message:?}, which does not contain the expected {expected:?}"
                    ),
                    location: noted,
                },
                ShouldPanic::No => Outcome::Failed { message, location: noted },
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
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .map_or_else(|| "panicked with a value that is not text".to_owned(), shortened)
}

/// Bytes of a message that are kept: `assert_eq!` prints whole buffers.
const LONGEST_MESSAGE: usize = 64 * 1024;

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE);
    format!("{} [... {} bytes cut]", &message[..end], message.len() - end)
}

/// The payload by which a running test says that it cannot run here.
struct Skip(String);

/// Ends the running test as skipped; see [`skip!`](crate::skip).
pub fn skip(reason: String) -> ! {
    panic::panic_any(Skip(reason))
}

/// The worker's end of the connection.
struct Runner {
    requests: BufReader<Connection>,
    answers: Connection,
}

impl Runner {
    fn new(connection: Connection) -> Self {
        let answers = connection.try_clone().expect("a descriptor can be duplicated");
        Self { requests: BufReader::new(connection), answers }
    }

    /// The next request; `None` when the runner is gone.
    fn next_request(&mut self) -> Option<Request> {
        let mut line = String::new();
        if self.requests.buffer().is_empty() {
            os::wait_for_bytes(self.requests.get_ref());
        }
        self.requests.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    fn send(&self, answer: &Answer) {
        let mut line = serde_json::to_string(answer).expect("answers are plain data");
        line.push('\n');
        // It fails where the runner is gone; the keeper ends this process.
        let _ = (&self.answers).write_all(line.as_bytes());
    }
}
