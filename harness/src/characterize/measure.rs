//! Measures the devices of a run before its first test, one after the other: nothing else runs meanwhile.

use clmatrix_characterize::measure::{Measured, Shares, Topic};

use super::device_session::{DeviceSession, usual_settings};
use crate::devices::TestDevice;
use crate::log::events::{DeviceMeasurements, Event};
use crate::log::recorder::Recorder;
use crate::run::interrupt::Stop;
use crate::run::state::{Run, WorkerConfig};
use crate::terminal::status_line;

/// Measures each device that has tests, until the run is stopped.
pub(crate) fn measure(run: &Run<'_>, recorder: &Recorder<'_>, stop: &Stop) {
    for (position, (device, config)) in run.plan.devices.iter().zip(&run.devices).enumerate() {
        let has_tests = run.plan.entries.iter().any(|entry| entry.device == Some(position as u32));
        if has_tests && !stop.is_requested() {
            status_line(&format!("{}: measuring", device.run.id));
            let measured = measured(device, config, stop);
            let device = device.run.id.clone();
            recorder.record(Event::Measured(DeviceMeasurements { device, measured }));
        }
    }
}

/// Returns the measurements of all topics, without their samples; those so far if the run is stopped.
fn measured(device: &TestDevice, config: &WorkerConfig, stop: &Stop) -> Vec<Measured> {
    let mut session = DeviceSession::new(device, config, stop.signal());
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
