//! The way in which a test ended, as two runs can be compared by it.

use clmatrix_harness::private::report::outcome_text;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::text::first_line;
use clmatrix_harness::private::verdict::{ExpectedStatus, Outcome, Verdict};

use crate::report::without_numbers::without_numbers;

/// The result of a test on a device in the runs of one side: the worst of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The way in which the test ended.
    pub(crate) way: Way,
    /// True if the run may succeed with it.
    pub(crate) is_as_expected: bool,
    /// The reason on one line; none after a pass.
    pub(crate) reason: Option<Box<str>>,
}

/// A way in which a test ends. Two results of the same way do not differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Way {
    /// It passed, or may pass and went wrong as expected.
    Passed,
    /// It went wrong: the kind, and the message without its numbers, or the signal.
    Wrong(Verdict, Box<str>),
    /// It has no result: it was skipped, ignored, or not run.
    NotRun,
}

impl Standing {
    /// Returns the standing of a single result.
    pub(crate) fn new(result: &TestResult) -> Self {
        let way = way(result);
        let reason = (way != Way::Passed).then(|| outcome_text(&result.decisive().outcome).into());
        Self { verdict: result.verdict, way, is_as_expected: result.is_as_expected(), reason }
    }

    /// Returns the standing of a pass.
    pub(crate) fn passed() -> Self {
        Self { verdict: Verdict::Pass, way: Way::Passed, is_as_expected: true, reason: None }
    }

    /// Returns the standing of a device that was lost.
    pub(crate) fn lost(reason: &str) -> Self {
        Self {
            verdict: Verdict::Crash,
            way: Way::Wrong(Verdict::Crash, "lost".into()),
            is_as_expected: false,
            reason: Some(format!("device lost: {reason}").into()),
        }
    }

    /// Keeps the worse of both results.
    pub(crate) fn merge(&mut self, other: Self) {
        if other.verdict.is_worse_than(self.verdict) {
            *self = other;
        }
    }

    /// Returns the verdict and the reason on one line.
    pub(crate) fn text(&self) -> String {
        let verdict = self.verdict.name();
        self.reason
            .as_ref()
            .map_or_else(|| verdict.to_owned(), |reason| format!("{verdict}: {reason}"))
    }
}

fn way(result: &TestResult) -> Way {
    let decisive = &result.decisive().outcome;
    let wrong = |kind, text: &str| Way::Wrong(kind, without_numbers(&first_line(text)).into());
    let may_pass = result
        .expectation
        .as_ref()
        .is_some_and(|known| known.status.contains(ExpectedStatus::Pass));
    match (result.verdict, decisive) {
        (verdict, _) if verdict.is_explained_failure() && may_pass => Way::Passed,
        (Verdict::Flaky, _) if result.tolerated => Way::Passed,
        (Verdict::Flaky, _) => wrong(result.verdict, ""),
        (_, Outcome::Passed) => Way::Passed,
        (_, Outcome::Failed { message, .. }) => wrong(Verdict::Fail, message),
        (_, Outcome::Crashed { how }) => wrong(Verdict::Crash, how),
        (_, Outcome::TimedOut { .. }) => wrong(Verdict::Timeout, ""),
        (_, Outcome::Skipped { .. } | Outcome::Ignored { .. } | Outcome::NotRun { .. }) => {
            Way::NotRun
        }
    }
}
