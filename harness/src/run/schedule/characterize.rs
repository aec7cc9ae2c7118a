//! What the devices of a run are like, for its log.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use super::{Lane, Slot};
use crate::characterize::{Characterization, TableAnswer};
use crate::worker::parent::{Worker, WorkerLost};
use crate::worker::protocol::Builds;

/// How long a driver may take to build the kernels of a few lines each. Nobody sees a test run meanwhile.
const BUILDS_LIMIT: Duration = Duration::from_secs(15);

impl Lane<'_> {
    /// What an earlier run has found, if the driver still tells the same, and none of the builds that are
    /// left out now has failed then: it may not fail again.
    fn remembered(&self, known: &Characterization) -> Option<Box<Characterization>> {
        let earlier: Box<Characterization> = self.settings.known.as_ref()?.read()?;
        let is_there = |(name, now): (&String, &TableAnswer)| {
            let then = earlier.table.get(name);
            then.is_some_and(|then| matches!(then, TableAnswer::Known(_)) || then == now)
        };
        let is_it = earlier.facts == known.facts && known.table.iter().all(is_there);
        is_it.then_some(earlier)
    }

    fn lacking(&self) -> MutexGuard<'_, Option<Box<Characterization>>> {
        // Nothing panics while it is changed.
        self.lacking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot<'_> {
    /// The device's first worker is asked what the device is like, for the log; `None` if it is lost
    /// over that.
    ///
    /// Without the answers that take the build of a kernel: that takes 60 ms with PoCL and 400 ms with
    /// Intel's driver, and would be part of the state in which the first test finds its driver; the
    /// queries take 0.1 ms and 7 ms. An earlier run may have made them.
    pub(super) fn characterized(&self, mut worker: Worker) -> Option<Worker> {
        let device = self.lane.device.filter(|_| self.recorder.is_kept());
        let Some(device) = device else { return Some(worker) };
        if self.lane.was_asked.swap(true, Ordering::Relaxed) {
            return Some(worker);
        }
        let limit = self.lane.settings.settings.timeout;
        let (worker, known) = match worker.characterize(Builds::LeftOut, limit, self.stop) {
            Ok(known) => (Some(worker), known),
            Err(lost) => (None, Err(lost.to_string())),
        };
        let known = known.map(|known| {
            let complete = self.lane.remembered(&known);
            complete.unwrap_or_else(|| self.lane.lacking().insert(known).clone())
        });
        self.recorder.characterized(&device.run.id, known);
        worker
    }

    /// After the last test, all is asked, in the worker that is left or in a new one.
    pub(super) fn characterize_with_builds(&mut self) {
        let Some(device) = self.lane.device.filter(|_| !self.stop.is_set()) else { return };
        let Some(mut known) = self.lane.lacking().take() else { return };
        match self.complete() {
            Ok(complete) => {
                if let Some(entry) = &self.lane.settings.known {
                    entry.write(&complete);
                }
                known = complete;
            }
            Err(lost) => {
                let Some(why) = lost.reason() else { return };
                known.say_why_builds_are_missing(&why);
            }
        }
        self.recorder.characterized(&device.run.id, Ok(known));
    }

    fn complete(&mut self) -> Result<Box<Characterization>, WorkerLost> {
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start_worker().map_err(WorkerLost::Failed)?,
        };
        let limit = self.lane.settings.settings.timeout.min(BUILDS_LIMIT);
        worker.characterize(Builds::Made, limit, self.stop)?.map_err(WorkerLost::Failed)
    }
}
