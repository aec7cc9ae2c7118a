//! The expectation for a test on a device, and the verdict that follows from it and the outcome.

use std::sync::Arc;
use std::time::Duration;

use super::expectations::WrittenExpectation;
use super::expected_statuses::ExpectedStatuses;
use super::value::MessagePattern;
use crate::verdict::{Outcome, Verdict};

/// The expectation of the configuration for a test on a device, with its reason.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The expectation as it is written, with the ways in which the test may end there and the reason.
    pub written: Arc<WrittenExpectation>,
    /// True if it was seen at other versions of the driver alone.
    pub is_assumed: bool,
    /// Matches the first line of the message of an expected failure, or the signal of an expected crash.
    pub message: Option<MessagePattern>,
    /// The time limit of the test there.
    pub timeout: Option<Duration>,
}

impl Expectation {
    /// Returns whether this outcome of a test that ran is expected.
    pub fn allows(&self, outcome: &Outcome) -> bool {
        let Some(status) = outcome.status() else { return false };
        let has_message = ExpectedStatuses::from(status).may_have_message();
        let is_known = |glob: &MessagePattern| !has_message || glob.matches(&outcome.first_line());
        self.written.status.contains(status) && self.message.as_ref().is_none_or(is_known)
    }
}

/// Returns a time limit for a test that hangs, by the longest time that another case of its function takes.
pub fn short_limit(longest_pass: Duration) -> Duration {
    (longest_pass * 3).max(Duration::from_secs(2))
}

/// Judges an outcome by the expectation.
///
/// A failure of another kind than the expected one is unexpected: a crash in place of a failed assertion stays a
/// crash. A pass where a failure was only seen at another version of the driver is a pass: the driver was fixed.
pub fn judge(outcome: &Outcome, expectation: Option<&Expectation>) -> Verdict {
    let is_allowed = expectation.is_some_and(|expectation| expectation.allows(outcome));
    let is_assumed = expectation.is_some_and(|expectation| expectation.is_assumed);
    let failure = match outcome {
        Outcome::Skipped { .. } => return Verdict::Skip,
        Outcome::Ignored { .. } => return Verdict::Ignored,
        Outcome::NotRun { .. } => return Verdict::NotRun,
        Outcome::Passed => {
            let is_expected = is_allowed || is_assumed || expectation.is_none();
            return if is_expected { Verdict::Pass } else { Verdict::UnexpectedPass };
        }
        Outcome::Failed { .. } => Verdict::Fail,
        Outcome::Crashed { .. } => Verdict::Crash,
        Outcome::TimedOut { .. } => Verdict::Timeout,
    };
    match (is_allowed, is_assumed) {
        (true, true) => Verdict::AssumedFail,
        (true, false) => Verdict::ExpectedFail,
        (false, _) => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::expectation;
    use crate::verdict::ExpectedStatus;

    #[test]
    fn only_the_expected_way_of_going_wrong_is_expected() {
        use ExpectedStatus as Expected;
        let failed = Outcome::Failed { message: String::new(), location: None };
        let crashed = Outcome::signal("SIGSEGV");
        let timed_out = Outcome::TimedOut { limit: Duration::from_secs(1) };
        let skipped = Outcome::Skipped { reason: String::new() };
        let ignored = Outcome::Ignored { reason: None };
        let not_run = Outcome::not_run("");
        let all = [None, Some(Expected::Fail), Some(Expected::Crash), Some(Expected::Timeout)];
        for (outcome, verdicts) in [
            (
                Outcome::Passed,
                [
                    Verdict::Pass,
                    Verdict::UnexpectedPass,
                    Verdict::UnexpectedPass,
                    Verdict::UnexpectedPass,
                ],
            ),
            (failed, [Verdict::Fail, Verdict::ExpectedFail, Verdict::Fail, Verdict::Fail]),
            (crashed, [Verdict::Crash, Verdict::Crash, Verdict::ExpectedFail, Verdict::Crash]),
            (
                timed_out,
                [Verdict::Timeout, Verdict::Timeout, Verdict::Timeout, Verdict::ExpectedFail],
            ),
            (skipped, [Verdict::Skip; 4]),
            (ignored, [Verdict::Ignored; 4]),
            (not_run, [Verdict::NotRun; 4]),
        ] {
            for (status, verdict) in all.into_iter().zip(verdicts) {
                let expectation = status.map(|status| expectation(status, "known"));
                let found = judge(&outcome, expectation.as_ref());
                assert_eq!(found, verdict, "{outcome:?}, expected {status:?}");
                // As seen at another version.
                let assumed = match verdict {
                    Verdict::ExpectedFail => Verdict::AssumedFail,
                    Verdict::UnexpectedPass => Verdict::Pass,
                    other => other,
                };
                let expectation =
                    expectation.map(|known| Expectation { is_assumed: true, ..known });
                assert_eq!(judge(&outcome, expectation.as_ref()), assumed, "{outcome:?}");
            }
        }
    }
}
