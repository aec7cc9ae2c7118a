//! A worker that runs tests, and their order.

use std::time::{Duration, Instant};

use crate::worker::parent::Worker;

/// A worker that runs tests.
pub(super) struct TestWorker {
    pub worker: Worker,
    /// Its number, unique in the run.
    pub number: u32,
    /// The tests that it has run, in their order.
    pub history: Vec<Ran>,
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
