//! The tests that were not run.

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::Verdict;
use serde::Serialize;

/// The tests of a device that were not run for the same reason.
#[derive(Serialize)]
pub(super) struct NotRun<'a> {
    pub(super) device: &'a str,
    pub(super) reason: String,
    /// The number of tests.
    pub(super) tests: usize,
}

impl<'a> NotRun<'a> {
    /// Groups the tests of a run that were not run. The tests of lost devices are counted there.
    pub(super) fn of_run(log: &'a RunLog) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let is_counted_here = |result: &&_| !log.is_not_run_by_loss(result);
        let not_run = log.results.iter().filter(|result| result.verdict == Verdict::NotRun);
        for result in not_run.filter(is_counted_here) {
            let device = result.test.device();
            let reason = first_line(&result.attempt.outcome.to_string());
            let known = |group: &&mut Self| group.device == device && group.reason == reason;
            match groups.iter_mut().find(known) {
                Some(group) => group.tests += 1,
                None => groups.push(Self { device, reason, tests: 1 }),
            }
        }
        groups
    }
}

/// Returns the number of tests that were not run since this device was lost.
pub(super) fn count_by_loss(log: &RunLog, device: &str) -> usize {
    let is_of =
        |result: &&TestResult| result.test.device() == device && log.is_not_run_by_loss(result);
    log.results.iter().filter(is_of).count()
}
