//! Properties and measurements of devices, taken in workers: for `clmatrix characterize`, and before the first test of a
//! run. `jobs` has the side of the worker. `name_filter` and `report_files` are the selection and the files of the
//! command. Measurements in the log of a run are plain data.

pub(crate) mod device_session;
pub(crate) mod jobs;
pub(crate) mod name_filter;
pub(crate) mod report_files;

use clmatrix_characterize::measure::{Measured, Shares, Topic};
use clmatrix_runner::devices::TestDevice;
use clmatrix_runner::log::events::{DeviceMeasurements, Event};
use clmatrix_runner::log::recorder::Recorder;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::run::state::{Run, WorkerConfig};
use clmatrix_runner::terminal::status_line;
use serde_json::{Map, Value};

use self::device_session::{DeviceSession, usual_settings};

/// Measures each device of a run that has tests before its first test, one after the other, while nothing else runs,
/// until the run is stopped.
pub(crate) fn measure(run: &Run<'_>, recorder: &Recorder<'_>, stop: &StopSignal) {
    for (position, (device, config)) in run.plan.devices.iter().zip(&run.devices).enumerate() {
        let has_tests = run.plan.entries.iter().any(|entry| entry.device == Some(position as u32));
        if has_tests && !stop.is_set() {
            status_line(&format!("{}: measuring", device.run.id));
            let measured = to_log(&measured(device, config, stop));
            let device = device.run.id.clone();
            recorder.record(Event::Measured(DeviceMeasurements { device, measured }));
        }
    }
}

/// Returns the measurements of all topics, without their samples; those so far if the run is stopped.
fn measured(device: &TestDevice, config: &WorkerConfig, stop: &StopSignal) -> Vec<Measured> {
    let mut session = DeviceSession::new(device, config, stop);
    let known = session.characterization().ok();
    let settings = usual_settings(device, known.as_deref());
    let shares = Shares::new(&Topic::ALL, &settings);
    let measured = |topic| session.measured(topic, &shares.of(topic));
    let measured = Topic::ALL.into_iter().map_while(measured).flatten();
    measured.map(|measured| Measured { series: Vec::new(), ..measured }).collect()
}

/// Returns the measurements of a device in a log; those that this version cannot read are left out.
pub(crate) fn logged(log: &RunLog, device: &str) -> Vec<Measured> {
    let measured = log.measured.get(device).into_iter().flatten();
    measured.filter_map(|fields| serde_json::from_value(fields.clone().into()).ok()).collect()
}

/// Returns measurements in the form of the log.
pub(crate) fn to_log(measured: &[Measured]) -> Vec<Map<String, Value>> {
    let fields = |measured| match serde_json::to_value(measured) {
        Ok(Value::Object(fields)) => fields,
        other => unreachable!("a measurement is a map, and not {other:?}"),
    };
    measured.iter().map(fields).collect()
}
