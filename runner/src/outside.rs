//! Tests of other programs, for runs. A command brings the programs: `clmatrix-cli` has those of `[[external]]` in
//! the configuration.

use std::path::Path;
use std::time::Duration;

use clmatrix::select::DeviceInfo;

use crate::log::program_record::ProgramRecord;
use crate::os::{Source, StopSignal};
use crate::worker::{ProcessAttempt, WorkerCommand};

/// A test of another program.
pub trait OutsideTest: Send + Sync {
    /// Returns the id without its device.
    fn path(&self) -> String;

    /// Returns the file of the program.
    fn file(&self) -> &Path;

    /// Returns the record of the program for the header of a run.
    fn program(&self) -> ProgramRecord;

    /// Returns why the tests of the program are unknown, if this test represents them. It fails with the reason and
    /// needs no device.
    fn list_error(&self) -> Option<&str>;

    /// Returns whether the program marks the test as ignored.
    fn is_ignored(&self) -> bool;

    /// Returns why the test cannot run on a device, or `None` if it can.
    fn missing(&self, device: &DeviceInfo) -> Option<String>;

    /// Returns the limit of the test itself.
    fn timeout(&self) -> Option<Duration>;

    /// Runs the test in a process, which may have this resident memory, in bytes. `worker` is the command of a worker of
    /// the device.
    fn run(
        &self,
        limit: Duration,
        memory: Option<u64>,
        worker: &WorkerCommand,
        stop: &StopSignal,
        watch: &mut dyn Watch,
    ) -> ProcessAttempt;
}

/// Follows a process.
pub trait Watch {
    /// The process of this id has been started.
    fn begins(&mut self, process: u32);

    /// The test has written these bytes.
    fn wrote(&mut self, from: Source, bytes: &[u8]);
}
