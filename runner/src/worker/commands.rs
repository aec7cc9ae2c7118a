//! The commands that start the workers of a device: with its GPU alone, or with all GPUs of its driver.

use std::sync::OnceLock;
use std::time::Duration;

use super::parent::{Worker, WorkerCommand, WorkerLost};
use crate::os::StopSignal;

/// The commands that start the workers of a device.
#[derive(Debug)]
pub struct WorkerCommands {
    /// The command for a worker that sees only its device, where the driver has several.
    alone: Option<WorkerCommand>,
    /// The command for a worker that sees all devices of its driver.
    among_others: WorkerCommand,
    /// The reason why a worker did not find its device alone.
    not_found_alone: OnceLock<String>,
}

impl WorkerCommands {
    /// Creates commands that start workers by `alone` if there is one, and else, or if a worker does not find its
    /// device, by `among_others`.
    pub fn new(among_others: WorkerCommand, alone: Option<WorkerCommand>) -> Self {
        Self { alone, among_others, not_found_alone: OnceLock::new() }
    }

    /// Returns the command that starts the next worker.
    pub fn current(&self) -> &WorkerCommand {
        let alone = self.alone.as_ref().filter(|_| self.not_found_alone().is_none());
        alone.unwrap_or(&self.among_others)
    }

    /// Starts a worker and waits until it is bound to its device.
    pub fn start<'s>(
        &self,
        limit: Duration,
        stop: &'s StopSignal,
    ) -> Result<Worker<'s>, WorkerLost> {
        if let Some(alone) = self.alone.as_ref().filter(|_| self.not_found_alone().is_none()) {
            match Worker::start(alone, limit, stop) {
                Err(WorkerLost::NotFound(reason)) => drop(self.not_found_alone.set(reason)),
                started => return started,
            }
        }
        Worker::start(&self.among_others, limit, stop)
    }

    /// Returns the reason why workers see the other devices of their driver, if one did not find its device
    /// alone.
    pub fn not_found_alone(&self) -> Option<&str> {
        self.not_found_alone.get().map(String::as_str)
    }
}
