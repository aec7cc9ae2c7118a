//! What the devices of a run are like, for its log.

use std::sync::atomic::Ordering;

use super::{Lane, Slot};
use crate::characterize::{Characterization, TableAnswer};
use crate::worker::parent::{Worker, WorkerLost};
use crate::worker::protocol::Builds;

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
        let why = "it takes the build of a kernel, which comes after the last test".to_owned();
        let limit = self.lane.settings.settings.timeout;
        let builds = Builds::LeftOut { why };
        let (worker, known) = match worker.characterize(builds, limit, self.stop) {
            Ok(known) => (Some(worker), known),
            Err(lost) => (None, Err(lost.to_string())),
        };
        let known = known.map(|known| match self.lane.remembered(&known) {
            Some(complete) => complete,
            None => {
                self.lane.lacks_builds.store(true, Ordering::Relaxed);
                known
            }
        });
        self.recorder.characterized(&device.run.id, known);
        worker
    }

    /// After the last test, all is asked, in the worker that is left or in a new one.
    pub(super) fn characterize_with_builds(&mut self) {
        if self.stop.is_set() || !self.lane.lacks_builds.load(Ordering::Relaxed) {
            return;
        }
        let lost = self.characterize_again(Builds::Made).err();
        if let Some(why) = lost.and_then(WorkerLost::reason) {
            let why = format!("it takes the build of a kernel: {why}");
            // Who is lost over that, too, leaves what is known already.
            let _ = self.characterize_again(Builds::LeftOut { why });
        }
    }

    fn characterize_again(&mut self, builds: Builds) -> Result<(), WorkerLost> {
        let Some(device) = self.lane.device else { return Ok(()) };
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start_worker().map_err(WorkerLost::Failed)?,
        };
        let limit = self.lane.settings.settings.timeout;
        let is_complete = builds == Builds::Made;
        // What is known already is better than a driver that does not say any more.
        let known = worker.characterize(builds, limit, self.stop)?.map_err(WorkerLost::Failed)?;
        if let Some(entry) = self.lane.settings.known.as_ref().filter(|_| is_complete) {
            entry.write(&known);
        }
        self.recorder.characterized(&device.run.id, Ok(known));
        self.worker = Some(worker);
        Ok(())
    }
}
