//! A test of a program of `[[external]]`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clmatrix::select::DeviceInfo;
use clmatrix_runner::config::ExternalKind;
use clmatrix_runner::log::program_record::ProgramRecord;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::outside::{OutsideTest, Watch};
use clmatrix_runner::worker::parent::WorkerCommand;
use clmatrix_runner::worker::process_attempt::ProcessAttempt;

use super::program::Program;
use super::program_run::ProgramRun;
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
        let test = self.name.as_deref().unwrap_or("list");
        let Program { suite, name, .. } = &*self.program;
        match name {
            Some(name) => format!("{}::{name}::{test}", suite.name),
            None => format!("{}::{test}", suite.name),
        }
    }

    fn file(&self) -> &Path {
        &self.program.file
    }

    fn program(&self) -> ProgramRecord {
        self.program.record()
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
