//! A worker that runs tests, and the last ones.

use std::collections::VecDeque;

use crate::worker::parent::Worker;

/// The most tests that a worker remembers.
const REMEMBERED: usize = 30;

/// A worker that runs tests.
pub(super) struct TestWorker {
    pub worker: Worker,
    /// Its number, unique in the run.
    pub number: u32,
    /// The number of tests that it has run.
    pub tests: usize,
    /// The positions of the last tests that it has run, in their order.
    pub last: VecDeque<usize>,
    /// True if it goes on after a test that failed.
    pub has_survived_failure: bool,
}

impl TestWorker {
    pub fn new(mut worker: Worker, number: u32) -> Self {
        worker.takes_stacks = true;
        Self { worker, number, tests: 0, last: VecDeque::new(), has_survived_failure: false }
    }

    /// Adds a test that has run.
    pub fn has_run(&mut self, position: usize) {
        self.tests += 1;
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(position);
    }
}
