//! The properties of the devices of a run, for its log.

use std::sync::PoisonError;

use super::Slot;
use crate::worker::parent::Worker;

impl Slot<'_> {
    /// Queries the properties of the device in its first worker, before its first test, and records
    /// them. Returns the worker if the next test can run in it.
    ///
    /// Only with `--characterize` are kernels built: that takes 60 ms with PoCL and 400 ms with Intel's
    /// driver. The worker is not used afterwards, so that the first test finds its driver as ever.
    pub(super) fn characterized(&self, mut worker: Worker) -> Option<Worker> {
        let device = self.device_run.device.filter(|_| self.recorder.is_kept());
        let Some(device) = device else { return Some(worker) };
        // The other slots wait until the answer is recorded.
        let mut is_characterized =
            self.device_run.is_characterized.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_characterized {
            return Some(worker);
        }
        *is_characterized = true;
        let limit = self.device_run.config.settings.limit(None);
        let with_builds = self.run.characterize;
        let (worker, known) = match worker.characterize(with_builds, limit, self.stop.signal()) {
            Ok(known) => (Some(worker).filter(|_| !with_builds), known),
            Err(lost) => (None, Err(lost.to_string())),
        };
        self.recorder.characterized(&device.run.id, known.map(|known| known.properties()));
        worker
    }
}
