//! A run from its first event to its reports.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::log::events::Event;
use crate::log::header::header;
use crate::log::read::RunLog;
use crate::log::recorder::{EventLog, Observer, Recorder};
use crate::os;
use crate::report;
use crate::run::interrupt;
use crate::run::plan::Plan;
use crate::run::schedule::{self, Run};
use crate::setup::Setup;
use crate::target::{CANNOT_RUN, Target};
use crate::terminal::{AnyError, output_result};

/// A run that is ready to begin.
pub struct Execution<'a> {
    /// The executable.
    pub target: Target,
    /// The machine and the configuration.
    pub setup: &'a Setup,
    /// The tests and their devices.
    pub plan: &'a Plan,
    /// The settings of workers, and the expectations.
    pub run: Run<'a>,
    /// The command that reruns one test; its id is appended.
    pub rerun_command: String,
    /// Where the log and the reports go; without it there are none.
    pub report_dir: Option<PathBuf>,
    /// True if each event goes to standard output as well.
    pub print_events: bool,
}

impl Execution<'_> {
    /// Runs everything while `meanwhile` runs on this thread, then writes the reports.
    ///
    /// Returns the log as it was read back, if there is one. A panic in the schedule ends the
    /// process, since `meanwhile` may wait for a result that never comes.
    ///
    /// # Errors
    ///
    /// The report folder cannot be written, or, after the reports are complete, standard output.
    pub fn run<T>(
        self,
        observer: &dyn Observer,
        meanwhile: impl FnOnce() -> T,
    ) -> Result<(Option<RunLog>, T), AnyError> {
        let log = self.report_dir.as_deref().map(create_log).transpose()?;
        let recorder = Recorder::new(log, self.print_events, observer);
        let stop = interrupt::stop_on_signals()?;
        let started = Instant::now();
        recorder.record(&Event::Run(header(&self.target, self.plan, self.rerun_command)));
        recorder.record(&Event::plan(self.plan));
        for expected in &self.setup.absent {
            recorder.record(&Event::DeviceAbsent { expected: expected.clone() });
        }
        for failed in &self.setup.machine.failed {
            let strict = self.setup.strict_drivers();
            recorder.record(&Event::DriverFailed { failed: failed.clone(), strict });
        }
        let shown = std::thread::scope(|scope| {
            scope.spawn(|| {
                let run = || schedule::execute(&self.run, &recorder, &stop);
                panic::catch_unwind(AssertUnwindSafe(run))
                    .unwrap_or_else(|_| os::exit_now(i32::from(CANNOT_RUN)))
            });
            meanwhile()
        });
        // Ctrl-C after the last test is not an interruption: all results are there.
        let interrupted = stop.is_set() && recorder.lacks_results();
        recorder.record(&Event::End { interrupted, duration: started.elapsed() });
        let printed = recorder.take_stdout_error().map_or(Ok(()), Err);
        let log = match &self.report_dir {
            Some(folder) => Some(finish_log(recorder, folder)?),
            None => None,
        };
        output_result(printed)?;
        Ok((log, shown))
    }
}

fn create_log(folder: &Path) -> Result<EventLog, AnyError> {
    EventLog::create(folder).map_err(|error| in_folder(folder, &error))
}

/// Writes the reports; the log stays locked until they are complete.
fn finish_log(recorder: Recorder<'_>, folder: &Path) -> Result<RunLog, AnyError> {
    let _lock = recorder.finish().map_err(|error| in_folder(folder, &error))?;
    write_reports(folder).map_err(|error| in_folder(folder, &*error))
}

fn in_folder(folder: &Path, error: &dyn std::error::Error) -> AnyError {
    format!("the report folder {}: {error}", folder.display()).into()
}

fn write_reports(folder: &Path) -> Result<RunLog, AnyError> {
    let log = RunLog::read(&EventLog::path(folder))?;
    report::write_all(&log, folder)?;
    Ok(log)
}
