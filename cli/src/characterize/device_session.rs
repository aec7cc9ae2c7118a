//! Queries and measures a device in a worker; a crash or a hang loses one answer.

use std::time::{Duration, Instant};

use bytesize::ByteSize;
use clmatrix::select::DeviceType;
use clmatrix_characterize::Characterization;
use clmatrix_characterize::measure::{
    Confidence, Finding, Measured, NotMeasurable, Settings, Topic, Unit, Value,
};
use clmatrix_runner::devices::TestDevice;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::run::state::WorkerConfig;
use clmatrix_runner::worker::job::JobCall;
use clmatrix_runner::worker::parent::{START_LIMIT, Worker, WorkerLost};
use clmatrix_runner::worker::protocol::Task;
use serde::de::DeserializeOwned;

use super::jobs::{CHARACTERIZE, MEASURE};

/// A device and its worker.
pub struct DeviceSession<'a> {
    config: &'a WorkerConfig,
    is_cpu: bool,
    stop: &'a StopSignal,
    worker: Option<Worker<'a>>,
    /// The reason why no worker starts. Another attempt would take as long.
    given_up: Option<String>,
}

impl<'a> DeviceSession<'a> {
    /// Creates a session, which starts its worker with the first task.
    pub fn new(device: &TestDevice, config: &'a WorkerConfig, stop: &'a StopSignal) -> Self {
        let is_cpu = device.run.info.device_type.contains(DeviceType::CPU);
        Self { config, is_cpu, stop, worker: None, given_up: None }
    }

    /// Returns the answers about the device.
    pub fn characterization(&mut self) -> Result<Box<Characterization>, WorkerLost> {
        self.run(JobCall::new(CHARACTERIZE, &true), self.limit())
    }

    /// Returns a topic's measurements, or `None` if the command was stopped. If the worker fails, each
    /// measurement has the reason.
    pub fn measured(&mut self, topic: Topic, settings: &Settings) -> Option<Vec<Measured>> {
        let begin = Instant::now();
        let lost = match self.measure(topic, settings) {
            Ok(measured) => return Some(measured),
            Err(WorkerLost::Stopped) => return None,
            Err(lost) => lost,
        };
        let mut measured = topic.unmeasured(&lost.to_string(), begin.elapsed());
        if let WorkerLost::EndedAt { step, .. } = lost
            && let Some(shows) =
                measured.iter_mut().find(|one| one.name == "out_of_memory_shows_at")
        {
            // The driver ended the process at this step, which is how it reports the end of memory. Another fault may
            // have ended it.
            let (unit, confidence) = (Unit::Count, Confidence::Medium);
            let value = Value::Name(format!("{step}, which ends the process"));
            shows.answer = Ok(Finding { value, unit, spread: 0.0, confidence });
        }
        Some(measured)
    }

    /// Returns the time limit of a test on this device.
    fn limit(&self) -> Duration {
        self.config.settings.limit(None)
    }

    /// Measures one topic, in at most the budget and the time of a test. The end of memory on a CPU is measured in a
    /// process with limited memory: the answer is the driver's report of the end; the amount is the limit.
    fn measure(&mut self, topic: Topic, settings: &Settings) -> Result<Vec<Measured>, WorkerLost> {
        /// The measurement may use this many times the memory of the process.
        const BEYOND: u64 = 4;
        let Settings { budget, mut memory, .. } = *settings;
        let room = (topic == Topic::Exhaustion && self.is_cpu).then_some(memory);
        if let Some(room) = room {
            if room < LEAST_ROOM {
                let least = ByteSize(LEAST_ROOM);
                let reason =
                    format!("the driver itself needs memory; allow at least {least} (--memory)");
                return Err(WorkerLost::Failed(reason));
            }
            memory = room.saturating_mul(BEYOND);
        }
        let call = JobCall::new(MEASURE, &(topic.name(), budget, memory));
        let call = JobCall { memory: room, ..call };
        let mut all: Vec<Measured> = self.run(call, budget.saturating_add(self.limit()))?;
        if let Some(room) = room {
            leave_total_out(&mut all, room);
        }
        Ok(all)
    }

    /// Runs a job in the worker. A lost worker is replaced before the next one.
    fn run<T: DeserializeOwned>(&mut self, job: JobCall, limit: Duration) -> Result<T, WorkerLost> {
        let mut worker = self.worker.take().map_or_else(|| self.start(), Ok)?;
        let output = worker.ask(Task::Job(job), limit)?;
        self.worker = Some(worker);
        let value = output.and_then(|json| serde_json::from_str(&json).map_err(|e| e.to_string()));
        value.map_err(WorkerLost::Failed)
    }

    fn start(&mut self) -> Result<Worker<'a>, WorkerLost> {
        if let Some(reason) = &self.given_up {
            return Err(WorkerLost::Failed(reason.clone()));
        }
        let started = self.config.commands.start(START_LIMIT, self.stop);
        if let Err(lost @ (WorkerLost::Failed(_) | WorkerLost::NotFound(_))) = &started {
            self.given_up = Some(lost.to_string());
        }
        started
    }
}

/// Returns the settings for the measurements of a device of its kind, with its answers, if they are known.
pub fn usual_settings(device: &TestDevice, known: Option<&Characterization>) -> Settings<'static> {
    let info = &device.run.info;
    let uses_host_memory = known.is_some_and(|known| known.facts.host_unified_memory);
    Settings::usual(info.device_type, uses_host_memory, info.global_mem_size)
}

/// The least memory for a measurement that ends it, in bytes. With less, drivers run out of memory
/// before the first measurement, and some crash.
// quirk: DRIVER-13
const LEAST_ROOM: u64 = 64 << 20;

/// Removes the total amount of memory, which is the limit of `room` bytes.
fn leave_total_out(all: &mut [Measured], room: u64) {
    for measured in all {
        if measured.name == "total_memory" && measured.answer.is_ok() {
            let reason = format!("the process used all of its memory, {room} bytes");
            measured.answer = Err(NotMeasurable { reason });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(json: &str) -> Vec<Option<String>> {
        let mut all: Vec<Measured> = serde_json::from_str(json).unwrap();
        leave_total_out(&mut all, 4096);
        all.into_iter().map(|measured| Some(measured.answer.err()?.reason)).collect()
    }

    #[test]
    fn only_a_total_that_was_found_is_that_of_the_process() {
        let found = reasons(
            r#"[{"name": "total_memory", "value": 4096.0, "unit": "bytes", "spread": 64.0,
                 "confidence": "high"},
                {"name": "out_of_memory_shows_at", "value": "creation", "unit": "count",
                 "spread": 0.0, "confidence": "high"}]"#,
        );
        let total = "the process used all of its memory, 4096 bytes".to_owned();
        assert_eq!(found, [Some(total), None]);
        let not_found = reasons(
            r#"[{"name": "total_memory", "not_measurable": "its time was spent"},
                {"name": "out_of_memory_shows_at", "not_measurable": "its time was spent"}]"#,
        );
        let reason = Some("its time was spent".to_owned());
        assert_eq!(not_found, [reason.clone(), reason]);
    }
}
