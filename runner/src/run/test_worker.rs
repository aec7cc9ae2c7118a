//! A worker that runs tests, and its last tests.

use std::collections::VecDeque;

use crate::run::entry::Entry;
use crate::worker::parent::Worker;

/// The most tests that a worker remembers.
const REMEMBERED: usize = 30;

/// A worker that runs tests.
pub(super) struct TestWorker<'a> {
    pub worker: Worker<'a>,
    /// Its number, unique in the run.
    pub number: u32,
    /// The number of tests that it has run.
    pub tests: usize,
    /// The positions of the last tests that it has run, in their order.
    pub last: VecDeque<Entry>,
}

impl<'a> TestWorker<'a> {
    pub fn new(mut worker: Worker<'a>, number: u32) -> Self {
        worker.takes_stacks = true;
        Self { worker, number, tests: 0, last: VecDeque::new() }
    }

    /// Adds a test that has run.
    pub fn has_run(&mut self, position: Entry) {
        self.tests += 1;
        remember(&mut self.last, position);
    }
}

fn remember(last: &mut VecDeque<Entry>, position: Entry) {
    if last.len() == REMEMBERED {
        last.pop_front();
    }
    last.push_back(position);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thirty_tests_are_remembered() {
        let mut last = VecDeque::new();
        (0..31).for_each(|position| remember(&mut last, Entry(position)));
        assert!(last.into_iter().eq((1..31).map(Entry)));
    }
}
