//! The results of stored runs from which expectations are made.

use std::collections::BTreeSet;

use clmatrix_harness::private::config::{Expectation, VersionNumbers, judge};
use clmatrix_harness::private::devices::run_device::{HOST, RunDevice, without_host};
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::text::{first_line, one_line};
use clmatrix_harness::private::verdict::{ExpectedStatus, Location, Outcome, Verdict};

/// A result of a test.
pub(super) struct Observed<'a> {
    /// The position of its run.
    pub(super) run: usize,
    pub(super) log: &'a RunLog,
    pub(super) test: &'a str,
    pub(super) device_id: &'a str,
    pub(super) result: &'a TestResult,
    /// `None` for tests that need none.
    device: Option<&'a RunDevice>,
    /// The attempts that ran and whose outcome is the test's own. Empty if nothing is known.
    attempts: Vec<&'a TestResult>,
}

impl<'a> Observed<'a> {
    /// The results of a run. Nothing is known from a result that a lost device
    /// may have caused, and from a test that was not run. A test that was skipped has no result.
    pub(super) fn all(run: usize, log: &'a RunLog) -> Vec<Self> {
        let is_result = |result: &&TestResult| {
            !result.is_of_worker() && !matches!(result.verdict, Verdict::Skip | Verdict::Ignored)
        };
        let observed = |result: &'a TestResult| {
            let (test, device_id) = result.test_and_device();
            let device = log.header.devices.iter().find(|device| device.id == device_id);
            let is_known =
                !log.is_suspect(result) && (device.is_some() || without_host(device_id) == HOST);
            let attempts = || result.earlier.iter().chain([result]);
            // A test does not kill itself from outside.
            let has_end = |attempt: &&TestResult| match &attempt.outcome {
                crash @ Outcome::Crashed { .. } => crash.is_own_crash(),
                outcome => outcome.status().is_some(),
            };
            let is_crash = |attempt: &TestResult| attempt.verdict == Verdict::Crash;
            let crashes_alone = attempts().filter(has_end).all(is_crash)
                && attempts().filter(has_end).any(|attempt| !attempt.doubtful);
            let is_known = is_known && has_end(&result);
            let attempts = attempts()
                .filter(has_end)
                .filter(|attempt| is_known && (crashes_alone || !attempt.doubtful));
            Self { run, log, test, device_id, result, device, attempts: attempts.collect() }
        };
        log.results.iter().filter(is_result).map(observed).collect()
    }

    /// The ways in which the attempts, or the rounds, have ended.
    pub(super) fn statuses(&self) -> BTreeSet<ExpectedStatus> {
        let attempts = self.attempts.iter().filter_map(|attempt| attempt.outcome.status());
        let rounds = self.log.rounds.get(&self.result.test).filter(|rounds| rounds.passed > 0);
        attempts.chain(rounds.map(|_| ExpectedStatus::Pass)).collect()
    }

    /// Returns whether the result is not as expected now.
    pub(super) fn is_unexpected(&self, expectation: Option<&Expectation>) -> bool {
        let is_skip = expectation.is_some_and(|expectation| expectation.written.status.is_skip());
        let is_wrong =
            |attempt: &&&TestResult| !judge(&attempt.outcome, expectation).is_as_expected();
        // Earlier attempts count if the result depended on them.
        let counting = if self.result.is_as_expected() { 1 } else { self.attempts.len() };
        !is_skip && self.attempts.iter().rev().take(counting).any(|attempt| is_wrong(&attempt))
    }

    /// Returns whether the test passes on a newer driver than those where a failure was seen.
    pub(super) fn is_mended(&self, expectation: Option<&Expectation>) -> bool {
        let Some(Expectation { written, is_assumed: true, .. }) = expectation else { return false };
        let is_pass = self.statuses() == BTreeSet::from([ExpectedStatus::Pass]);
        is_pass
            && !written.status.contains(ExpectedStatus::Pass)
            && self.version() > written.last_seen()
    }

    /// Returns the last attempt that went wrong otherwise than expected now.
    fn wrong(&self, expectation: Option<&Expectation>) -> Option<&'a TestResult> {
        let went_wrong = |attempt: &&&TestResult| judge(&attempt.outcome, expectation).is_failure();
        self.attempts.iter().rev().find(|attempt| went_wrong(attempt)).copied()
    }

    /// The platform and the version of the driver; `None` for tests that need none.
    pub(super) fn driver(&self) -> Option<(&'a str, &'a str)> {
        self.device.map(|device| (&*device.platform.name, &*device.info.driver_version))
    }

    /// The numbers of the driver's version.
    pub(super) fn version(&self) -> Option<VersionNumbers> {
        VersionNumbers::find(&self.device?.info.driver_version)
    }

    /// The place of the test in the source.
    pub(super) fn source(&self) -> Option<Location> {
        self.log.source(self.result)
    }

    /// The facts of the attempt that went wrong otherwise than expected now: the whole message or the signal, the
    /// driver's last line, and the place in the source.
    pub(super) fn reason(&self, expectation: Option<&Expectation>) -> Option<String> {
        let wrong = self.wrong(expectation)?;
        let (message, place) = match &wrong.outcome {
            Outcome::Failed { message, location } => (one_line(message), location.clone()),
            outcome => (first_line(&outcome.to_string()), None),
        };
        let mut text = if message.is_empty() { "It fails".to_owned() } else { message };
        if let Outcome::Crashed { .. } | Outcome::TimedOut { .. } = wrong.outcome
            && let whole = self.log.with_output(wrong)
            && let Some(line) =
                whole.stderr.lines().rev().map(one_line).find(|line| !line.is_empty())
        {
            text += &format!(": {line}");
        }
        let place = place.or_else(|| self.log.source(wrong));
        let at = place.map(|Location { file, line }| format!(", at {file}:{line}"));
        Some(text + &at.unwrap_or_default())
    }
}
