//! A run that is merged with others.

use std::path::{Path, PathBuf};

use clmatrix_runner::log::FORMAT;
use clmatrix_runner::log::device_record::DeviceRecord;
use clmatrix_runner::log::events::{DeviceAbsent, DriverFailed, Event};
use clmatrix_runner::log::plan::{PlannedDevice, PlannedTest};
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::terminal::AnyError;

/// The part of a run's log before the first test.
pub(crate) struct Input {
    /// The log.
    pub(crate) path: PathBuf,
    pub(crate) header: RunHeader,
    pub(crate) devices: Vec<DeviceRecord>,
    pub(crate) tests: Vec<PlannedTest>,
    pub(crate) planned: Vec<PlannedDevice>,
    pub(crate) absent: Vec<DeviceAbsent>,
    pub(crate) failed: Vec<DriverFailed>,
}

impl Input {
    /// Reads the beginning of a log.
    ///
    /// # Errors
    ///
    /// The log cannot be read, or does not begin with a header of this format.
    pub(crate) fn read(path: &Path) -> Result<Self, AnyError> {
        let mut input: Option<Self> = None;
        for event in RunLog::events(path)? {
            match (event?, &mut input) {
                (Event::Run(header), None) if header.format == FORMAT => {
                    input = Some(Self {
                        path: path.to_owned(),
                        header: *header,
                        devices: Vec::new(),
                        tests: Vec::new(),
                        planned: Vec::new(),
                        absent: Vec::new(),
                        failed: Vec::new(),
                    });
                }
                (Event::Expectation(_), Some(_)) => {}
                (Event::Device(record), Some(input)) => input.devices.push(*record),
                (Event::Plan(part), Some(input)) => input.tests.extend(part.tests),
                (Event::PlanDevice(part), Some(input)) => input.planned.push(part),
                (Event::DeviceAbsent(absent), Some(input)) => input.absent.push(absent),
                (Event::DriverFailed(failed), Some(input)) => input.failed.push(failed),
                _ => break,
            }
        }
        let no_header = || format!("{}: the log has no header of format {FORMAT}", path.display());
        let mut input = input.ok_or_else(no_header)?;
        // The header is that of the first run, if this one resumes others.
        input.header.run_id = RunHeader::read(path)?.run_id;
        Ok(input)
    }
}

/// Names the run in errors.
impl std::fmt::Display for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(shard) = &self.header.shard {
            write!(f, "shard {} of {}, ", shard.index, shard.total)?;
        }
        write!(f, "run {} on {} ({})", self.header.run_id, self.header.host, self.path.display())
    }
}
