//! The result of a test in the form in which two runs are compared.

use clmatrix_runner::report::outcome_text;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::{ExpectedStatus, Outcome, Verdict};

use crate::report::without_numbers::without_numbers;

/// The result of a test on a device in the runs of one side: the worst of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SideResult {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The outcome of its decisive attempt.
    pub(crate) outcome: SideOutcome,
    /// True if the run may succeed with it.
    pub(crate) is_as_expected: bool,
    /// The reason on one line; none after a pass.
    pub(crate) reason: Option<Box<str>>,
}

/// An outcome for comparison. Two results with the same one do not differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SideOutcome {
    /// It passed, or may pass and went wrong as expected.
    Passed,
    /// It went wrong: the kind, and the message without its numbers, or the signal.
    Wrong(Verdict, Box<str>),
    /// It has no result: it was skipped, ignored, or not run.
    NotRun,
}

impl SideResult {
    /// Returns the result of a single run.
    pub(crate) fn new(result: &TestResult) -> Self {
        let decisive = &result.decisive().attempt.outcome;
        let wrong =
            |kind, text: &str| SideOutcome::Wrong(kind, without_numbers(&first_line(text)).into());
        let expectation = result.expectation.as_ref();
        let may_pass = expectation.is_some_and(|known| known.status.contains(ExpectedStatus::Pass));
        let outcome = match (result.verdict, decisive) {
            (verdict, _) if verdict.is_explained_failure() && may_pass => SideOutcome::Passed,
            (Verdict::Flaky, _) if result.tolerated => SideOutcome::Passed,
            (Verdict::Flaky, _) => wrong(result.verdict, ""),
            (_, Outcome::Passed) => SideOutcome::Passed,
            (_, Outcome::Failed { message, .. }) => wrong(Verdict::Fail, message),
            (_, Outcome::Crashed { cause }) => wrong(Verdict::Crash, &cause.to_string()),
            (_, Outcome::TimedOut { .. }) => wrong(Verdict::Timeout, ""),
            (_, Outcome::Skipped { .. } | Outcome::Ignored { .. } | Outcome::NotRun { .. }) => {
                SideOutcome::NotRun
            }
        };
        let reason = (outcome != SideOutcome::Passed).then(|| outcome_text(decisive).into());
        Self { verdict: result.verdict, outcome, is_as_expected: result.is_as_expected(), reason }
    }

    /// Returns the result of a device that was lost.
    pub(crate) fn lost(reason: &str) -> Self {
        let outcome = SideOutcome::Wrong(Verdict::Crash, "lost".into());
        let reason = Some(format!("device lost: {reason}").into());
        Self { verdict: Verdict::Crash, outcome, is_as_expected: false, reason }
    }

    /// Returns the verdict and the reason on one line.
    pub(crate) fn text(&self) -> String {
        let (verdict, reason) = (self.verdict.name(), self.reason.as_ref());
        reason.map_or_else(|| verdict.to_owned(), |reason| format!("{verdict}: {reason}"))
    }
}
