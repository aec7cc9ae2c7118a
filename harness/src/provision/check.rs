//! Checks in a worker process that a runtime works: a driver that crashes or hangs ends the worker only.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::Environment;
use crate::os;
use crate::worker::parent::{Reply, Worker, WorkerCommand};
use crate::worker::protocol::{Answer, Role};

/// The time limit. PoCL takes a second for each kernel that it builds for the first time.
const LIMIT: Duration = Duration::from_secs(60);

/// Builds and runs a kernel of each kind on the device that `environment` shows. `worker_arguments` lead this
/// executable to its worker's entry.
///
/// # Errors
///
/// The reason why the device does not work.
pub(super) fn check(
    environment: &Environment,
    worker_arguments: &[OsString],
) -> Result<(), String> {
    let command = WorkerCommand {
        role: Role::Probe,
        arguments: worker_arguments.to_vec(),
        environment: environment.changes(),
    };
    let mut worker = Worker::spawn(&command)?;
    let (never, _switch) = os::stop_signal().map_err(|error| error.to_string())?;
    let trouble = match worker.answer(Instant::now() + LIMIT, &never) {
        Reply::Answered(Answer::Probed { result, .. }) => return result,
        Reply::Answered(other) => format!("unexpected answer {other:?}"),
        Reply::Died(ending) => format!("the driver ended the process: {ending}"),
        Reply::TimedOut => format!("no answer within {}", humantime::format_duration(LIMIT)),
        Reply::Stopped => "stopped".to_owned(),
    };
    Err(worker.with_last_stderr_line(&trouble))
}
