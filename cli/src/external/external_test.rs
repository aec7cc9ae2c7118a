//! A test of a program of `[[external]]`, and the process that runs it on a device.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clmatrix::select::DeviceInfo;
use clmatrix_runner::config::ExternalKind;
use clmatrix_runner::devices::DeviceAddress;
use clmatrix_runner::log::program_record::ProgramRecord;
use clmatrix_runner::os::{Source, StopSignal};
use clmatrix_runner::outside::{OutsideTest, Watch};
use clmatrix_runner::result::crash_cause::ExitTime;
use clmatrix_runner::verdict::Outcome;
use clmatrix_runner::worker::capture::Capture;
use clmatrix_runner::worker::parent::{WorkerCommand, crash};
use clmatrix_runner::worker::process_attempt::ProcessAttempt;
use clmatrix_runner::worker::protocol::Role;

use super::process::{Environment, ProgramProcess, ProgramWaitEnd};
use super::program::Program;
use super::{libtest, opencl_cts};

/// A test of a program of `[[external]]`.
pub(crate) struct ExternalTest {
    /// The program.
    pub(super) program: Arc<Program>,
    /// The program's name of the test; or the reason why its tests are unknown, which is
    /// the failure of the test `list`.
    pub(super) name: Result<String, String>,
    /// True if the program marks the test as ignored.
    pub(super) is_ignored: bool,
}

impl OutsideTest for ExternalTest {
    /// Returns the id without its device: `SUITE::PROGRAM::TEST`.
    fn path(&self) -> String {
        format!("{}::{}", self.program.path(), self.name.as_deref().unwrap_or("list"))
    }

    fn file(&self) -> &Path {
        &self.program.file
    }

    fn program(&self) -> ProgramRecord {
        let Program { file, build, .. } = &*self.program;
        let file = file.display().to_string();
        ProgramRecord { name: self.program.path(), file, build: build.clone() }
    }

    /// Returns why the tests of the program are unknown, if this is the test `list`.
    fn list_error(&self) -> Option<&str> {
        self.name.as_ref().err().map(String::as_str)
    }

    fn is_ignored(&self) -> bool {
        self.is_ignored
    }

    fn missing(&self, device: &DeviceInfo) -> Option<String> {
        self.program.suite.missing(device)
    }

    fn timeout(&self) -> Option<Duration> {
        self.program.suite.timeout
    }

    fn run(
        &self,
        limit: Duration,
        memory: Option<u64>,
        worker: &WorkerCommand,
        stop: &StopSignal,
        watch: &mut dyn Watch,
    ) -> ProcessAttempt {
        let run = ProgramRun { test: self, limit, memory, worker, stop };
        let attempt = match self.program.suite.kind {
            ExternalKind::OpenclCts => opencl_cts::run(&run, watch),
            ExternalKind::Libtest => libtest::run(&run, watch),
        };
        attempt.unwrap_or_else(ProcessAttempt::not_started)
    }
}

/// A test of a program, to run in a process on a device.
pub(crate) struct ProgramRun<'a> {
    pub test: &'a ExternalTest,
    /// The limit of the test.
    pub limit: Duration,
    /// The most resident memory of the process, in bytes.
    pub memory: Option<u64>,
    /// The command of a worker of the device.
    pub worker: &'a WorkerCommand,
    pub stop: &'a StopSignal,
}

impl<'a> ProgramRun<'a> {
    /// Returns the program's name of the test.
    pub(super) fn name(&self) -> &'a str {
        self.test.name.as_deref().unwrap_or_default()
    }

    /// Starts the program with these arguments and variables, and those of the suite and the device. `last` follows
    /// the arguments of the suite. Passes the process to `watch`.
    pub(super) fn start(
        &self,
        arguments: &[&str],
        last: &[&str],
        variables: &Environment,
        watch: &'a mut dyn Watch,
    ) -> Result<RunningTest<'a>, String> {
        let program = &self.test.program;
        let suite = &program.suite;
        let own: Vec<&str> = suite.args.iter().map(String::as_str).collect();
        let arguments = [arguments, &own, last].concat();
        let mut environment = self.worker.environment.clone();
        environment.extend(variables.iter().cloned());
        let DeviceAddress { platform, device, .. } = self.address();
        let own = suite.environment(*platform, *device);
        environment.extend(own.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
        let process = ProgramProcess::start(program, &arguments, &environment, self.memory)?;
        watch.begins(process.id());
        let (stdout, stderr, now) = (Capture::default(), Capture::default(), Instant::now());
        Ok(RunningTest { process, stdout, stderr, last: now, begin: now, stop: self.stop, watch })
    }

    /// Returns the outcome of a test, or of the exit after it, that this end of the process decides.
    pub(super) fn outcome_of(&self, end: ProgramWaitEnd, when: ExitTime) -> Outcome {
        match end {
            ProgramWaitEnd::Died(cause) => crash(cause, when),
            ProgramWaitEnd::TimedOut => Outcome::TimedOut { limit: self.limit },
            ProgramWaitEnd::HasTooMuchMemory(cause) => Outcome::Crashed { cause },
            ProgramWaitEnd::Stopped => Outcome::NotRun { reason: self.stop.not_run() },
        }
    }

    /// Returns the position of the device in a process that sees only its driver.
    pub(super) fn address(&self) -> &DeviceAddress {
        match &self.worker.role {
            Role::Device(address) => address,
            role => unreachable!("an outside test has a device, and no {role:?}"),
        }
    }
}

/// A program that runs a test, with its output so far.
pub(super) struct RunningTest<'a> {
    pub process: ProgramProcess,
    pub stdout: Capture,
    pub stderr: Capture,
    /// The time of the last output on standard output.
    pub last: Instant,
    begin: Instant,
    stop: &'a StopSignal,
    watch: &'a mut dyn Watch,
}

impl RunningTest<'_> {
    /// Waits until the process has ended, or a limit has passed.
    ///
    /// # Errors
    ///
    /// The program was not started.
    pub fn wait(&mut self, limit: Duration) -> Result<ProgramWaitEnd, String> {
        let Self { process, stdout, stderr, last, stop, watch, .. } = self;
        process.wait(limit, stop, &mut |from, bytes| {
            watch.wrote(from, bytes);
            match from {
                Source::Stderr => stderr.push(bytes),
                _ => {
                    stdout.push(bytes);
                    *last = Instant::now();
                }
            }
            true
        })
    }

    /// Returns the time of the test: up to the last output if it has ended, else up to now.
    pub fn time(&self, has_ended: bool) -> Duration {
        let end = if has_ended { self.last } else { Instant::now() };
        end - self.begin
    }
}
