//! Asks a device in a process that sees only its driver; what goes wrong there costs one answer.

use std::time::{Duration, Instant};

use clmatrix::characterize::measure::{Measured, NotMeasurable, Settings, Topic};

use super::Characterization;
use crate::devices::TestDevice;
use crate::os::StopSignal;
use crate::schedule::LaneSettings;
use crate::worker::parent::{Worker, WorkerLost};
use crate::worker::protocol::Builds;

/// A device, and the worker that is asked, if there is one.
pub struct Asked<'a> {
    lane: &'a LaneSettings,
    is_cpu: bool,
    stop: &'a StopSignal,
    worker: Option<Worker>,
    /// Why no worker starts; another try would take as long.
    given_up: Option<String>,
}

impl<'a> Asked<'a> {
    /// Nothing is started before the first question.
    pub fn new(device: &TestDevice, lane: &'a LaneSettings, stop: &'a StopSignal) -> Self {
        let is_cpu = device.run.info.device_type.has_cpu();
        Self { lane, is_cpu, stop, worker: None, given_up: None }
    }

    /// What the driver tells, and what follows from it; or why that is not known.
    pub fn characterization(&mut self) -> Result<Box<Characterization>, String> {
        let limit = self.limit();
        self.ask(|worker, stop| worker.characterize(Builds::Made, limit, stop))?
    }

    /// A topic's measurements. Where there are none, each says why.
    pub fn measured(&mut self, topic: Topic, settings: &Settings) -> Vec<Measured> {
        let begin = Instant::now();
        let grace = self.limit();
        let ends_early = topic == Topic::Exhaustion && self.is_cpu;
        let answer = if ends_early {
            self.with_little_memory(topic, settings, grace)
        } else {
            self.ask(|worker, stop| worker.measure(topic, settings, None, grace, stop))
        };
        answer.unwrap_or_else(|reason| {
            let without = |name: &&str| Measured {
                name: (*name).to_owned(),
                answer: Err(NotMeasurable { reason: reason.clone() }),
                series: Vec::new(),
                took: begin.elapsed(),
            };
            topic.measurements().iter().map(without).collect()
        })
    }

    /// On a CPU it is the process that runs out of memory, when it has used what it may. What its
    /// driver does then is the answer; how much there was is not.
    fn with_little_memory(
        &mut self,
        topic: Topic,
        settings: &Settings,
        grace: Duration,
    ) -> Result<Vec<Measured>, String> {
        /// Of so much memory the process has the first part.
        const BEYOND: u64 = 4;
        let room = settings.memory;
        let settings = Settings { memory: room.saturating_mul(BEYOND), ..*settings };
        let question = |worker: &mut Worker, stop: &StopSignal| {
            worker.measure(topic, &settings, Some(room), grace, stop)
        };
        let mut all = self.ask(question)?;
        for measured in all.iter_mut().filter(|measured| measured.name == "total_memory") {
            let reason = format!("all memory of the process was used up, which had {room} bytes");
            measured.answer = Err(NotMeasurable { reason });
        }
        Ok(all)
    }

    /// As long as a test may take on this device.
    fn limit(&self) -> Duration {
        self.lane.settings.timeout
    }

    /// A worker that is lost is replaced before the next question.
    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut Worker, &StopSignal) -> Result<T, WorkerLost>,
    ) -> Result<T, String> {
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start()?,
        };
        let answer = question(&mut worker, self.stop).map_err(|lost| lost.to_string())?;
        self.worker = Some(worker);
        Ok(answer)
    }

    fn start(&mut self) -> Result<Worker, String> {
        if let Some(reason) = &self.given_up {
            return Err(reason.clone());
        }
        let started = Worker::start(&self.lane.launch, false, self.stop);
        started.map_err(|lost| self.given_up.insert(lost.to_string()).clone())
    }
}
