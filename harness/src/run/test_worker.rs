//! A worker that runs tests, and their order.

use std::time::{Duration, Instant};

use crate::worker::parent::Worker;

/// A worker that runs tests.
pub(super) struct TestWorker {
    pub worker: Worker,
    /// Its number, unique in the run.
    pub number: u32,
    /// The number of tests that it has run.
    pub tests: usize,
    /// The last tests that it has run, in their order.
    pub history: Vec<Ran>,
    /// True if it goes on after a test that failed.
    pub has_survived_failure: bool,
}

/// The fewest tests that a worker remembers, and half of the most: the cause of a crash is near.
const REMEMBERED: usize = 1000;

impl TestWorker {
    pub fn new(mut worker: Worker, number: u32) -> Self {
        worker.takes_stacks = true;
        Self { worker, number, tests: 0, history: Vec::new(), has_survived_failure: false }
    }

    /// Adds a test that has run.
    pub fn has_run(&mut self, ran: Ran) {
        self.tests += 1;
        if self.history.len() == 2 * REMEMBERED {
            self.history.drain(..REMEMBERED);
        }
        self.history.push(ran);
    }
}

/// A test that a worker has run.
#[derive(Clone, Copy)]
pub(super) struct Ran {
    /// The position of the entry in the plan.
    pub position: usize,
    /// The round of the device.
    pub round: u32,
    /// The number of the attempt.
    pub attempt: u32,
    /// The time of the start.
    pub started: Instant,
    /// The duration of the test.
    pub duration: Duration,
}
