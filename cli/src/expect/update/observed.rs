//! The results of stored runs on which expectations are based.

use std::collections::BTreeSet;

use clmatrix_runner::config::{Expectation, VersionNumbers, judge};
use clmatrix_runner::devices::run_device::{HOST, RunDevice, without_host};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::outcome_text;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::one_line;
use clmatrix_runner::verdict::{ExpectedStatus, Location, Outcome, Verdict};

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
    /// The attempts that ran and whose outcome is the test's own. Empty if the result is unknown.
    attempts: Vec<&'a TestResult>,
}

impl<'a> Observed<'a> {
    /// Returns the results of a run. A result that a lost device may have caused, or of a test that was not run, is
    /// unknown. A test that was skipped has no result.
    pub(super) fn all(run: usize, log: &'a RunLog) -> Vec<Self> {
        let is_result = |result: &&TestResult| {
            result.test.of_worker().is_none()
                && !matches!(result.verdict, Verdict::Skip | Verdict::Ignored)
        };
        let observed = |result: &'a TestResult| {
            let (test, device_id) = (result.test.path(), result.test.device());
            let device = log.header.devices.iter().find(|device| device.id == device_id);
            let is_known =
                !log.is_suspect(result) && (device.is_some() || without_host(device_id) == HOST);
            // A test does not kill itself from outside.
            let has_end = |attempt: &&TestResult| {
                let outcome = &attempt.attempt.outcome;
                let is_crash = outcome.status() == Some(ExpectedStatus::Crash);
                outcome.status().is_some() && (!is_crash || outcome.is_own_crash())
            };
            let is_known = is_known && has_end(&result);
            let attempts = result.all_attempts().filter(has_end);
            let attempts = attempts.filter(|attempt| is_known && !attempt.blame.is_doubtful());
            Self { run, log, test, device_id, result, device, attempts: attempts.collect() }
        };
        log.results.iter().filter(is_result).map(observed).collect()
    }

    /// Returns the statuses with which the attempts have ended.
    pub(super) fn statuses(&self) -> BTreeSet<ExpectedStatus> {
        let attempts = self.attempts.iter().filter_map(|attempt| attempt.attempt.outcome.status());
        let has_passed = self.result.counts.as_ref().is_some_and(|counts| counts.passed > 0);
        attempts.chain(has_passed.then_some(ExpectedStatus::Pass)).collect()
    }

    /// Returns whether the result is not as currently expected.
    pub(super) fn is_unexpected(&self, expectation: Option<&Expectation>) -> bool {
        let is_skip = expectation.is_some_and(|expectation| expectation.written.status.is_skip());
        let is_wrong =
            |attempt: &&&TestResult| !judge(&attempt.attempt.outcome, expectation).is_as_expected();
        // Earlier attempts count if the result depended on them.
        let counting = if self.result.is_as_expected() { 1 } else { self.attempts.len() };
        !is_skip && self.attempts.iter().rev().take(counting).any(|attempt| is_wrong(&attempt))
    }

    /// Returns the platform and the version of the driver; `None` for tests that need none.
    pub(super) fn driver(&self) -> Option<(&'a str, &'a str)> {
        self.device.map(|device| (&*device.platform.name, &*device.info.driver_version))
    }

    /// Returns the name of the device, if no other of the run has it.
    pub(super) fn own_name(&self) -> Option<&'a str> {
        let name = &*self.device?.info.name;
        let named = self.log.header.devices.iter().filter(|device| device.info.name == name);
        (named.count() == 1).then_some(name)
    }

    /// Returns the numbers of the driver's version.
    pub(super) fn version(&self) -> Option<VersionNumbers> {
        VersionNumbers::find(&self.device?.info.driver_version)
    }

    /// Returns the place of the test in the source.
    pub(super) fn source(&self) -> Option<Location> {
        self.log.source(self.result)
    }

    /// Returns the facts of the last attempt that went wrong in another way than currently expected: the whole message
    /// or the signal, the driver's last line, and the place in the source.
    pub(super) fn reason(&self, expectation: Option<&Expectation>) -> Option<String> {
        let went_wrong =
            |attempt: &&&TestResult| judge(&attempt.attempt.outcome, expectation).is_failure();
        let wrong = *self.attempts.iter().rfind(went_wrong)?;
        let outcome = &wrong.attempt.outcome;
        let (message, place) = (outcome_text(outcome), outcome.location().cloned());
        let mut text = if message.is_empty() { "It fails".to_owned() } else { message };
        if let Outcome::Crashed { .. } | Outcome::TimedOut { .. } = wrong.attempt.outcome
            && let whole = self.log.with_output(wrong)
            && let Some(line) = said(&whole.attempt.stderr).last()
        {
            text += &format!(": {line}");
        }
        let place = place.or_else(|| self.log.source(wrong));
        let at = place.map(|Location { file, line }| format!(", at {file}:{line}"));
        Some(text + &at.unwrap_or_default())
    }
}

/// Returns the lines of an output that are neither blank nor of the backtrace of a panic.
fn said(output: &str) -> impl Iterator<Item = String> {
    let mut is_backtrace = false;
    let mut of_panic = move |line: &str| {
        let is_hint = line.starts_with("note: ") && line.contains("RUST_BACKTRACE");
        is_backtrace = !is_hint && (is_backtrace || line == "stack backtrace:");
        is_hint || is_backtrace
    };
    output.lines().filter(move |line| !of_panic(line)).map(one_line).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backtrace_is_not_what_a_driver_said() {
        let panic = "thread 'main' panicked at s.rs:1:1:\nno\n";
        let hint = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let omitted = "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.";
        for (rest, last) in [
            (format!("stack backtrace:\n   0: f\n{omitted}\n"), "no"),
            (format!("stack backtrace:\n   0: f\n{omitted}\nPoCL: stopped\n\n"), "PoCL: stopped"),
            (format!("{hint}\n"), "no"),
            ("note: PoCL\n".to_owned(), "note: PoCL"),
            ("stack backtrace:\n   0: f\n".to_owned(), "no"),
        ] {
            assert_eq!(said(&(panic.to_owned() + &rest)).last().as_deref(), Some(last), "{rest}");
        }
    }
}
