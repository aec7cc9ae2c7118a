//! One test below a debugger, in a process that is bound to its device as a worker is.
//!
//! The process has the terminal and its signals, no time limit and no capture. The log of the run says that the test
//! was debugged; the exit status is that of the debugger.

use std::process::Command;

use crate::case::Case;
use crate::execution::Execution;
use crate::os::StopSignal;
use crate::result::not_run_reason::NotRunReason;
use crate::target::{CANNOT_RUN, UNEXPECTED};
use crate::terminal::{AnyError, status_line};
use crate::text::shell_quoted;
use crate::verdict::Outcome;
use crate::worker::parent::START_LIMIT;
use crate::worker::{Role, child};
use crate::{registry, variable};

/// The variable that makes a process run one test: the role of the process, and the module and the name of the test.
const VARIABLE: &str = "CLMATRIX_DEBUGGED_TEST";

/// The ids of tests that the error for several names.
const NAMED: usize = 5;

/// Runs the only test of a run below a debugger, whose words are split as a shell does. Returns its exit status.
///
/// # Errors
///
/// Several tests are selected, or one of another program; the debugger cannot be started.
pub fn run(mut execution: Execution<'_>, debugger: &str) -> Result<u8, AnyError> {
    let (mut command, id) = command(&execution, debugger)?;
    status_line(&format!("{id} below {debugger}"));
    execution.run.not_run = Some(NotRunReason::Debugged);
    execution.before_tests = None;
    // Ctrl-C is for the debugger, which does not inherit these handlers.
    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        signal_hook::flag::register(signal, std::sync::Arc::default())?;
    }
    let status = command.status().map_err(|error| format!("{debugger}: {error}"))?;
    execution.run(&(), || ())?.trouble.map_or(Ok(()), Err)?;
    // A debugger that a signal has ended has no status.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(UNEXPECTED))
}

/// Returns the command for the debugger, and the id of the test.
fn command(execution: &Execution<'_>, debugger: &str) -> Result<(Command, String), AnyError> {
    let (plan, run) = (execution.plan, &execution.run);
    if plan.entries.is_empty() {
        return Err("--debugger runs one test, and none is selected".into());
    }
    let [entry] = &plan.entries[..] else {
        let ids = plan.entries.iter().take(NAMED).map(|entry| plan.id(entry).to_string());
        let (ids, count) = (ids.collect::<Vec<_>>().join(", "), plan.entries.len());
        let more = if count > NAMED { ", ..." } else { "" };
        return Err(format!(
            "--debugger runs one test, and {count} are selected; name one: {ids}{more}"
        )
        .into());
    };
    let id = plan.id(entry).to_string();
    let Case::Registered(test) = &entry.test else {
        return Err(format!("{id} is a test of another program: run that below {debugger}").into());
    };
    let config = match entry.device {
        _ if entry.lacks_device() => {
            return Err("the test needs a device, and there is none".into());
        }
        Some(device) => &run.devices[device as usize],
        None => &run.host,
    };
    let words = shell_words::split(debugger).map_err(|error| format!("--debugger: {error}"))?;
    let [program, arguments @ ..] = &words[..] else {
        return Err("--debugger: name a program, such as `gdb --args`".into());
    };
    // The device may be found among others only, which the first worker shows.
    let never = StopSignal::new()?;
    let worker = config.commands.start(START_LIMIT, &never);
    drop(worker.map_err(|lost| lost.reason().unwrap_or_default())?);
    let worker = config.commands.current();
    let mut command = Command::new(program);
    command.args(arguments).arg(std::env::current_exe()?);
    worker.apply_to(&mut command);
    let json = serde_json::to_string(&(&worker.role, test.module, test.name));
    let json = json.expect("a test is plain data");
    command.env(VARIABLE, json);
    Ok((command, id))
}

/// Runs the test of the environment, if it has one, and then never returns: exits with 0 if it passes or is skipped.
pub(crate) fn enter_if_asked() {
    let Some(json) = variable::text(VARIABLE) else { return };
    let refuse = |reason: &str| -> ! {
        eprintln!("error: {VARIABLE}={}: {reason}", shell_quoted(&json));
        std::process::exit(i32::from(CANNOT_RUN))
    };
    let Ok((role, module, name)) = serde_json::from_str::<(Role, String, String)>(&json) else {
        refuse("`--debugger` sets it; unset it")
    };
    let Some(test) = registry::find(&module, &name) else { refuse("there is no such test") };
    // SAFETY: no other thread uses a variable here: the main thread of libtest waits for this one.
    unsafe { std::env::remove_var(VARIABLE) };
    if let Role::Device(address) = &role
        && let Err(reason) = child::bind(address)
    {
        refuse(&reason)
    }
    child::on_thread_of_tests(move || {
        let outcome = child::run(test);
        eprintln!("{}::{}: {outcome}", test.module, test.name);
        let is_good = matches!(outcome, Outcome::Passed | Outcome::Skipped { .. });
        // Exit handlers run: some tools report in theirs.
        std::process::exit(if is_good { 0 } else { child::PANICKED })
    })
}
