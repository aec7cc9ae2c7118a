//! The part of a host's run that a fleet needs.

use std::time::Duration;

use clmatrix_characterize::measure::{Finding, Measured, Unit, Value};
use clmatrix_runner::devices::run_device::RunDevice;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::serde_time::Nanoseconds;
use clmatrix_runner::target::SUCCESS;
use indexmap::IndexMap;
use serde::Serialize;

use crate::characterize::logged;
use crate::report;
use crate::report::facts::{self, Facts};

/// The facts that name a device and differ between all devices of a model.
const OF_ONE_DEVICE: [&str; 2] = ["uuid", "pci address"];

/// The fact in which a host without a model differs from others.
pub(crate) const NUMBER: &str = "number of devices";

/// The fact that differs between shuffled runs.
const SEED: &str = "seed";

/// The run of a host.
#[derive(Debug, Serialize)]
pub(crate) struct HostRun {
    /// The name of the host.
    pub(crate) host: String,
    /// The id of the run.
    pub(crate) run_id: String,
    /// The exit status of the run.
    pub(crate) status: u8,
    /// The number of devices.
    pub(crate) devices: usize,
    /// The expected devices that are absent.
    pub(crate) absent: Vec<String>,
    /// The devices that were lost.
    pub(crate) lost: Vec<String>,
    /// The number of results of each verdict.
    pub(crate) results: String,
    /// Wall time of the run.
    #[serde(rename = "duration_ns", with = "Nanoseconds")]
    pub(crate) duration: Duration,
    /// The facts of the machine, then those of the devices of each model.
    #[serde(skip)]
    pub(crate) facts: IndexMap<Option<String>, Facts>,
    /// The measured numbers.
    #[serde(skip)]
    pub(crate) measured: Vec<HostMeasurement>,
}

/// A number that was measured on a device.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HostMeasurement {
    /// The host.
    pub(crate) host: String,
    /// The model.
    #[serde(skip)]
    pub(crate) model: String,
    /// The id of the device.
    pub(crate) device: String,
    /// The name of the measurement.
    pub(crate) name: String,
    pub(crate) value: f64,
    #[serde(skip)]
    pub(crate) spread: f64,
    pub(crate) unit: Unit,
}

impl HostRun {
    /// Takes the facts for a fleet from the sum of a log.
    pub(crate) fn new(log: &RunLog) -> Self {
        Self {
            host: log.header.host.clone(),
            run_id: log.header.run_id.clone(),
            status: log.exit_status(),
            devices: log.header.devices.len(),
            absent: log.absent.clone(),
            lost: log.lost.iter().map(|lost| lost.device.clone()).collect(),
            results: report::counts(log),
            duration: log.duration,
            facts: machine_and_models(log),
            measured: log.header.devices.iter().flat_map(|device| measured(log, device)).collect(),
        }
    }

    /// Returns whether all results are as expected.
    pub(crate) fn has_passed(&self) -> bool {
        self.status == SUCCESS
    }
}

/// Returns the facts of the machine, and those of each model, of all its devices.
fn machine_and_models(log: &RunLog) -> IndexMap<Option<String>, Facts> {
    let mut machine = facts::of_run(&log.header);
    machine.shift_remove(SEED);
    let mut models: IndexMap<String, Vec<Facts>> = IndexMap::new();
    for device in &log.header.devices {
        let mut facts = facts::of_device(log, device);
        facts.retain(|name, _| !OF_ONE_DEVICE.contains(&name.as_str()));
        models.entry(model(device)).or_default().push(facts);
    }
    let of_model = |(model, all): (String, Vec<Facts>)| {
        let number = (NUMBER.to_owned(), all.len().to_string());
        (Some(model), facts::joined(&all).into_iter().chain([number]).collect())
    };
    [(None, machine)].into_iter().chain(models.into_iter().map(of_model)).collect()
}

fn measured(log: &RunLog, device: &RunDevice) -> impl Iterator<Item = HostMeasurement> {
    let found = |measured: Measured| {
        let Finding { value, unit, spread, .. } = measured.answer.ok()?;
        let Value::Number(value) = value else { return None };
        let (host, name) = (log.header.host.clone(), measured.name);
        let (model, device) = (model(device), device.id.clone());
        Some(HostMeasurement { host, model, device, name, value, spread, unit })
    };
    logged(log, &device.id).into_iter().filter_map(found)
}

/// Returns the name of a device and of its platform.
fn model(device: &RunDevice) -> String {
    format!("{} ({})", device.info.name, device.platform.name)
}
