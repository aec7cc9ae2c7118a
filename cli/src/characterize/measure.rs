//! Measures the devices of a run before its first test, one after the other, while nothing else runs.

use clmatrix_characterize::measure::{Measured, Shares, Topic};
use clmatrix_runner::devices::TestDevice;
use clmatrix_runner::log::events::{DeviceMeasurements, Event};
use clmatrix_runner::log::recorder::Recorder;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::run::state::{Run, WorkerConfig};
use clmatrix_runner::terminal::status_line;

use super::device_session::{DeviceSession, usual_settings};
use super::to_log;

/// Measures each device that has tests, until the run is stopped.
pub(crate) fn measure(run: &Run<'_>, recorder: &Recorder<'_>, stop: &StopSignal) {
    for (position, (device, config)) in run.plan.devices.iter().zip(&run.devices).enumerate() {
        let has_tests = run.plan.entries.iter().any(|entry| entry.device == Some(position as u32));
        if has_tests && !stop.is_set() {
            status_line(&format!("{}: measuring", device.run.id));
            let measured = measured(device, config, stop);
            let device = device.run.id.clone();
            let measured = to_log(&measured);
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
    let mut all = Vec::new();
    for topic in Topic::ALL {
        let Some(measured) = session.measured(topic, &shares.of(topic)) else { break };
        all.extend(
            measured.into_iter().map(|measured| Measured { series: Vec::new(), ..measured }),
        );
    }
    all
}
