//! Checks in a worker process that a runtime works: a driver that crashes or hangs ends the worker only.

use std::time::{Duration, Instant};

use super::Environment;
use crate::folders::TemporaryFolder;
use crate::os::StopSignal;
use crate::variable;
use crate::worker::parent::{Reply, Worker, WorkerCommand};
use crate::worker::protocol::{Answer, Role};

/// The time limit. PoCL takes a second for each kernel that it builds for the first time.
const LIMIT: Duration = Duration::from_secs(60);

/// Builds and runs a kernel of each kind on the device that `environment` shows. Returns whether the driver works, or
/// its error; a repetition would return the same.
///
/// # Errors
///
/// The process ended or hung, for a reason that may be temporary: no linker, no memory.
pub(super) fn check(environment: &Environment) -> Result<Result<(), String>, String> {
    // PoCL would reuse kernels that it has built before, maybe on another processor.
    let cache = TemporaryFolder::new().map_err(|error| error.to_string())?;
    let settings = variable::all().filter(|(name, _)| name.to_string_lossy().starts_with("POCL_"));
    let mut variables: Vec<_> = settings.map(|(name, _)| (name, None)).collect();
    variables.push(("POCL_CACHE_DIR".into(), Some(cache.path().into())));
    variables.extend(environment.changes());
    let command =
        WorkerCommand { role: Role::Probe, arguments: Vec::new(), environment: variables };
    let never = StopSignal::new().map_err(|error| error.to_string())?;
    let mut worker = Worker::spawn(&command, &never)?;
    let trouble = match worker.answer(Instant::now() + LIMIT) {
        Reply::Answered(Answer::Ended(result)) => return Ok(result.map(drop)),
        Reply::Answered(other) => format!("unexpected answer {other:?}"),
        Reply::Died(ending) => format!("the driver ended the process: {ending}"),
        Reply::TimedOut => format!("no answer within {}", humantime::format_duration(LIMIT)),
        Reply::Stopped => "stopped".to_owned(),
    };
    Err(worker.with_last_stderr_line(&trouble))
}
