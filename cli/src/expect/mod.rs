//! The expectations of the configuration beside the results of stored runs.

pub(crate) mod explain;
pub(crate) mod stale;
pub(crate) mod update;

use std::collections::HashMap;

use clmatrix_runner::config::{DeviceExpectations, Expectations};
use clmatrix_runner::devices::run_device::{RunDevice, without_host};
use clmatrix_runner::log::run_log::RunLog;

/// A function that returns whether expectations count in a run only where they were seen: `strict-versions` of its
/// profile.
pub(crate) type Strict<'a> = dyn Fn(&RunLog) -> bool + 'a;

/// The expectations for each device of a run, by its id.
pub(crate) struct RunExpectations<'a> {
    devices: HashMap<&'a str, DeviceExpectations<'a>>,
    host: DeviceExpectations<'a>,
}

impl<'a> RunExpectations<'a> {
    /// Looks up the expectations. `strict` returns the strictness of the profile of the run.
    pub fn new(expectations: &'a Expectations, log: &'a RunLog, strict: &Strict<'_>) -> Self {
        let is_strict = strict(log);
        let of_device = |device: &'a RunDevice| {
            let on_host = RunDevice { id: without_host(&device.id).to_owned(), ..device.clone() };
            (&*device.id, expectations.for_device(Some(&on_host)).strict(is_strict))
        };
        let devices = log.header.devices.iter().map(of_device).collect();
        Self { devices, host: expectations.for_device(None) }
    }

    /// Returns the expectations for the device with this id, or for tests without a device.
    pub fn on(&self, device: &str) -> &DeviceExpectations<'a> {
        self.devices.get(device).unwrap_or(&self.host)
    }
}
