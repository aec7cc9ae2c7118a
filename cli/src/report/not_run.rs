//! The tests that were not run.

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::Verdict;
use indexmap::IndexMap;
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
        let mut groups: IndexMap<(&str, String), usize> = IndexMap::new();
        let not_run = log.results.iter().filter(|result| result.verdict == Verdict::NotRun);
        for result in not_run.filter(|result| !log.is_not_run_by_loss(result)) {
            let reason = first_line(&result.attempt.outcome.to_string());
            *groups.entry((result.test.device(), reason)).or_default() += 1;
        }
        let group = |((device, reason), tests)| Self { device, reason, tests };
        groups.into_iter().map(group).collect()
    }
}

/// Returns the number of tests that were not run since this device was lost.
pub(super) fn count_by_loss(log: &RunLog, device: &str) -> usize {
    let is_of =
        |result: &&TestResult| result.test.device() == device && log.is_not_run_by_loss(result);
    log.results.iter().filter(is_of).count()
}
