//! A run and its devices, without the results.

use clmatrix_characterize::measure::Measured;
use clmatrix_characterize::show::svg;
use clmatrix_characterize::{CharacterizedDevice, Devices};
use clmatrix_runner::devices::run_device::RunDevice;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::when_lost;
use clmatrix_runner::text::{clean, shell_quoted};
use humantime::format_rfc3339_seconds;
use serde::Serialize;
use serde_json::{Value, json};

use crate::characterize::logged;
use crate::report::facts::{self, Facts};
use crate::report::tally::{Conclusion, NotRun, count_by_loss};

/// A run, its verdict and its surroundings.
#[derive(Serialize)]
pub(super) struct RunData<'a> {
    id: String,
    time: String,
    host: String,
    /// `PASSED`, `FAILED`, ...
    conclusion: &'static str,
    /// The numbers of tests, devices and results of each verdict.
    sentence: String,
    command: String,
    /// The command that runs a test again; its id is appended.
    rerun: String,
    /// The address of a line of a source, with `{file}` and `{line}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_url: Option<&'a str>,
    environment: Facts,
    absent: Vec<String>,
    failed_drivers: Vec<Value>,
    lost: Vec<Value>,
    not_run: Vec<NotRun<'a>>,
    devices: Vec<DeviceData>,
}

/// A device, or `host`.
#[derive(Serialize)]
struct DeviceData {
    id: String,
    facts: Facts,
    properties: Facts,
    measured: Facts,
    /// Titles and drawings.
    curves: Vec<(String, String)>,
}

impl<'a> RunData<'a> {
    /// Describes a run with these devices.
    pub(super) fn new(log: &'a RunLog, devices: &[&str], characterized: &Devices) -> Self {
        let header = &log.header;
        let conclusion = Conclusion::new(log);
        let command: Vec<_> = header.command_line.iter().map(|word| shell_quoted(word)).collect();
        let failed_drivers = log.failed_drivers.iter().map(|failed| {
            json!({ "driver": clean(&failed.driver), "reason": clean(&failed.failure.reason) })
        });
        let lost = log.lost.iter().map(|lost| {
            json!({
                "device": lost.device,
                "reason": clean(&lost.reason),
                "when": when_lost(lost, str::to_owned),
                "suspects": lost.suspects.len(),
                "tests": count_by_loss(log, &lost.device),
            })
        });
        let device = |id: &&str| DeviceData::new(log, id, characterized.get(*id));
        Self {
            id: header.run_id.clone(),
            time: format_rfc3339_seconds(header.time).to_string(),
            host: clean(&header.host),
            conclusion: conclusion.word,
            sentence: conclusion.sentence(),
            command: clean(&command.join(" ")),
            rerun: clean(&header.rerun_command),
            source_url: header.source_url.as_deref().filter(|url| url.starts_with("http")),
            environment: cleaned(facts::of_run(header)),
            absent: log.absent.iter().map(|expected| clean(expected)).collect(),
            failed_drivers: failed_drivers.collect(),
            lost: lost.collect(),
            not_run: NotRun::of_run(log),
            devices: devices.iter().map(device).collect(),
        }
    }
}

impl DeviceData {
    fn new(log: &RunLog, id: &str, characterized: Option<&CharacterizedDevice>) -> Self {
        let device = log.header.devices.iter().find(|device| device.id == id);
        let own = device.map(|RunDevice { platform, info, .. }| {
            (&info.name, &platform.name, &info.driver_version)
        });
        let characterized = characterized
            .filter(|known| own == Some((&known.name, &known.platform, &known.driver_version)));
        let properties = match log.properties.get(id) {
            Some(Ok(properties)) => properties.clone(),
            Some(Err(error)) => [("error".to_owned(), error.clone())].into(),
            None => Facts::new(),
        };
        let of_run = logged(log, id);
        let later = characterized.into_iter().flat_map(|known| known.measured.values());
        Self {
            id: id.to_owned(),
            facts: device.map(|device| cleaned(facts::of_device(log, device))).unwrap_or_default(),
            properties: cleaned(properties),
            measured: cleaned(later.chain(&of_run).map(measurement).collect()),
            curves: characterized.map(curves).unwrap_or_default(),
        }
    }
}

fn measurement(measured: &Measured) -> (String, String) {
    let answer = measured.answer.as_ref().map_or_else(ToString::to_string, ToString::to_string);
    (measured.name.clone(), answer)
}

/// Returns the curves of a device. A curve that cannot be drawn is left out: the values are there.
fn curves(device: &CharacterizedDevice) -> Vec<(String, String)> {
    let drawn = |(name, curve): (String, _)| Some((name.clone(), svg::text(&curve, &name).ok()?));
    device.curves().into_iter().filter_map(drawn).collect()
}

fn cleaned(facts: Facts) -> Facts {
    facts.into_iter().map(|(name, value)| (clean(&name), clean(&value))).collect()
}
