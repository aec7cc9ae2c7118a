//! The worker's side: bind to the device, then run what is asked for.

use std::any::Any;
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::time::Instant;

use clmatrix::cl3::error_codes::CL_PLATFORM_NOT_FOUND_KHR;
use clmatrix::select::FoundPlatform;

use super::protocol::{Answer, DeviceAddress, Enumerated, ROLE_VARIABLE, Request, Role};
use crate::devices::icd::LoaderVariables;
use crate::registry::{self, ShouldPanic, Test};
use crate::verdict::{Location, Outcome};
use crate::{fixtures, os};

/// Becomes a worker if the environment says so, and then never returns.
///
/// Every entry point calls this first.
pub fn enter_if_asked() {
    let Some(role) = std::env::var_os(ROLE_VARIABLE) else { return };
    let role: Role = role
        .to_str()
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_else(|| panic!("{ROLE_VARIABLE} is set by the runner for its workers only"));
    // What the tests start in their turn are not workers.
    // SAFETY: no other thread exists yet.
    unsafe { std::env::remove_var(ROLE_VARIABLE) };
    let connection = os::become_worker().expect("descriptor 0 is the runner's socket");
    let status = serve(&role, connection);
    os::exit_now(status)
}

fn serve(role: &Role, connection: UnixStream) -> i32 {
    let mut runner = Runner::new(connection);
    match role {
        Role::Enumerate => {
            let platforms = match clmatrix::select::platforms() {
                Ok(found) => Ok(found.into_iter().map(enumerated).collect()),
                Err(error) if error.code() == CL_PLATFORM_NOT_FOUND_KHR => Ok(Vec::new()),
                Err(error) => Err(error.to_string()),
            };
            runner.answer(&Answer::Platforms(platforms));
            return 0;
        }
        Role::Host => {}
        Role::Device(address) => {
            if let Err(reason) = bind(address) {
                runner.answer(&Answer::NoDevice(reason));
                return 1;
            }
        }
    }
    runner.answer(&Answer::Ready);
    panic::set_hook(Box::new(note_panic));
    while let Some(Request { module, name }) = runner.next_request() {
        let test = registry::find(&module, &name).expect("runner and worker are one executable");
        let started = Instant::now();
        let outcome = run(test);
        let duration = started.elapsed();
        // The runner takes what has been written when the answer comes as the test's own.
        let _ = io::stdout().flush();
        os::flush_c_streams();
        runner.answer(&Answer::Done { outcome, duration });
    }
    0
}

fn enumerated(found: FoundPlatform) -> Enumerated {
    // Without a loader there need not be a dispatch table.
    let library = (!LoaderVariables::from_environment().bypass_the_loader())
        .then(|| os::library_of_platform(found.platform.id()))
        .flatten();
    Enumerated { info: found.info, library }
}

fn bind(address: &DeviceAddress) -> Result<(), String> {
    let platforms = clmatrix::select::platforms().map_err(|error| error.to_string())?;
    let platform = platforms.get(address.platform).ok_or("its platform is gone")?;
    let name = platform.info.devices.get(address.device).map(|device| device.name.as_str());
    if name != Some(&address.name) {
        return Err(format!(
            "expected the device {:?}, found {}",
            address.name,
            name.map_or_else(|| "none".to_owned(), |name| format!("{name:?}")),
        ));
    }
    fixtures::bind(fixtures::Bound {
        platform: platform.platform,
        device: platform.devices[address.device],
    });
    Ok(())
}

/// Runs one test in this process.
fn run(test: &Test) -> Outcome {
    PANIC.take();
    let result = panic::catch_unwind(AssertUnwindSafe(test.run));
    let noted = PANIC.take();
    match (result, test.should_panic) {
        (Ok(Ok(())), ShouldPanic::No) => Outcome::Passed,
        (Ok(Err(message)), ShouldPanic::No) => {
            eprintln!("{message}");
            Outcome::Failed { message, location: Some(location_of(test)) }
        }
        (Ok(_), _) => Outcome::Failed {
            message: "test did not panic as expected".to_owned(),
            location: Some(location_of(test)),
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

fn location_of(test: &Test) -> Location {
    Location { file: test.file.to_owned(), line: test.line }
}

thread_local! {
    /// Where this thread panicked last.
    static PANIC: RefCell<Option<Location>> = const { RefCell::new(None) };
}

/// The panic hook: like the default one, on the test's standard error, and keeps the place.
fn note_panic(info: &PanicHookInfo<'_>) {
    if info.payload().is::<Skip>() {
        return;
    }
    let location =
        info.location().map(|at| Location { file: at.file().to_owned(), line: at.line() });
    if let Some(Location { file, line }) = &location {
        eprintln!("panicked at {file}:{line}:\n{}", message_of(info.payload()));
    }
    let backtrace = std::backtrace::Backtrace::capture();
    if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
        eprintln!("{backtrace}");
    }
    PANIC.set(location);
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "panicked with a value that is not text".to_owned())
}

/// The payload by which a running test says that it cannot run here.
struct Skip(String);

/// Ends the running test as skipped; see [`skip!`](crate::skip).
pub fn skip(reason: String) -> ! {
    panic::panic_any(Skip(reason))
}

/// The worker's end of the connection.
struct Runner {
    requests: BufReader<UnixStream>,
    answers: UnixStream,
}

impl Runner {
    fn new(connection: UnixStream) -> Self {
        let answers = connection.try_clone().expect("a descriptor can be duplicated");
        Self { requests: BufReader::new(connection), answers }
    }

    /// The next request; `None` when the runner is gone.
    fn next_request(&mut self) -> Option<Request> {
        let mut line = String::new();
        self.requests.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    fn answer(&mut self, answer: &Answer) {
        let mut line = serde_json::to_string(answer).expect("answers are plain data");
        line.push('\n');
        // Without a runner there is nobody to tell; the watchdog ends this process.
        let _ = self.answers.write_all(line.as_bytes());
    }
}
