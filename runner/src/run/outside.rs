//! A test of another program, in a process of its own.

use crate::log::events::{Event, Started};
use crate::os::Source;
use crate::outside::{OutsideTest, Watch};
use crate::result::{NotRunReason, WorkerEnd};
use crate::run::{DeviceRun, Entry};
use crate::verdict::Outcome;
use crate::worker::process_attempt::ProcessAttempt;

impl DeviceRun<'_> {
    /// Runs a test of another program, unless the device must no longer be used.
    ///
    /// # Errors
    ///
    /// The reason why no worker finds the device.
    pub fn attempt_outside(
        &self,
        test: &dyn OutsideTest,
        slot: u32,
        position: Entry,
    ) -> Result<ProcessAttempt, NotRunReason> {
        self.find_device()?;
        // A worker holds memory of the device.
        drop(self.take_probed());
        if let Some(reason) = self.end_reason() {
            return Ok(self.without_process(position, Outcome::NotRun { reason }));
        }
        let worker = self.state.recorder.number_worker();
        let started = self.begin_attempt(position, worker, slot);
        let mut process = Following { device_run: self, position, started };
        let (limit, command) = (self.limit(position), self.config.commands.current());
        let (memory, stop) = (self.settings(position).memory, self.state.stop);
        let mut ran = test.run(limit, memory, command, stop, &mut process);
        ran.is_on_thread = true;
        self.complete(position, &mut ran, &process.started);
        if let Some(outcome) = ran.exit.take() {
            if let Outcome::TimedOut { limit } = outcome {
                self.hang_budget.add(limit);
            }
            if self.config.settings.exit_check {
                self.record_end(WorkerEnd::Exit, outcome, position);
            }
        }
        Ok(ran)
    }
}

/// A process while it runs.
struct Following<'r, 'a> {
    device_run: &'r DeviceRun<'a>,
    position: Entry,
    started: Started,
}

impl Watch for Following<'_, '_> {
    fn begins(&mut self, process: u32) {
        self.started.pid = Some(process);
        self.device_run.state.recorder.record(Event::Started(self.started.clone()));
    }

    fn wrote(&mut self, from: Source, bytes: &[u8]) {
        self.device_run.wrote(self.position, from, bytes);
    }
}
