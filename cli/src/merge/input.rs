//! A run that is merged with others.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clmatrix_harness::private::log::device_record::DeviceRecord;
use clmatrix_harness::private::log::events::{DeviceAbsent, DriverFailed, Event};
use clmatrix_harness::private::log::format::FORMAT;
use clmatrix_harness::private::log::plan::{PlannedDevice, PlannedTest};
use clmatrix_harness::private::log::read_error::ReadError;
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::run_log::RunLog;

/// All that the log of a run says before the first test.
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

/// A run that cannot be merged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log does not begin with a header of this format.
    #[error("{}: the log has no header of format {FORMAT}", .0.display())]
    NoHeader(PathBuf),
}

impl Input {
    /// Reads the beginning of a log.
    pub(crate) fn read(path: &Path) -> Result<Self, InputError> {
        let mut input: Option<Self> = None;
        RunLog::for_each_event(path, |event| {
            let is_beginning = match (event, &mut input) {
                (Event::Run(header), None) if header.format == FORMAT => {
                    input = Some(Self::new(path, *header));
                    true
                }
                (event, Some(input)) => input.add(event),
                (_, None) => false,
            };
            if is_beginning { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut input = input.ok_or_else(|| InputError::NoHeader(path.to_owned()))?;
        // The header is that of the first run, if this one goes on with others.
        input.header.run_id = RunHeader::read(path)?.run_id;
        Ok(input)
    }

    fn new(path: &Path, header: RunHeader) -> Self {
        Self {
            path: path.to_owned(),
            header,
            devices: Vec::new(),
            tests: Vec::new(),
            planned: Vec::new(),
            absent: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Adds an event. Returns whether it belongs to the beginning.
    fn add(&mut self, event: Event) -> bool {
        match event {
            Event::Expectation(_) => {}
            Event::Device(record) => self.devices.push(*record),
            Event::Plan(part) => self.tests.extend(part.tests),
            Event::PlanDevice(part) => self.planned.push(part),
            Event::DeviceAbsent(absent) => self.absent.push(absent),
            Event::DriverFailed(failed) => self.failed.push(failed),
            _ => return false,
        }
        true
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
