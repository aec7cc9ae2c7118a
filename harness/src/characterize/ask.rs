//! Asks a device in a process that sees only its driver; what goes wrong there costs one answer.

use std::time::{Duration, Instant};

use clmatrix::characterize::measure::{Measured, NotMeasurable, Settings, Topic};

use super::Characterization;
use crate::os::StopSignal;
use crate::schedule::LaneSettings;
use crate::worker::parent::{Worker, WorkerLost};
use crate::worker::protocol::Builds;

/// A device, and the worker that is asked, if there is one.
pub struct Asked<'a> {
    lane: &'a LaneSettings,
    stop: &'a StopSignal,
    worker: Option<Worker>,
    /// Why no worker starts; another try would take as long.
    given_up: Option<String>,
}

impl<'a> Asked<'a> {
    /// Nothing is started before the first question.
    pub fn new(lane: &'a LaneSettings, stop: &'a StopSignal) -> Self {
        Self { lane, stop, worker: None, given_up: None }
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
        let answer = self.ask(|worker, stop| worker.measure(topic, settings, grace, stop));
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
